"""One file per high-availability mode: what an instance does on each event, in its role.

An instance is driven by `handle(event) -> commands`. It holds no clock and does no I/O; the same runs under
the simulator, in a local process and in a pod.

| module | what it holds |
|---|---|
| `transitions` | tables that the core looks up; a pair of state and event without an entry raises |
| `instance` | the table of every mode, the order in which a mode's hooks are called, and the hooks |
| `leadership`, `suspicion` | who holds the Lease; what a standby does when the holder is silent |
| `books`, `renumbering` | positions, output queues, and seqs that an earlier life may have used |
| `neighbours`, `roll`, `resuming` | what producers and consumers report to a new life |
| `moving`, `change` | a planned move; a live change of mode |
| `confirming` | output that waits until the secondary has confirmed what it was made from |
| `build` | from the manifest to the instance of the subjob's mode |

`Leadership`, `Books`, `RollCall` and `Move` are frozen: a decision returns the next value and the commands.
"""
