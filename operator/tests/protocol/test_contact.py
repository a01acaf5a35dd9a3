"""What the end of a connection proves."""

from __future__ import annotations

from itertools import product

from understudy.protocol.contact import End, Step, Verdict, next_step, verdict


def test_only_a_connection_that_has_carried_a_keep_alive_and_closed_proves_a_death() -> None:
    proofs = [
        (end, heard)
        for end, heard in product(End, (True, False))
        if verdict(end, heard=heard) is Verdict.CLOSED
    ]
    assert proofs == [(End.TRANSPORT, True)]


def test_a_connection_that_could_not_be_made_says_nothing() -> None:
    assert verdict(End.TRANSPORT, heard=False) is Verdict.UNREACHABLE
    assert verdict(End.TIMED_OUT, heard=False) is Verdict.UNREACHABLE


def test_an_answer_or_a_broken_message_is_followed_by_another_attempt() -> None:
    for heard in (True, False):
        assert verdict(End.NOT_PRIMARY, heard=heard) is Verdict.REFUSED
        assert verdict(End.BROKEN, heard=heard) is Verdict.REFUSED
        assert verdict(End.ANOTHER, heard=heard) is Verdict.BEHIND


def test_a_closed_connection_is_said_to_the_core_unless_another_secondary_has_the_first_chance() -> None:
    assert next_step(Verdict.CLOSED, leads=False, behind=False) is Step.SAY_CLOSED
    assert next_step(Verdict.CLOSED, leads=False, behind=True) is Step.LOOK_AGAIN
    assert next_step(Verdict.CLOSED, leads=True, behind=True) is Step.SAY_CLOSED


def test_a_replica_loses_its_peer_by_a_refusal_and_a_standby_looks_for_another_primary() -> None:
    assert next_step(Verdict.REFUSED, leads=True, behind=False) is Step.SAY_CLOSED
    assert next_step(Verdict.REFUSED, leads=False, behind=False) is Step.LOOK_AGAIN


def test_what_could_not_be_reached_is_never_said_to_be_closed() -> None:
    for leads, behind in product((True, False), (True, False)):
        assert next_step(Verdict.UNREACHABLE, leads=leads, behind=behind) is Step.SAY_UNREACHABLE
        assert next_step(Verdict.BEHIND, leads=leads, behind=behind) is Step.STAND_BEHIND
