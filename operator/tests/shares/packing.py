"""What is marked `slow` in ten shares that take about as long as each other."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

SHARES = 10
LIMIT = 480
"""Seconds that a share may take."""
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
    """The longest first, each to the share that has least. What was not measured comes last, so that a new test moves
    no other one to another share."""
    found = [Share()] * shares
    for name in sorted(set(units), key=lambda u: (u not in seconds, -seconds.get(u, UNKNOWN), u)):
        least = min(range(shares), key=lambda n: (found[n].seconds, n))
        found[least] = found[least].with_unit(name, seconds.get(name, UNKNOWN))
    return found
