"""What the operator's metrics say is what stands in the status and in the Incidents."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import generate_latest

from tests.control.jobs import job, with_settings
from tests.control.world import World
from understudy.kubernetes.metrics import OperatorMetrics
from understudy.metrics.causes import Cause, cause_of
from understudy.metrics.family import Kind
from understudy.metrics.jobs import JOB_FAMILIES, JobSight, counts_of, drills_of, gauges_of
from understudy.model.kinds import FailoverDrillStatus

from .operators import Clock, Operator, scrape

JOB = {"namespace": "apps", "streamjob": "demo"}


def test_a_healthy_job_is_ready_and_each_of_its_subjobs_is_protected() -> None:
    operator = Operator(World(job())).run_for(40)
    found = operator.scraped()
    assert found("understudy_ready", **JOB) == 1
    for name in ("keep", "double"):
        of_subjob = operator.world.subjob(name)
        assert of_subjob["protected"] is True
        assert found("understudy_protected", **JOB, subjob=name) == 1
        words = {key: of_subjob[key] for key in ("mode", "guarantee", "state")}
        assert found("understudy_subjob_info", **JOB, subjob=name, **words) == 1
    assert found("understudy_leader") == 1
    assert found("understudy_degraded", **JOB) is None


def test_a_standby_that_is_missing_is_seen_at_the_next_look() -> None:
    operator = Operator(World(job())).run_for(40)
    operator.world.kill(operator.world.standby("keep"))
    operator.look()
    found = operator.scraped()
    assert found("understudy_protected", **JOB, subjob="keep") == 0
    assert found("understudy_protected", **JOB, subjob="double") == 1


def test_a_failover_is_counted_once_with_the_figures_of_its_incident() -> None:
    operator = Operator(World(with_settings(mode="passiveStandby", maxRecovery="3s"))).run_for(40)
    zero = operator.scraped()
    assert zero("understudy_tuples_lost_total", **JOB, subjob="keep") == 0, "an alert needs the beginning"
    operator.world.kill(operator.world.primary("keep"))
    found = operator.run_for(40).scraped()
    (incident,) = operator.world.incidents.values()
    spec, status = incident.spec, incident.status
    labels = {"mode": spec["mode"], "class": spec["class"], "cause": cause_of(spec["cause"])}
    assert found("understudy_failovers_total", **JOB, subjob="keep", **labels) == 1
    kind = {"role": "primary", "class": spec["class"]}
    assert found("understudy_incidents_total", **JOB, **kind) == 1
    assert found("understudy_recovery_seconds_count", **JOB, mode=spec["mode"]) == 1
    assert found("understudy_recovery_seconds_sum", **JOB, mode=spec["mode"]) == status["recoverySeconds"]
    assert found("understudy_tuples_replayed_total", **JOB, subjob="keep") == status["replayed"]
    assert found("understudy_tuples_lost_total", **JOB, subjob="keep") == status["lost"]
    assert found("understudy_recovery_objective_met", **JOB) == 1


def test_a_series_that_is_new_shows_zero_for_a_minute_so_that_increase_sees_it_grow() -> None:
    operator = Operator(World(job())).run_for(40)
    operator.world.kill(operator.world.primary("keep"))
    operator.run_for(40)
    assert scrape(operator.metrics)("understudy_failovers_total", **JOB, subjob="keep") == 0
    assert operator.scraped()("understudy_failovers_total", **JOB, subjob="keep") == 1
    operator.world.kill(operator.world.primary("keep"))
    operator.run_for(40)
    assert scrape(operator.metrics)("understudy_failovers_total", **JOB, subjob="keep") == 2


INCIDENT = {
    "job": "demo",
    "subjob": "keep",
    "mode": "amnesia",
    "class": "permanent",
    "cause": "its pod is gone",
}


def counted(status: dict[str, Any], before: dict[str, Any] | None) -> dict[str, float]:
    return {s.family.name: s.value for s in counts_of("apps", INCIDENT, status, before)}


def test_an_incident_that_is_completed_later_adds_only_what_is_new() -> None:
    first = counted({"lost": 3}, None)
    assert first == {
        "understudy_incidents_total": 1,
        "understudy_failovers_total": 1,
        "understudy_tuples_lost_total": 3,
    }
    later = counted({"lost": 5, "duplicated": 1, "recoverySeconds": 0.7}, {"lost": 3})
    assert later == {
        "understudy_recovery_seconds": 0.7,
        "understudy_tuples_lost_total": 2,
        "understudy_tuples_duplicated_total": 1,
    }
    assert counted({"lost": 5, "recoverySeconds": 0.7}, {"lost": 5, "recoverySeconds": 0.7}) == {}


def test_the_loss_of_a_sink_is_an_incident_and_no_failover() -> None:
    spec = {**INCIDENT, "role": "sink", "sink": "out"}
    names = [s.family.name for s in counts_of("apps", spec, {"lost": None}, None)]
    assert names == ["understudy_incidents_total"]


def test_each_run_of_a_scheduled_drill_is_counted_by_its_result() -> None:
    before = FailoverDrillStatus(passed=2, failed=1)
    found = drills_of("apps", "demo", before, FailoverDrillStatus(passed=2, failed=2))
    assert [(s.labels, s.value) for s in found] == [(("apps", "demo", "failed"), 1)]
    assert not list(drills_of("apps", "demo", before, before))


def test_an_objective_that_nobody_set_is_absent_and_one_that_was_missed_is_zero() -> None:
    def value(status: str) -> list[float]:
        condition = {"type": "RecoveryObjectiveMet", "status": status, "reason": "TooSlow"}
        found = gauges_of(JobSight("apps", "demo", {"conditions": [condition]}))
        return [s.value for s in found if s.family.name == "understudy_recovery_objective_met"]

    assert (value("Unknown"), value("False"), value("True")) == ([], [0], [1])


def test_a_degraded_job_names_its_reason_and_the_cost_of_a_failure_is_shown() -> None:
    condition = {"type": "Degraded", "status": "True", "reason": "TuplesLost"}
    cost = {"replaySeconds": 1.5, "replayTuples": 40, "lostTuples": 7}
    keep = {"name": "keep", "mode": "amnesia", "guarantee": "gap", "ifItFailedNow": cost}
    status = {"conditions": [condition], "subjobs": [keep]}
    found = {
        s.family.name: s for s in gauges_of(JobSight("apps", "demo", status, 1_800_000_000_000, 3_600_000))
    }
    assert found["understudy_degraded"].labels == ("apps", "demo", "TuplesLost")
    assert found["understudy_if_failed_now_replay_seconds"].value == 1.5
    assert found["understudy_if_failed_now_lost_tuples"].value == 7
    assert found["understudy_certificate_expiry_timestamp_seconds"].value == 1_800_000_000
    assert found["understudy_certificate_lifetime_seconds"].value == 3_600


def test_the_certificate_of_a_job_has_the_end_that_its_record_names() -> None:
    operator = Operator(World(job())).run_for(5)
    until = int((operator.world.entries or {})["certificateUntil"])
    found = operator.scraped()
    assert found("understudy_certificate_expiry_timestamp_seconds", **JOB) == until / 1000


def test_an_operator_that_does_not_lead_shows_no_job() -> None:
    leads = True
    operator = Operator(World(job()), lambda: leads).run_for(20)
    leads = False
    found = operator.scraped()
    assert found("understudy_leader") == 0
    assert found("understudy_ready") is None
    assert found("understudy_protected", subjob="keep") is None


def test_a_job_that_is_gone_leaves_no_series() -> None:
    operator = Operator(World(job())).run_for(40)
    operator.world.kill(operator.world.primary("keep"))
    operator.run_for(40)
    operator.metrics.forget("apps", "demo")
    assert not [labels for _, labels in operator.scraped().values if ("streamjob", "demo") in labels]


def test_a_look_is_timed_and_one_that_fails_is_counted_by_its_error() -> None:
    from understudy.kubernetes.api import ApiError
    from understudy.kubernetes.writes import Deposed
    from understudy.process.ports import Unreachable

    clock = Clock()
    metrics = OperatorMetrics(now=clock)
    for error in (Unreachable("no answer"), ApiError(403, "forbidden"), RuntimeError("a bug"), Deposed()):

        def fails(namespace: str, name: str, error: Exception = error) -> float | None:
            raise error

        with pytest.raises(type(error)):
            metrics.timed("streamjobs", fails)("apps", "demo")
    assert metrics.timed("streamjobs", lambda namespace, name: 5.0)("apps", "demo") == 5.0
    clock.pass_a_minute()
    found = scrape(metrics)
    assert found("understudy_reconcile_seconds_count", kind="streamjobs") == 5
    for word in ("unreachable", "refused", "defect"):
        assert found("understudy_reconcile_errors_total", kind="streamjobs", error=word) == 1


@pytest.mark.parametrize(
    ("sentence", "cause"),
    [
        ("no keep-alive for 300 ms", Cause.SILENCE),
        ("its connection closed: the process is dead", Cause.PROCESS_ENDED),
        ("its engine stands still: the JVM did not answer for 3.1 s", Cause.ENGINE_STALLED),
        ("no connection could be made, and its holder has not answered for 6000 ms", Cause.UNREACHABLE),
        ("the backlog of 9000 ms of input is above 5000 and has grown 5 times in a row", Cause.OVERLOAD),
        ("its node n1 is not ready", Cause.POD_LOST),
        ("its disk stands still: a sync has not ended for 12 s", Cause.DISK_STALLED),
        ("what nobody thought of", Cause.OTHER),
    ],
)
def test_a_cause_is_one_of_a_few_words(sentence: str, cause: Cause) -> None:
    assert cause_of(sentence) is cause


def test_families_have_conventional_names_and_sentences() -> None:
    assert len({family.name for family in JOB_FAMILIES}) == len(JOB_FAMILIES)
    for family in JOB_FAMILIES:
        assert family.name.endswith("_total") == (family.kind is Kind.COUNTER)
        assert bool(family.buckets) == (family.kind is Kind.HISTOGRAM)
        assert family.help.endswith(".")


INTERVAL_SECONDS = 15


def test_scrapes_of_two_hundred_jobs_use_less_than_a_hundredth_of_a_processor() -> None:
    operator = Operator(World(job())).run_for(40)
    seen = operator.world.observe()
    for number in range(200):
        operator.metrics.looked(replace(seen, name=f"job-{number}"), ())
    generate_latest(operator.metrics.registry)
    begun = time.process_time()
    for _ in range(3):
        raw = generate_latest(operator.metrics.registry)
    assert raw.count(b"understudy_ready{") == 201
    assert (time.process_time() - begun) / 3 / INTERVAL_SECONDS < 0.01
