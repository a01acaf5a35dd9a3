"""Times of this runtime, in place of the papers' figures for their machines: medians of `understudy bench
plan`, which compares them with real kills (docs/benchmarks.md, *Predictions*). In seconds, on a machine with
one core for each driver."""

from __future__ import annotations

from typing import Final

CLOSED: Final = 0.020
"""From the end of a process to the suspicion: the kernel closes the connection to the standby."""

SILENT: Final = 0.5
"""Keep-alive intervals, beyond the allowed misses, until a silent peer is suspected: a lost node does not
close its connections (`understudy bench silence`)."""

TAKE_OVER: Final = 0.015
"""From the suspicion to the promotion: the Lease is taken and the neighbours have answered (r + d of Table
3)."""

MICRO_BATCH: Final = 0.100
"""A micro-batch of a running primary, however few tuples it has: trigger, planning, the Python worker, the
output queue. The status page has each instance's median, `batches.medianMs`; if that is longer, a recovery
takes longer, too."""

FIRST: Final = 1.9
"""How many times longer the first micro-batch of a warm but idle standby takes."""

COLD_START: Final = 130 * MICRO_BATCH
"""From the end of a process without a standby to its replacement's first micro-batch: it is noticed, and
Python, the JVM and Spark start. Given in micro-batches, because both depend on the machine's speed."""

TUPLE: Final = 1.0e-6
"""To process a tuple in a micro-batch, as a filter does (p of Table 3; `understudy bench throughput`)."""

READ: Final = 1.0e-6
"""To take a tuple from upstream's queue again (c of Table 3). Not measured separately: assumed to equal the
time to process it."""
