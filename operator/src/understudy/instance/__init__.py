"""The subjob process: a Spark driver, its output queues on Arrow Flight, its input readers, its role.

Everything is decided in `modes`; here commands are carried out and what happened is reported as events.
"""
