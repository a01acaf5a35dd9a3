"""Streams on their way from one process to another: rows in memory and on disk, Flight, readers."""
