"""What the end of a connection proves."""

from __future__ import annotations

from itertools import product

from understudy.protocol.contact import End, Verdict, verdict


def test_only_a_connection_that_has_carried_a_keep_alive_and_closed_proves_a_death() -> None:
    proofs = [(end, heard) for end, heard in product(End, (True, False)) if verdict(end, heard=heard) is Verdict.CLOSED]
    assert proofs == [(End.TRANSPORT, True)]


def test_a_connection_that_could_not_be_made_says_nothing() -> None:
    assert verdict(End.TRANSPORT, heard=False) is Verdict.UNREACHABLE
    assert verdict(End.TIMED_OUT, heard=False) is Verdict.UNREACHABLE


def test_an_answer_or_a_broken_message_is_followed_by_another_attempt() -> None:
    for heard in (True, False):
        assert verdict(End.NOT_PRIMARY, heard=heard) is Verdict.REFUSED
        assert verdict(End.BROKEN, heard=heard) is Verdict.REFUSED
        assert verdict(End.ANOTHER, heard=heard) is Verdict.BEHIND
