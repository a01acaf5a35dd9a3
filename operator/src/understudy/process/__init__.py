"""What every process of a job has: clocks, logs, a certificate, a status server, its surroundings."""
