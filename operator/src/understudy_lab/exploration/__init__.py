"""Random fault schedules on simulated jobs, the history that each leaves, and the oracle that judges it.

| module      | holds |
|-------------|-------|
| networks    | random jobs |
| fault_schedules | random fault schedules, and the shortest one that still fails |
| weather     | late messages, half-open connections, hung engines and the like |
| explore     | many seeds, on several cores |
| recorder    | writes down what happens: the history |
| history     | what was seen of a run, as plain values |
| lives       | what the history tells about each process |
| oracle      | what came out, against what had to |
| survival    | where more failed than a mode survives |
| validity    | whether a choice is one that there is |
| reported_losses | whether every loss was reported |
| stillness   | whether queues are short and subjobs protected in the end |
"""
