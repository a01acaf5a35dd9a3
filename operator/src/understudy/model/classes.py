"""Operator classes (Hwang §3.2): what an operator does when it is restarted. The theory in one table:

| class | restarted, it … |
|---|---|
| repeatable | emits identical duplicates, from any earlier point; one tuple of each input makes an output |
| convergent | emits other duplicates at first, then the same stream; windows are aligned to the data |
| deterministic | emits the same stream only from the same state |
| arbitrary | may emit another stream: time, chance, arrival order between inputs |

The class of a network is that of its most general operator. On this engine windows are aligned to `_seq` or
to the epoch and late tuples are told by positions, not by batches, so every aggregate on a subjob's input is
at least convergent. A restart from nothing gives the tuples of a stream between two elements of a subjob new
seqs: an operator that depends on the `_seq` of such a stream is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class OperatorClass(StrEnum):
    """From the most special to the most general."""

    REPEATABLE = "repeatable"
    CONVERGENT = "convergent"
    DETERMINISTIC = "deterministic"
    ARBITRARY = "arbitrary"

    @property
    def generality(self) -> int:
        return list(OperatorClass).index(self)


@dataclass(frozen=True, slots=True)
class Verdict:
    operator_class: OperatorClass
    why: str
    by_plan: bool = False
    """Arbitrary, but every choice is made when a batch plan is cut."""


def most_general(verdicts: Iterable[Verdict]) -> Verdict:
    """Of several verdicts, the most general. An arbitrary choice that no batch plan makes counts as more
    general than one that a plan makes."""
    passes = Verdict(OperatorClass.REPEATABLE, "every tuple passes as it is")
    return max(
        verdicts, key=lambda verdict: (verdict.operator_class.generality, not verdict.by_plan), default=passes
    )


def declared_verdict(function: str, deterministic: bool) -> Verdict:
    """Of a function of the user's, which nobody looks into."""
    if deterministic:
        return Verdict(OperatorClass.DETERMINISTIC, f"{function} is declared deterministic")
    return Verdict(OperatorClass.ARBITRARY, f"{function} is not declared deterministic")
