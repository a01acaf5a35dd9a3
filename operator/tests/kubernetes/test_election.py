"""Operators that elect one of them, against an API server that remembers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from understudy.control.canary import Key
from understudy.kubernetes import rounds as rounds_module
from understudy.kubernetes.election import Election
from understudy.kubernetes.loops import Loops
from understudy.kubernetes.rounds import Rounds

from .fake_api import FakeApi


def until(what: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


@pytest.fixture
def fake() -> FakeApi:
    return FakeApi()


@pytest.fixture
def two(fake: FakeApi) -> Iterator[tuple[Election, Election]]:
    with ExitStack() as stack:
        first, second = (
            Election(stack.enter_context(fake.serving()), "system", "understudy", name)
            for name in ("pod-a", "pod-b")
        )
        yield first, second


def test_one_leads_and_when_it_leaves_the_other_follows_at_once(
    fake: FakeApi, two: tuple[Election, Election]
) -> None:
    first, second = two
    first.start()
    until(first.leads)
    second.start()
    second.look()
    assert not second.leads()
    first.stop()
    assert not first.leads()
    until(second.leads, 5)
    lease = fake.get("leases", "understudy", "system")
    assert lease is not None
    assert lease["spec"]["holderIdentity"] == "pod-b"
    second.stop()


def test_a_leader_that_dies_without_a_word_is_followed_within_seconds(two: tuple[Election, Election]) -> None:
    first, second = two
    first.look()
    assert first.leads()
    second.start()
    until(second.leads)
    assert not first.leads()
    second.stop()


def test_while_the_api_server_is_away_nobody_leads_for_long(
    fake: FakeApi, two: tuple[Election, Election]
) -> None:
    first, _ = two
    first.start()
    until(first.leads)
    fake.down = True
    until(lambda: not first.leads())
    fake.down = False
    until(first.leads)
    first.stop()


def test_only_a_leader_starts_a_loop_for_every_listed_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rounds_module, "ELECTION_SECONDS", 0.05)
    leading, calls = [False], list[Key]()
    silences: list[str] = []

    def reconcile(namespace: str, name: str) -> float | None:
        calls.append((namespace, name))
        return 60.0

    def listed() -> dict[Key, int]:
        return {("apps", "demo"): 1}

    async def scenario() -> None:
        loops = Loops(reconcile, lambda: leading[0])
        task = asyncio.create_task(Rounds(listed, lambda: leading[0], loops, silences.append).run())
        loops.wake("apps", "demo")
        await asyncio.sleep(0.3)
        assert calls == []
        leading[0] = True
        await asyncio.sleep(0.5)
        assert calls == [("apps", "demo")]
        task.cancel()
        await loops.stop()

    asyncio.run(scenario())
    assert silences == []
