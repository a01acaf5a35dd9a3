"""Instances of the chain in a process of their own, which a test stops or whose wall clock it sets.

usage: python -m tests.runtime.stepped FOLDER NUMBER     both instances with this number; one line of JSON every 200 ms
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path

from tests.runtime.troupe import CHAIN, WIDE, Player, job_of
from understudy.backends.local.surroundings import LocalSurroundings
from understudy.runtime.clock import now_ms, steady_ms

HA = "{mode: passiveStandby, heartbeat: {interval: 50ms, misses: 20}}"


def main() -> None:
    folder, number = Path(sys.argv[1]), sys.argv[2]
    surroundings = LocalSurroundings(folder / "surroundings")
    job = job_of(CHAIN, HA)
    players = [Player(job, f"{name}-{number}", surroundings, folder, WIDE) for name in ("first", "second")]
    while os.getppid() != 1:  # as long as the test lives
        threading.Event().wait(0.2)
        wall, steady = now_ms(), steady_ms()
        available = players[0].scene.story.available.get("numbers", 0)
        made = players[1].scene.core.ledger.queues["second"].next  # type: ignore[index]
        ready = all(player.scene.core.could_continue() for player in players)
        told = {"wall": wall, "steady": steady, "available": available, "made": made, "ready": ready}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
