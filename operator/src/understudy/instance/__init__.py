"""The subjob process: a Spark driver, its output queues on Arrow Flight, its input readers, its role.

Everything is decided in `modes`. This package carries out the commands, and reports the results as events.
"""
