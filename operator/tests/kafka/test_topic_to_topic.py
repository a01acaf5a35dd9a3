"""From topic to topic through kills and zombies: the output is every record once, in one order."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.kafka.copier import FENCED
from tests.kafka.topics_in_use import fill
from understudy_lab.broker.process import Broker
from understudy_lab.broker.topics import committed

pytestmark = pytest.mark.broker
Make = Callable[..., str]
TESTS = Path(__file__).parents[2]
COUNT = 6_000
STEP = 200


def life(
    broker: Broker, from_: str, to: str, number: int, stop_at: int | None = None
) -> subprocess.Popen[bytes]:
    more = [str(stop_at)] if stop_at is not None else []
    command = [sys.executable, "-m", "tests.kafka.copier", broker.address, from_, to, str(number), *more]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(TESTS)})


@pytest.mark.parametrize("seed", [1])
def test_every_record_once_in_one_order_whoever_dies_or_wakes(broker: Broker, topic: Make, seed: int) -> None:
    draw = random.Random(seed)
    from_, to = topic(4), topic(1)
    lives = [life(broker, from_, to, 1)]
    zombies: list[subprocess.Popen[bytes]] = []
    try:
        for start in range(0, COUNT, STEP):
            fill(broker, from_, range(start, start + STEP), partitions=4)
            time.sleep(0.1)
            if start % 1_500 == 0:
                if draw.random() < 0.5:
                    lives[-1].kill()
                else:  # it is only silent, and wakes beside its successor
                    lives[-1].send_signal(signal.SIGSTOP)
                    zombies.append(lives[-1])
                lives.append(life(broker, from_, to, len(lives) + 1, draw.choice([None, 50])))
        lives[-1].send_signal(signal.SIGCONT)  # it may have stopped itself in the middle of a transaction
        lives.append(life(broker, from_, to, len(lives) + 1))
        deadline = time.monotonic() + 120
        while (seen := len(committed(broker, to))) < COUNT:
            assert time.monotonic() < deadline, f"{seen} records"
            time.sleep(0.5)
        for zombie in zombies:
            zombie.send_signal(signal.SIGCONT)
            assert zombie.wait(60) == FENCED
        assert lives[-1].poll() is None
        records = committed(broker, to)
    finally:
        for each in lives:
            each.kill()
            each.wait()
    values = [json.loads(record.value) for record in records]
    assert [record.headers for record in records] == [f"_seq:{n}" for n in range(COUNT)]
    assert sorted(value["n"] for value in values) == list(range(COUNT))
    for partition in range(4):
        offsets = [value["_offset"] for value in values if value["_partition"] == partition]
        assert offsets == list(range(COUNT // 4))
