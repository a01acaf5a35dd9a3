"""The sink process: pulls the last stream of a job and writes each tuple once."""
