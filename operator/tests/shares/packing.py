"""What is marked `slow` in shares that take about as long as each other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TypeAlias

SHARES = 15
LIMIT = 480
"""Seconds that a share may take."""
ORDERS = 300
UNKNOWN = 90
"""Seconds that are reckoned for what was not measured yet."""
FILE = Path(__file__).with_name("seconds.json")
Unit: TypeAlias = str
"""One test of local processes, or one module of the cluster suite, whose tests follow on each other."""


def unit(test: str) -> Unit:
    return test.partition("::")[0] if test.startswith("e2e/") else test


@dataclass(frozen=True)
class Share:
    units: tuple[Unit, ...] = ()
    seconds: int = 0

    def with_unit(self, unit: Unit, seconds: int) -> Share:
        return Share((*self.units, unit), self.seconds + seconds)


def known(file: Path = FILE) -> dict[Unit, int]:
    found: dict[Unit, int] = json.loads(file.read_text())
    return found


def pack(units: Iterable[Unit], seconds: Mapping[Unit, int], shares: int = SHARES) -> Sequence[Share]:
    """What was measured is spread evenly. What was not comes last, so that a new test moves no other one."""
    names = sorted(set(units), key=lambda u: (-seconds.get(u, UNKNOWN), u))
    measured, new = [u for u in names if u in seconds], [u for u in names if u not in seconds]
    found = _spread(measured, seconds, shares)
    for name in new:
        found = _with(found, name, UNKNOWN, min(range(shares), key=lambda n: (found[n].seconds, n)))
    return found


def _spread(names: Sequence[Unit], seconds: Mapping[Unit, int], shares: int) -> list[Share]:
    """Under the lowest limit at which one of many orders fits, longer ones first but not always."""
    chance = Random(0)
    orders = [sorted(names, key=lambda name: -seconds[name] * chance.uniform(0.7, 1)) for _ in range(ORDERS)]
    limit = max(
        [sum(seconds[name] for name in names) // shares, *(seconds[name] for name in names)], default=0
    )
    while True:
        for order in (names, *orders):
            if (found := _within(limit, order, seconds, shares)) is not None:
                return found
        limit += 5


def _within(
    limit: int, names: Sequence[Unit], seconds: Mapping[Unit, int], shares: int
) -> list[Share] | None:
    """Each to the fullest share that has room for it; None if it does not fit."""
    found = [Share()] * shares
    for name in names:
        room = [n for n, share in enumerate(found) if share.seconds + seconds[name] <= limit]
        if not room:
            return None
        found = _with(found, name, seconds[name], max(room, key=lambda n: (found[n].seconds, -n)))
    return found


def _with(shares: Sequence[Share], name: Unit, seconds: int, into: int) -> list[Share]:
    return [share.with_unit(name, seconds) if n == into else share for n, share in enumerate(shares)]
