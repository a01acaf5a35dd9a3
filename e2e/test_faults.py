"""One job with tuples flowing while one fault after the other comes: processes, pods, memory, images, the
operator.

Drills make the faults that a drill can make. The last test compares every tuple that came out with what had
to.
"""

from __future__ import annotations

import sys
from datetime import datetime

import pytest
from kubectl import Job, Namespace, name_of, run, until
from numbers_job import kept_job
from story import (
    REPLACED,
    TAKE_OVER,
    Watchman,
    assert_flowing,
    assert_nothing_lost,
    assert_right,
    drill,
    standby_of,
    started,
    take_overs,
    wait_for_incident,
    wait_for_take_over,
    wait_until_protected,
)

NAME = "faulty"
RATE = 200
NOTICED = 5.0  # seconds after which the status must know
EXPECTED = {"recovery": "30s", "lost": 0, "duplicated": 0}


@pytest.fixture(scope="module")
def job(namespace: Namespace) -> Job:
    return started(namespace, kept_job(NAME, RATE))


def test_no_stranger_gets_anything_from_the_jobs_flight_ports(job: Job) -> None:
    """A pod with the same image and no certificate: a connection, and nothing on it."""
    script = (
        "import sys, pyarrow.flight as f\n"
        "for scheme, tls in (('grpc', {}), ('grpc+tls', {'disable_server_verification': True})):\n"
        "    client = f.FlightClient(f'{scheme}://{sys.argv[1]}:7070', **tls)\n"
        "    try:\n"
        "        found = list(client.do_action(f.Action('status', b'{}'), "
        "f.FlightCallOptions(timeout=10.0)))\n"
        "        print('LEAK', found)\n"
        "    except f.FlightError as error:\n"
        "        print('refused', type(error).__name__)\n"
    )
    primary, _ = job.lease("keep")
    sink = f"{NAME}-sink-kept"
    address = job.namespace.get("pod", primary)["status"]["podIP"]  # type: ignore[index]
    told = job.namespace.kubectl("exec", sink, "--", "env", "-u", "UNDERSTUDY_CREDENTIALS",
                                 "/opt/understudy/bin/python", "-c", script, address)  # fmt: skip
    assert told.split() == ["refused", "FlightUnavailableError"] * 2


def test_the_plugin_runs_a_drill_and_says_how_it_went(job: Job) -> None:
    wait_until_protected(job)
    plugin = [sys.executable, "-m", "understudy.cli.plugin", "drill", NAME, "keep", "--recovery", "30s"]
    said = run(*plugin, "--namespace", job.namespace.name)
    assert "PASSED" in said
    assert "tuples lost: 0" in said
    print(said)


@pytest.mark.parametrize("fault", ["processStop", "nodeLoss"])
def test_a_drill_passes_and_gives_its_figures(job: Job, fault: str) -> None:
    wait_until_protected(job)
    status = drill(job, "keep", fault, fault.lower(), EXPECTED)
    assert status["phase"] == "Passed", status
    assert status["measured"]["lost"] == status["measured"]["duplicated"] == 0
    print(f"first new output after {status['measured']['recoverySeconds']} s")
    assert_flowing(job, seconds=REPLACED)


def test_a_jvm_that_hangs_is_succeeded_and_nobody_calls_the_job_safe_meanwhile(job: Job) -> None:
    wait_until_protected(job)
    primary, _ = job.lease("keep")
    with Watchman(job) as watchman:
        status = drill(job, "keep", "engineHang", "enginehang", EXPECTED)
        assert status["phase"] == "Passed", status
        wait_until_protected(job)
    (incident,) = [i for i in take_overs(job) if "engine stands still" in i["spec"]["cause"]]
    assert (incident["spec"]["from"], incident["spec"]["class"]) == (primary, "temporary")
    steps = ("detected", "reprotected")
    detected, reprotected = (datetime.fromisoformat(incident["status"][step]).timestamp() for step in steps)
    assert watchman.safe, "the watchman saw nothing at all"
    assert watchman.safe_between(detected + NOTICED, reprotected) == []
    print(f"hung: {status['measured']}, protected again {reprotected - detected:.0f} s after it was noticed")
    assert_flowing(job, seconds=REPLACED)


def test_a_drill_refuses_a_job_that_is_not_protected(job: Job) -> None:
    wait_until_protected(job)
    standby = standby_of(job, "keep")
    job.namespace.kill(standby)
    until("the loss is noticed", lambda: not job.is_true("Protected"), 30, every=0.2)
    status = drill(job, "keep", "nodeLoss", "refused", EXPECTED)
    assert status["phase"] == "Failed"
    assert "refused" in status["message"]
    assert_flowing(job)
    incident = wait_for_incident(job, "secondary", standby)
    assert (incident["spec"]["class"], incident["status"]["lost"]) == ("permanent", 0)


def test_a_driver_that_runs_out_of_memory_is_taken_over_from(job: Job) -> None:
    """Many small processes fill the pod's memory, so that its biggest one, the JVM, is killed."""
    wait_until_protected(job)
    primary, epoch = job.lease("keep")
    hog = "import time; held = bytearray(b'x') * (64 << 20); time.sleep(60)"
    script = f'for _ in $(seq 60); do /opt/understudy/bin/python -c "{hog}" & sleep 0.05; done; wait'
    with pytest.raises(AssertionError):  # it ends with its container
        job.namespace.kubectl("exec", primary, "--", "sh", "-c", script)
    wait_for_take_over(job, "keep", primary, epoch)
    assert_flowing(job)


def test_an_image_that_cannot_be_pulled_is_made_good_on_another_pod(job: Job) -> None:
    wait_until_protected(job)
    primary, epoch = job.lease("keep")
    job.namespace.kubectl("set", "image", f"pod/{primary}", "subjob=localhost/nowhere:none")
    wait_for_take_over(job, "keep", primary, epoch)
    assert_flowing(job)
    until("it is replaced", lambda: primary not in {name_of(pod) for pod in job.pods(subjob="keep")}, 120)


def test_an_operator_that_dies_in_the_middle_of_a_failover_is_continued_by_another(
    job: Job, operator: Namespace
) -> None:
    wait_until_protected(job)
    primary, epoch = job.lease("keep")
    leader = operator.get("lease", "understudy")["spec"]["holderIdentity"]  # type: ignore[index]
    job.namespace.kill(primary)
    operator.kill(leader)
    wait_for_take_over(job, "keep", primary, epoch)
    assert_flowing(job)

    def another() -> bool:
        holder = (operator.get("lease", "understudy") or {})["spec"].get("holderIdentity")
        return bool(holder) and holder != leader

    until("another operator leads", another, TAKE_OVER)
    wait_until_protected(job)
    until("the incident is told", lambda: _told(job, primary), TAKE_OVER)


def _told(job: Job, gone: str) -> bool:
    return any(incident["spec"]["from"] == gone for incident in take_overs(job))


def test_after_all_that_every_tuple_came_out_once_and_in_order(job: Job) -> None:
    assert_right(job)
    assert_nothing_lost(job)
