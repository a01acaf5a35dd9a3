"""What incidents say was lost and what came out twice, held against what the sinks have.

numbers ─┬─ some (amnesia: what comes while it is away is lost) ── sink some
         └─ again (upstream backup of a query that depends on chance: what was sent is sent again) ── sink again
"""

from __future__ import annotations

import pytest
from kubectl import Job, Json, Namespace, until
from numbers_job import claim, numbers_job
from story import REPLACED, assert_flowing, read_sink, started, wait_for_take_over, wait_until_protected

pytestmark = pytest.mark.slow

NAME = "honest"
RATE = 50
RANDOM = {"number": "number", "luck": "randn()"}


def subjob(name: str, select: dict[str, str], **ha: str) -> Json:
    return {"name": name, "inputs": ["numbers"], "operators": [{"map": {"select": select}}], "ha": ha}


def honest_job() -> Json:
    body = numbers_job(NAME, RATE, None)
    body["spec"]["subjobs"] = [
        subjob("some", {"number": "number"}, mode="amnesia", guarantee="gap"),
        subjob("again", RANDOM, mode="upstreamBackup", guarantee="rollback", ackInterval="2s"),
    ]
    body["spec"]["sinks"] = [
        {"name": name, "input": name, "files": {"path": name, "volume": claim(f"{NAME}-{name}")}}
        for name in ("some", "again")
    ]
    return body


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> Job:
    return started(namespace, honest_job(), ("some", "again"))


def incidents(job: Job, of: str) -> list[Json]:
    """All of a subjob, once the last one has caught up."""

    def told() -> list[Json] | None:
        found = [incident for incident in job.namespace.list("incidents") if incident["spec"]["subjob"] == of]
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
    """It counts up to where the old primary said it was, and that was a moment ago: less than a second's tuples. It may
    count too many: a micro-batch that is not cut there counts whole."""
    said, there = counted(job, "again", "duplicated"), numbers(job, "again")
    twice = len(there) - len(set(there))
    print(f"{twice} of {len(there)} twice, {said} said to be")
    assert sorted(set(there)) == list(range(max(there) + 1)), "no tuple is missing"
    assert twice > 0
    assert said > twice - RATE
    assert counted(job, "again", "lost") == 0
