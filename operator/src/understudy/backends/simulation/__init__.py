"""Virtual time: the protocol core on simulated machines and networks. Same seed, same history.

| module      | holds |
|-------------|-------|
| world       | the clock, the network, machines, the Lease store |
| operators   | what elements compute, and how much of their input they still need |
| process     | the shell: carries out the core's commands on simulated machines |
| edges       | sources and sinks |
| oracle      | what came out, against what had to |
| faults      | random networks and fault schedules, exploration, shrinking |
| experiments | the papers' experiments |
"""
