"""What incidents say was lost and what came out twice, held against what the sinks have.

numbers ─┬─ some (amnesia: what comes while it is away is lost) ── sink some
         └─ again (upstream backup of a query that depends on chance: what was sent is sent again) ── sink
         again

And pairs that lose both instances at once, which only savepoints survive (`test_chaos`): every tuple that is
missing then is in an incident.

numbers ─┬─ passive ── sink passive
         ├─ active ── sink active
         └─ replica ── sink replica
"""

from __future__ import annotations

import time
from contextlib import ExitStack

import pytest
from kubectl import Job, Json, Namespace, name_of, until
from numbers_job import claim, numbers_job
from observer import SinkObserver
from story import (
    REPLACED,
    assert_flowing,
    read_sink,
    started,
    take_overs,
    wait_for_take_over,
    wait_until_protected,
)

pytestmark = pytest.mark.slow

NAME = "honest"
RATE = 50
RANDOM = {"number": "number", "luck": "randn()"}


def subjob(name: str, select: dict[str, str], **ha: str) -> Json:
    return {"name": name, "inputs": ["numbers"], "operators": [{"map": {"select": select}}], "ha": ha}


PAIRS = {"passive": "passiveStandby", "active": "activeStandby", "replica": "replicaBackup"}


def with_sinks(name: str, *subjobs: Json) -> Json:
    """Each has a sink of its own."""
    body = numbers_job(name, RATE, None)
    body["spec"]["subjobs"] = list(subjobs)
    body["spec"]["sinks"] = [
        {"name": n, "input": n, "files": {"path": n, "volume": claim(f"{name}-{n}")}}
        for n in (each["name"] for each in subjobs)
    ]
    return body


def honest_job() -> Json:
    return with_sinks(
        NAME,
        subjob("some", {"number": "number"}, mode="amnesia", guarantee="gap"),
        subjob("again", RANDOM, mode="upstreamBackup", guarantee="rollback", ackInterval="2s"),
    )


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> Job:
    return started(namespace, honest_job(), ("some", "again"))


def incidents(job: Job, of: str) -> list[Json]:
    """All take-overs of a subjob, once the last one has caught up."""

    def told() -> list[Json] | None:
        found = [incident for incident in take_overs(job) if incident["spec"]["subjob"] == of]
        found.sort(key=lambda incident: incident["spec"]["epoch"])
        return found if found and "caughtUp" in (found[-1].get("status") or {}) else None

    return until(f"the incident of {of} is told", told, REPLACED)


def counted(job: Job, subjob: str, what: str) -> int:
    return sum(incident["status"].get(what, 0) for incident in incidents(job, subjob))


def numbers(job: Job, sink: str) -> list[int]:
    return [row["number"] for row in read_sink(job, sink)]


def test_both_are_killed_and_go_on(job: Job) -> None:
    wait_until_protected(job)
    assert_flowing(job, "some")
    before = {name: job.lease(name) for name in ("some", "again")}
    for primary, _ in before.values():
        job.namespace.kill(primary)
    for name, (primary, epoch) in before.items():
        wait_for_take_over(job, name, primary, epoch, REPLACED)
        incidents(job, name)
        assert_flowing(job, name)


def test_what_an_incident_says_was_lost_is_what_the_sink_lacks(job: Job) -> None:
    said, there = counted(job, "some", "lost"), numbers(job, "some")
    assert there == sorted(set(there)), "no tuple twice or out of order"
    missing = len(range(there[0], there[-1] + 1)) - len(there)
    print(f"{missing} missing of {there[-1] + 1}, {said} said to be lost")
    assert there[0] == 0
    assert said == missing > 0
    assert counted(job, "some", "duplicated") == 0


def test_an_incident_owns_up_to_all_that_the_sink_has_twice(job: Job) -> None:
    """It counts up to where the old primary said it was, and that was a moment ago: less than a second's
    tuples. It may count too many: a micro-batch that is not cut there counts whole."""
    said, there = counted(job, "again", "duplicated"), numbers(job, "again")
    twice = len(there) - len(set(there))
    print(f"{twice} of {len(there)} twice, {said} said to be")
    assert sorted(set(there)) == list(range(max(there) + 1)), "no tuple is missing"
    assert twice > 0
    assert said > twice - RATE
    assert counted(job, "again", "lost") == 0


# ---- both of a pair --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pairs(namespace: Namespace, job: Job) -> Job:
    """After the first job, which makes room."""
    namespace.kubectl("delete", "sj", job.name)
    subjobs = [subjob(name, {"number": "number"}, mode=mode) for name, mode in PAIRS.items()]
    return started(namespace, with_sinks("pairs", *subjobs), PAIRS)


def test_a_pair_that_is_lost_as_a_whole_goes_on_with_new_instances(pairs: Job) -> None:
    wait_until_protected(pairs)
    for name in PAIRS:
        assert_flowing(pairs, name)
    before = {name: pairs.lease(name) for name in PAIRS}
    with ExitStack() as watched:
        observers = {name: watched.enter_context(SinkObserver(pairs, name)) for name in PAIRS}
        since = time.monotonic()
        for pod in [pod for name in PAIRS for pod in pairs.pods(subjob=name)]:
            pairs.namespace.kill(name_of(pod))
        for name, (primary, epoch) in before.items():
            wait_for_take_over(pairs, name, primary, epoch, REPLACED)
            incidents(pairs, name)
            assert_flowing(pairs, name, REPLACED)
        for name, observer in observers.items():
            observer.assert_alike(incidents(pairs, name)[-1]["status"]["recoverySeconds"], since)


@pytest.mark.parametrize("name", PAIRS)
def test_nothing_is_lost_with_a_pair_that_no_incident_tells_of(pairs: Job, name: str) -> None:
    """An incident may name more: input of which nothing is missing in the end."""
    lost, twice, there = (
        counted(pairs, name, "lost"),
        counted(pairs, name, "duplicated"),
        numbers(pairs, name),
    )
    missing, again = len(range(max(there) + 1)) - len(set(there)), len(there) - len(set(there))
    print(f"{name}: {missing} missing, {lost} said to be lost; {again} twice, {twice} said to be")
    assert missing <= lost
    assert again <= twice + RATE, "it counts up to where the old primary was seen last"


def test_an_edit_of_a_query_is_told_as_a_change_with_the_pause_that_the_sink_saw(pairs: Job) -> None:
    wait_until_protected(pairs)
    primary, epoch = pairs.lease("passive")
    told = len(take_overs(pairs))
    body = with_sinks(
        "pairs", *(subjob(name, {"number": "number"}, mode=mode) for name, mode in PAIRS.items())
    )
    edited: Json = next(s for s in body["spec"]["subjobs"] if s["name"] == "passive")
    edited["operators"].append({"filter": {"where": "number >= 0"}})
    with SinkObserver(pairs, "passive") as observer:
        since = time.monotonic()
        pairs.namespace.apply(body)
        wait_for_take_over(pairs, "passive", primary, epoch, REPLACED)
        change = until("the change is told", lambda: change_from(pairs, primary), REPLACED)
        assert_flowing(pairs, "passive", REPLACED)
        observer.assert_alike(change["pauseSeconds"], since)
    assert "the query was changed" in change["cause"]
    assert len(take_overs(pairs)) == told, "an edit is no failure"


def change_from(job: Job, primary: str) -> Json | None:
    change: Json = job.subjob("passive").get("lastChange") or {}
    return change if change.get("from") == primary and "pauseSeconds" in change else None
