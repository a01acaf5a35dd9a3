"""One file per high-availability mode: what an instance does on each event, in its role.

An instance is driven by `handle(event) -> commands`. It holds no clock and does no I/O; the same runs under
the simulator, in a local process and in a pod.
"""
