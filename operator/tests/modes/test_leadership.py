"""What a standby notes and decides about the holder of the Lease, as values."""

from __future__ import annotations

from dataclasses import replace

import pytest

from understudy.modes.leadership import NO_INQUIRY, PATIENCE, Claim, Leadership, Role
from understudy.protocol import commands as do
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Epoch, Millis
from understudy.protocol.inquiry import Inquiry

LEASE = LeaseRecord("a-0", "here", Epoch(3))
STANDBY = Leadership("a-1", Detector.of(100, 3), epoch=Epoch(3), lease=LEASE)
ASKED = Inquiry("q", Millis(0))
EMPTY = Claim(could_continue=False, needs_contact=True)


def test_only_a_primary_leads() -> None:
    assert not STANDBY.leads
    assert STANDBY.in_role(Role.PRIMARY).leads


@pytest.mark.parametrize("before", [STANDBY, replace(STANDBY, inquiry=ASKED)])
def test_a_keep_alive_of_this_epoch_makes_contact_and_ends_the_question(before: Leadership) -> None:
    heard = before.connected(Epoch(3))
    assert (heard.in_contact, heard.inquiry) == (True, NO_INQUIRY)
    assert replace(before, in_contact=True).connected(Epoch(3)).inquiry is NO_INQUIRY


def test_a_keep_alive_of_an_older_epoch_makes_no_contact() -> None:
    assert STANDBY.connected(Epoch(2)) is STANDBY


def test_a_keep_alive_in_contact_changes_nothing() -> None:
    known = STANDBY.connected(Epoch(3))
    assert known.connected(Epoch(3)) is known


@pytest.mark.parametrize(
    ("needs_contact", "in_contact", "closed", "tries"),
    [
        (False, False, False, True),
        (True, False, False, False),
        (True, True, False, True),
        (True, False, True, True),
    ],
)
def test_a_standby_that_could_continue_tries_the_lease_if_it_has_heard_the_holder_or_need_not(
    needs_contact: bool, in_contact: bool, closed: bool, tries: bool
) -> None:
    claim = Claim(could_continue=True, needs_contact=needs_contact)
    _, (command,) = replace(STANDBY, in_contact=in_contact).suspects("silence", claim, closed=closed)
    assert isinstance(command, do.TryLease) is tries


def test_without_a_lease_or_during_an_attempt_nobody_is_asked() -> None:
    for busy in (replace(STANDBY, lease=None), replace(STANDBY, trying=True)):
        assert busy.suspects("silence", EMPTY) == (busy, ())


@pytest.mark.parametrize(
    ("inquiry", "kind"),
    [
        (NO_INQUIRY, do.AskHolder),
        (ASKED, do.ReadLease),
        (replace(ASKED, unanswered=PATIENCE - 1), do.ReadLease),
        (replace(ASKED, unanswered=PATIENCE), do.TryLease),
    ],
)
def test_the_holder_is_asked_then_watched_then_replaced(inquiry: Inquiry, kind: type) -> None:
    after, (command,) = replace(STANDBY, inquiry=inquiry).suspects("silence", EMPTY)
    assert type(command) is kind
    assert after.trying is (kind is do.TryLease)
