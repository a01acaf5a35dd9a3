"""What a look at a calm job costs, and that nothing is missed for it."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace

import pytest

from understudy.control.observed import Phase, Pod
from understudy.control.times import iso
from understudy.kubernetes.api import Api
from understudy.kubernetes.poll import Poller
from understudy.kubernetes.reconcile import CALM_SECONDS, CALMEST_SECONDS, RESTLESS, Reconciler
from understudy.kubernetes.settings import PodSettings
from understudy.model.status import Role
from understudy.process.clock import now_ms
from understudy.protocol.statuspage import InstancePage, State

from ..control.jobs import manifest
from .fake_api import FakeApi
from .test_reconcile import page, submit

CLOCKS_MS = 100  # two clocks are read one after the other, and other processes may run in between
SETTINGS = PodSettings(image="understudy:test", disruption_budgets=True, network_policies=True)


def test_a_second_look_reads_only_what_changes_by_itself(fake: FakeApi, api: Api) -> None:
    reconciler = Reconciler(api, SETTINGS)
    for _ in range(2):
        reconciler.reconcile("apps", "demo")
    fake.requests.clear()
    reconciler.reconcile("apps", "demo")
    asked = [path.rpartition("/")[2] for method, path in fake.requests if method == "GET"]
    assert sorted(asked) == ["demo", "leases", "pods"]


def test_objects_that_the_operator_has_changed_are_read_again(fake: FakeApi, api: Api) -> None:
    reconciler = Reconciler(api, SETTINGS)
    for _ in range(2):
        reconciler.reconcile("apps", "demo")
    del fake.objects["pods", "apps", "demo-sink-out"]
    reconciler.reconcile("apps", "demo")
    assert fake.get("pods", "demo-sink-out") is not None
    fake.requests.clear()
    reconciler.reconcile("apps", "demo")
    assert "services" in {path.rpartition("/")[2] for _, path in fake.requests}


def test_the_more_jobs_there_are_the_longer_a_calm_one_sleeps(fake: FakeApi, api: Api) -> None:
    reconciler = Reconciler(api, SETTINGS)
    refused = manifest(sinks=[{"name": "out", "input": "nowhere", "files": {"path": "out"}}])
    submit(fake, refused)
    reconciler.reconcile("apps", "demo")
    assert reconciler.reconcile("apps", "demo") == CALM_SECONDS
    for number in range(400):
        reconciler._pods["apps", f"other{number}"] = ()
    assert reconciler.reconcile("apps", "demo") == CALMEST_SECONDS


@pytest.mark.parametrize(("others", "written"), [(0, True), (199, False)])
def test_the_figures_of_one_of_many_jobs_are_written_less_often(
    fake: FakeApi, api: Api, others: int, written: bool
) -> None:
    reconciler = Reconciler(api, SETTINGS)
    for _ in range(3):
        reconciler.reconcile("apps", "demo")
    for number in range(others):
        reconciler._pods["apps", f"other{number}"] = ()
    body = fake.get("streamjobs", "demo")
    assert body is not None
    long_ago = iso(now_ms() - 80_000)
    fake.put("streamjobs", {**body, "status": {**body["status"], "measuredAt": long_ago}})
    reconciler.reconcile("apps", "demo")
    found = fake.get("streamjobs", "demo")
    assert found is not None
    assert (found["status"]["measuredAt"] != long_ago) is written


def test_a_pod_is_silent_from_the_first_question_on_that_it_did_not_answer(fake: FakeApi, api: Api) -> None:
    pod = Pod("demo-keep-0", "keep", Role.PRIMARY, Phase.RUNNING, 0, ip="127.0.0.77", uid="u1")
    poller = Poller()
    with ExitStack() as stack:
        stack.enter_context(page("127.0.0.77", {"kind": "subjob", "state": "ready"}))
        answered = poller.pages([pod])["demo-keep-0"]
        assert not answered.silent
    first = poller.pages([pod])["demo-keep-0"]
    assert first.silent
    assert first.at_ms >= answered.at_ms - CLOCKS_MS
    time.sleep(4 * CLOCKS_MS / 1000)
    again = poller.pages([pod])["demo-keep-0"]
    assert again.silent
    assert abs(again.at_ms - first.at_ms) < CLOCKS_MS


def test_pages_of_other_jobs_come_from_their_node_while_their_pods_are_asked() -> None:
    mine = Pod("mine", "keep", Role.PRIMARY, Phase.RUNNING, 0, node="n1", ip="127.0.0.78", uid="u1")
    other = Pod("other", "keep", Role.PRIMARY, Phase.RUNNING, 0, node="n1", ip="127.0.0.79", uid="u2")
    poller = Poller()
    with page(mine.ip or "", {"kind": "subjob"}), page(other.ip or "", {"kind": "subjob"}):
        poller.pages([mine])
        answered = poller.pages([other])["other"]
    (found,) = poller.elsewhere([mine])["n1"]
    assert (found.page, found.silent) == (answered.page, False)
    poller.pages([replace(other, phase=Phase.SUCCEEDED)])
    assert poller.elsewhere([mine]) == {}, "its page grows old because nobody asks"


def test_a_job_that_waits_for_a_node_for_long_is_not_asked_every_second_for_ever(
    fake: FakeApi, api: Api
) -> None:
    reconciler = Reconciler(api, SETTINGS)
    pauses: list[float | None] = []
    while CALM_SECONDS not in pauses and len(pauses) < 300:
        pauses.append(reconciler.reconcile("apps", "demo"))
    assert pauses[-1] == CALM_SECONDS
    assert pauses[:-1] == [1.0] * (len(pauses) - 1)
    assert len(pauses) > RESTLESS


def test_a_page_of_another_major_version_is_neither_silence_nor_news(fake: FakeApi, api: Api) -> None:
    """A pod that is silent may be replaced. This one lives, and speaks a language that came later."""
    pod = Pod("demo-keep-0", "keep", Role.PRIMARY, Phase.RUNNING, 0, ip="127.0.0.80", uid="u3")
    poller = Poller()
    with page("127.0.0.80", {"kind": "subjob", "version": "1.9", "state": "ready", "new": True}):
        assert poller.pages([pod])["demo-keep-0"].page == InstancePage(state=State.READY)
    with page("127.0.0.80", {"kind": "subjob", "version": "2.0", "state": "ready"}):
        assert poller.pages([pod]) == {}
    assert poller.pages([pod]) == {}, "nobody knows since when it is silent"
