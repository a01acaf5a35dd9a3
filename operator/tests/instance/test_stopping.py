"""An instance that stops: real shells and streams, without Spark."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from .in_process import InProcessJob

AGES = 1.0  # seconds: a consumer whose stream has ended subscribes again at once


def test_an_instance_that_stops_serves_nobody_again(tmp_path: Path) -> None:
    running = InProcessJob("{mode: passiveStandby}", tmp_path)
    try:
        running.begin()
        running.flows()
        producer = running.instances.pop("first-0")
        producer.inbox.close()
        producer.shell.stop()
        time.sleep(AGES)
        ending = threading.Thread(target=producer.server.shutdown, daemon=True)  # waits for streams to end
        ending.start()
        ending.join(20)
        assert not ending.is_alive()
    finally:
        running.close()
