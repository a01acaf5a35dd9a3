"""The sink process: reads the last stream of a job and writes each tuple once."""
