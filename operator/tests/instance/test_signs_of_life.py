"""What a standby hears of a primary that is busy. No Spark."""

from __future__ import annotations

import queue
import threading
from pathlib import Path

from understudy.instance.peers import Item
from understudy.protocol.peermessage import KeepAlive, Said

from .in_process import InProcessJob, until


def test_a_primary_whose_books_are_long_in_use_says_that_it_lives(tmp_path: Path) -> None:
    running = InProcessJob("{mode: passiveStandby}", tmp_path)
    try:
        running.begin()
        running.flows()
        primary = running.instances["first-0"]
        outbox: queue.SimpleQueue[Item] = queue.SimpleQueue()
        said: queue.SimpleQueue[Said] = queue.SimpleQueue()

        def listen() -> None:
            for words, _ in primary.shell.peers.next_letters(outbox, timeout=0.01):
                said.put(words)

        with primary.context.lock:
            threading.Thread(target=listen, daemon=True).start()
            assert said.get(timeout=10) == KeepAlive(epoch=primary.context.core.epoch)

        def told() -> bool:
            listen()
            found = said.get(timeout=10)
            return isinstance(found, KeepAlive) and bool(found.positions)

        until(told)
    finally:
        running.close()
