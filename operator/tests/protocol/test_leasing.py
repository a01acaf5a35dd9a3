"""What comes of an order about the Lease."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Epoch
from understudy.protocol.leasing import carry_out

HELD = LeaseRecord("job-0", "here", Epoch(3))
ASKED = replace(HELD, question="job-1 asks")


@dataclass
class Store:
    """A Lease in memory."""

    found: LeaseRecord | None = HELD
    hears: str | None = None  # who else hears the holder
    heard_asked: list[LeaseRecord] = field(default_factory=list)

    def read(self) -> LeaseRecord | None:
        return self.found

    def take(self, order: do.TryLease) -> LeaseRecord | None:
        expected = order.condition("job-1")
        if self.found != expected:
            return None
        self.found = LeaseRecord("job-1", "there", Epoch((expected.epoch if expected else 0) + 1))
        return self.found

    def ask(self, expected: LeaseRecord) -> None:
        self.found = replace(expected, question="job-1 asks")

    def answer(self) -> None:
        assert self.found is not None
        assert self.found.question is not None, "each answer is a write: none without a question"
        self.found = replace(self.found, question=None)

    def heard(self, lease: LeaseRecord) -> str | None:
        self.heard_asked.append(lease)
        return self.hears


def test_who_finds_the_lease_as_expected_wins_it_and_who_does_not_sees_it() -> None:
    store = Store()
    assert isinstance(carry_out(do.TryLease(None, ""), store, "job-1", leads=False), on.LeaseSeen)
    won = carry_out(do.TryLease(HELD, ""), store, "job-1", leads=False)
    assert won == on.LeaseWon(LeaseRecord("job-1", "there", Epoch(4)))


def test_before_a_lease_with_a_question_is_taken_the_others_are_asked_who_hears_its_holder() -> None:
    store = Store(ASKED, hears="down-0")
    assert carry_out(do.TryLease(ASKED, ""), store, "job-1", leads=False) == on.HolderHeard("down-0")
    assert store.found == HELD
    store.hears = None
    assert isinstance(carry_out(do.TryLease(ASKED, ""), store, "job-1", leads=False), on.LeaseWon)
    assert store.heard_asked == [ASKED, ASKED]


def test_a_lease_without_a_question_is_taken_without_asking() -> None:
    store = Store(hears="down-0")
    assert isinstance(carry_out(do.TryLease(HELD, ""), store, "job-1", leads=False), on.LeaseWon)
    assert store.heard_asked == []


def test_only_a_holder_that_leads_answers_a_question_that_it_finds() -> None:
    for me, leads in (("job-1", True), ("job-0", False)):
        store = Store(ASKED)
        carry_out(do.ReadLease(""), store, me, leads=leads)
        assert store.found is not None
        assert store.found.question is not None
    store = Store(ASKED)
    carry_out(do.ReadLease(""), store, "job-0", leads=True)
    assert store.found is not None
    assert store.found.question is None


def test_a_holder_that_leads_writes_nothing_into_a_lease_without_a_question() -> None:
    assert carry_out(do.ReadLease(""), Store(), "job-0", leads=True) == on.LeaseSeen(HELD)
    assert carry_out(do.ReadLease(""), Store(None), "job-0", leads=True) == on.LeaseSeen(None)


def test_a_question_is_written_and_the_lease_read() -> None:
    store = Store()
    seen = carry_out(do.AskHolder(HELD, ""), store, "job-1", leads=False)
    assert isinstance(seen, on.LeaseSeen)
    assert seen.record is not None
    assert seen.record.question == "job-1 asks"
