"""Virtual time: the protocol core on simulated machines and networks. Same seed, same history.

| module      | holds |
|-------------|-------|
| world       | the clock, the network, machines, the Lease store |
| operators   | what elements compute, and how much of their input they still need |
| process     | the shell: carries out the core's commands on simulated machines |
| cluster     | sources, subjobs and sinks on their machines |
| oracle      | what came out, against what had to |
| validity    | whether a choice is one that there is |
| losses      | whether every loss was reported |
| stillness   | whether queues are short and subjobs protected in the end |
| faults      | random networks and fault schedules, exploration, shrinking |
| experiments | the papers' experiments |
"""
