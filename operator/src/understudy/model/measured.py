"""What this runtime takes, where the papers have their machines' figures: medians of `understudy bench plan`,
which compares them with kills again (docs/benchmarks.md, *Predictions*). Seconds, on a machine with a core
for each driver.
"""

from __future__ import annotations

from typing import Final

CLOSED: Final = 0.020
"""From the end of a process to the suspicion: its kernel closes the connection on which the standby heard
it."""

SILENT: Final = 0.5
"""Keep-alive intervals beyond those that may be missed, until a silent peer is suspected: a lost node closes
nothing (`understudy bench silence`)."""

TAKE_OVER: Final = 0.015
"""From the suspicion to the primary: the Lease is taken and the neighbours have answered (r + d of Table
3)."""

MICRO_BATCH: Final = 0.100
"""A micro-batch of a primary that runs, whatever is in it: trigger, planning, the Python worker, the output
queue. The status page has the median of each instance, `batches.medianMs`; where it is longer, so is a
recovery."""

FIRST: Final = 1.9
"""So many times as long takes the first one of a standby that was warm but idle."""

COLD_START: Final = 130 * MICRO_BATCH
"""From the end of a process without a standby to its replacement's first micro-batch: it is noticed, and
Python, the JVM and Spark start. So many micro-batches, because both take what the machine has to give."""

TUPLE: Final = 1.0e-6
"""To work on a tuple in a micro-batch as a filter does (p of Table 3; `understudy bench throughput`)."""

READ: Final = 1.0e-6
"""To take a tuple from upstream's queue again (c of Table 3). Not measured on its own: as much as to work on
it."""
