"""The kinds of faults that every mode has to survive with every class of operators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Final


class Kind(StrEnum):
    PRIMARY = "primary killed"
    STANDBY = "standby killed"
    BOTH = "both, one after the other"
    CATCHING_UP = "killed while catching up"
    STOPPED = "stopped for 3 s"
    STOPPED_SHORTLY = "stopped for 0.15 s"


_KINDS: Final = {
    "primary killed": Kind.PRIMARY,
    "standby killed": Kind.STANDBY,
    "recovering primary killed": Kind.CATCHING_UP,
    "joining standby killed": Kind.CATCHING_UP,
    "primary stopped for 3 s": Kind.STOPPED,
    "primary stopped for 0.15 s": Kind.STOPPED_SHORTLY,
}
"""By how an incident tells of its cause, without the signal."""


def kinds(causes: Sequence[str]) -> Iterator[tuple[Kind, int]]:
    """Of which kinds the faults of one subjob were, in the order in which they struck; with the place of
    each. Whoever was primary or standby before is gone where one was killed: a primary that is killed after
    that is the second."""
    killed = False
    for at, cause in enumerate(causes):
        kind = _KINDS.get(cause.partition(" (")[0])
        if kind is not None:
            yield kind, at
        if kind is Kind.PRIMARY and killed:
            yield Kind.BOTH, at
        killed = killed or kind in (Kind.PRIMARY, Kind.STANDBY)
