"""The protocols as values and pure functions: no I/O, no clock, no threads.

Ranges of sequence numbers are half-open, `[start, stop)`. A *position* is the seq of the next tuple to take.
"""
