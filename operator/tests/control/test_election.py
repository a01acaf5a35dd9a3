"""Which operator acts: never two, and another within seconds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from understudy.control.canary import PATIENCE, Canary
from understudy.control.election import GIVE_UP_MS, LEASE_MS, Candidate, LeaseRead

FREE = LeaseRead(None, "1")


def test_a_lease_that_nobody_holds_is_taken_at_once_and_another_holders_is_not() -> None:
    me = Candidate("a")
    assert not me.may_write(0)
    assert me.look(FREE, 0).may_write(0)
    assert not me.look(LeaseRead("b", "1"), 0).may_write(LEASE_MS - 1)
    assert me.look(LeaseRead("b", "1"), 0).may_write(LEASE_MS)


def test_every_renewal_by_the_holder_restarts_the_wait() -> None:
    waiting = Candidate("a").look(LeaseRead("b", "1"), 0).look(LeaseRead("b", "2"), LEASE_MS - 1)
    assert not waiting.may_write(LEASE_MS)
    assert waiting.may_write(2 * LEASE_MS)


def test_a_leader_that_cannot_renew_stops_before_another_may_take_over() -> None:
    held = Candidate("a").look(FREE, 0).renewed(LeaseRead("a", "2"), 10)
    assert held.leads(10)
    assert not held.leads(10 + GIVE_UP_MS)
    assert not held.look(LeaseRead("b", "3"), 20).leads(20)


def test_a_leadership_that_was_interrupted_continues_as_a_new_term() -> None:
    leading = Candidate("a").look(LeaseRead(None, "1"), 0).renewed(LeaseRead("a", "2"), 0)
    term = leading.term
    leading = leading.renewed(LeaseRead("a", "3"), GIVE_UP_MS - 1)
    assert leading.leads_since(term, GIVE_UP_MS)
    again = leading.renewed(LeaseRead("a", "4"), 3 * GIVE_UP_MS)
    assert again.leads(3 * GIVE_UP_MS)
    assert not again.leads_since(term, 3 * GIVE_UP_MS)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3_000), st.booleans()), max_size=60))
def test_there_are_never_two_leaders_whatever_the_timing_and_the_losses(
    steps: list[tuple[int, int, bool]],
) -> None:
    now, version, holder = 0, 1, None
    candidates = [Candidate("a"), Candidate("b")]
    for who, pause, reaches in steps:
        now += pause
        if reaches:
            seen = candidates[who].look(LeaseRead(holder, str(version)), now)
            if seen.may_write(now):
                version, holder = version + 1, seen.me
                seen = seen.renewed(LeaseRead(holder, str(version)), now)
            candidates[who] = seen
        assert sum(candidate.leads(now) for candidate in candidates) <= 1


def test_a_watch_that_keeps_silent_about_a_listed_job_is_noticed_and_a_late_one_is_not() -> None:
    listed = {("apps", "demo"): 2, ("apps", "other"): 1}
    heard = {("apps", "demo"): 1, ("apps", "other"): 1}
    canary = Canary()
    for _ in range(PATIENCE - 1):
        canary = canary.look(listed, heard)
        assert canary.silent is None
    assert canary.look(listed, {**heard, ("apps", "demo"): 2}).silent is None
    assert "apps/demo" in str(canary.look(listed, heard).silent)
