"""Fencing: one accepted writer per epoch. A receiver refuses whatever carries an older epoch than it has
seen."""

from __future__ import annotations

from dataclasses import dataclass, field

from understudy.protocol.ids import Epoch


@dataclass(frozen=True, slots=True)
class EpochGuard:
    newest: Epoch = Epoch(0)

    def admit(self, epoch: Epoch) -> tuple[EpochGuard, bool]:
        if epoch < self.newest:
            return self, False
        return (self if epoch == self.newest else EpochGuard(epoch)), True


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """What the Lease says: who serves the subjob, where, since which change of hands."""

    holder: str
    address: str
    epoch: Epoch
    successor: str | None = field(
        default=None, compare=False
    )  # who should serve it instead: its holder is to move
    question: str | None = field(
        default=None, compare=False
    )  # asked by one that does not hear the holder: it answers
    gone: bool = field(
        default=False, compare=False
    )  # whoever deploys the job has seen the holder's process end


def is_as_expected(found: LeaseRecord | None, expected: LeaseRecord | None) -> bool:
    """The compare of compare-and-set: a question or a successor that is expected must still be there."""
    if found is None or expected is None:
        return found is expected
    said = expected.question in (None, found.question) and expected.successor in (None, found.successor)
    return found == expected and said
