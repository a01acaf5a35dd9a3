"""Virtual time: the protocol core on simulated machines and networks. Same seed, same history.

| module      | holds |
|-------------|-------|
| world       | the clock, the network, machines, the Lease store |
| operators   | what elements compute, and how much of their input they still need |
| process     | the shell: carries out the core's commands on simulated machines |
| cluster     | sources, subjobs and sinks on their machines |
| weather     | late messages, half-open connections, hung engines and the like |
| recorder    | writes down what happens: the history |
| history     | what was seen of a run, as plain values |
| lives       | what the history tells about each process |
| oracle      | what came out, against what had to |
| survival    | where more failed than a mode survives |
| validity    | whether a choice is one that there is |
| losses      | whether every loss was reported |
| stillness   | whether queues are short and subjobs protected in the end |
| faults      | random networks and fault schedules, exploration, shrinking |
| experiments | the papers' experiments |
"""
