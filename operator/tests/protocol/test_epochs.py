"""Fencing by epochs, and the compare of compare-and-set."""

from __future__ import annotations

from dataclasses import replace

import pytest

from understudy.protocol.epochs import EpochGuard, LeaseRecord, is_as_expected
from understudy.protocol.ids import Epoch

LEASE = LeaseRecord("a-0", "here", Epoch(3))
ASKED = replace(LEASE, question="q")
NAMED = replace(LEASE, successor="a-1")


def test_messages_of_an_older_epoch_are_refused_and_those_of_a_newer_one_raise_the_bar() -> None:
    guard, admitted = EpochGuard(Epoch(3)).admit(Epoch(5))
    assert (guard.newest, admitted) == (5, True)
    assert guard.admit(Epoch(4)) == (guard, False)
    assert guard.admit(Epoch(5)) == (guard, True)


@pytest.mark.parametrize(
    ("found", "expected", "same"),
    [
        (None, None, True),
        (LEASE, None, False),
        (None, LEASE, False),
        (LEASE, LEASE, True),
        (replace(LEASE, epoch=Epoch(4)), LEASE, False),
        (replace(LEASE, holder="a-1"), LEASE, False),
        (ASKED, LEASE, True),
        (NAMED, LEASE, True),
        (ASKED, ASKED, True),
        (LEASE, ASKED, False),
        (replace(LEASE, question="another"), ASKED, False),
        (NAMED, NAMED, True),
        (LEASE, NAMED, False),
        (replace(NAMED, successor="a-2"), NAMED, False),
        (replace(NAMED, epoch=Epoch(4)), NAMED, False),
    ],
)
def test_a_lease_is_as_expected_if_nobody_took_it_and_what_was_relied_on_is_still_there(
    found: LeaseRecord | None, expected: LeaseRecord | None, same: bool
) -> None:
    """A question or a successor that nobody relied on may have come meanwhile."""
    assert is_as_expected(found, expected) is same
