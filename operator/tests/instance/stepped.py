"""Instances of the chain in a process of their own, which a test stops or whose wall clock it sets.

usage: python -m tests.instance.stepped FOLDER NUMBER

NUMBER is that of both instances. Prints one line of JSON every 200 ms.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

from tests.instance.in_process import CHAIN, WIDE, InProcessInstance, job_of
from understudy.local.surroundings import LocalSurroundings
from understudy.process.clock import now_ms, steady_ms

HA = "{mode: passiveStandby, heartbeat: {interval: 50ms, misses: 20}}"


def main() -> None:
    folder, number = Path(sys.argv[1]), sys.argv[2]
    surroundings = LocalSurroundings(folder / "surroundings")
    job = job_of(CHAIN, HA)
    instances = [
        InProcessInstance(job, f"{name}-{number}", surroundings, folder, WIDE) for name in ("first", "second")
    ]
    while os.getppid() != 1:  # as long as the test lives
        threading.Event().wait(0.2)
        wall, steady = now_ms(), steady_ms()
        available = instances[0].context.story.available.get("numbers", 0)
        made = instances[1].context.core.ledger.queues["second"].next  # type: ignore[index]
        ready = all(instance.context.core.could_continue() for instance in instances)
        told = {"wall": wall, "steady": steady, "available": available, "made": made, "ready": ready}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
