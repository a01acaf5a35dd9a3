"""Fencing: only one writer per epoch is accepted. A receiver refuses messages of an older epoch than it has
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
    """The content of the Lease: which instance serves the subjob, at which address, and in which epoch."""

    holder: str
    address: str
    epoch: Epoch
    successor: str | None = field(
        default=None, compare=False
    )  # the instance that should serve the subjob instead: the holder is to move there
    question: str | None = field(
        default=None, compare=False
    )  # put by a standby that does not hear the holder; a living holder removes it
    gone: bool = field(
        default=False, compare=False
    )  # the process that deploys the job has seen the holder's process end


def is_as_expected(found: LeaseRecord | None, expected: LeaseRecord | None) -> bool:
    """The compare of compare-and-set. An expected question or successor must still be in the Lease."""
    if found is None or expected is None:
        return found is expected
    said = expected.question in (None, found.question) and expected.successor in (None, found.successor)
    return found == expected and said
