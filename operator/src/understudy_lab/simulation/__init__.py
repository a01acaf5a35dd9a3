"""Virtual time: the protocol core on simulated machines and networks. Same seed, same history.

| module      | holds |
|-------------|-------|
| world       | the clock, the network, machines, the Lease store |
| made_up_operators | what elements compute, and how much of their input they still need |
| process     | the shell: carries out the core's commands on simulated machines |
| cluster     | sources, subjobs and sinks on their machines |
"""
