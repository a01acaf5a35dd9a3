"""The loss of a standby or of a sink leaves an Incident; what somebody wanted does not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from understudy.control.decide import decide, is_calm
from understudy.control.intents import RecordIncident
from understudy.control.observed import IncidentSeen, Node, Order, Phase, Safeguards
from understudy.control.times import iso_ms

from .jobs import job, manifest, with_modes, with_query, with_settings, with_spark
from .world import World

SINK = "demo-sink-out"


@pytest.fixture
def started() -> World:
    """A job that runs, every standby ready."""
    world = World(job()).run_for(30)
    assert world.is_true("Protected")
    assert world.incidents == {}
    return world


def only(world: World) -> IncidentSeen:
    (incident,) = world.incidents.values()
    return incident


def with_volume(**volume: Any) -> World:
    sinks = [{"name": "out", "input": "double", "files": {"path": "out", "volume": volume}}]
    return World(job(sinks=sinks)).run_for(30)


# ---- standbys --------------------------------------------------------------------------------------------


def test_a_standby_whose_pod_is_gone_leaves_an_incident_until_the_subjob_is_protected_again(
    started: World,
) -> None:
    lost = started.standby("keep")
    started.kill(lost)
    started.run_for(1)
    incident = only(started)
    assert incident.name == f"{lost}-lost"
    assert incident.spec == {
        "job": "demo",
        "subjob": "keep",
        "role": "secondary",
        "mode": "passiveStandby",
        "cause": "its pod is gone",
        "class": "permanent",
        "from": lost,
        "to": "",
    }
    assert incident.status == {"detected": iso_ms(started.now_ms), "lost": 0, "duplicated": 0}
    started.run_for(30)
    assert started.is_true("Protected")
    assert only(started).status["reprotected"] > incident.status["detected"]


@pytest.mark.parametrize(
    ("modes", "role"),
    [(("replicaBackup", "passiveStandby"), "replica"), (("upstreamBackup", "passiveStandby"), "spare")],
)
def test_the_incident_names_the_role_of_the_lost_instance(modes: tuple[str, str], role: str) -> None:
    world = World(with_modes(*modes)).run_for(30)
    world.kill(world.standby("keep"))
    world.run_for(1)
    assert (only(world).spec["role"], only(world).spec["mode"]) == (role, modes[0])


def test_a_standby_on_a_lost_node_is_reported_once_with_the_node(started: World) -> None:
    lost = started.pods[started.standby("keep")]
    started.pods = {
        name: pod for name, pod in started.pods.items() if pod.part == "keep" or pod.node != lost.node
    }
    started.run_for(40)
    started.incidents.clear()
    assert lost.node is not None
    started.lose_node(lost.node)
    started.run_for(40)
    told = [i for i in started.incidents.values() if i.spec["from"] == lost.name]
    assert [i.spec["cause"] for i in told] == [f"its node {lost.node} is not ready"]
    assert told[0].spec["class"] == "permanent"


def test_a_standby_that_does_not_answer_failed_at_its_first_missing_answer(started: World) -> None:
    started.silent.add(started.standby("keep"))
    since = started.now_ms + 1_000
    started.run_for(35)
    assert only(started).spec["failedAt"] == iso_ms(since)
    assert only(started).spec["cause"].startswith("it has not answered for")


def test_a_container_that_is_started_again_is_a_temporary_failure(started: World) -> None:
    standby = started.standby("keep")
    died = started.now_ms
    started.crash(standby)
    started.run_for(2)
    spec = only(started).spec
    assert only(started).name == f"{standby}-restart-1"
    assert (spec["class"], spec["from"], spec["to"]) == ("temporary", standby, standby)
    assert spec["cause"] == "its container died (OOMKilled) and is started again"
    assert spec["failedAt"] == iso_ms(died)
    assert "reprotected" not in only(started).status, "its page is from before"
    started.run_for(20)
    assert "reprotected" in only(started).status
    started.crash(standby)
    started.run_for(20)
    assert set(started.incidents) == {f"{standby}-restart-1", f"{standby}-restart-2"}


@pytest.mark.parametrize("which", ["keep", SINK])
def test_pages_from_before_a_failure_do_not_end_its_incident(started: World, which: str) -> None:
    started.crash(SINK if which == SINK else started.standby(which))
    for _ in range(3):
        started.reconcile()
    assert "reprotected" not in only(started).status


def test_a_failure_before_the_subjob_is_protected_again_belongs_to_the_same_incident(started: World) -> None:
    first = started.standby("keep")
    started.kill(first)
    started.run_for(6)
    started.crash(started.standby("keep"))
    started.run_for(2)
    started.kill(started.standby("keep"))
    started.run_for(40)
    assert only(started).name == f"{first}-lost"
    assert "reprotected" in only(started).status


def test_a_restarted_operator_reports_a_loss_that_it_did_not_see_and_reports_it_once(started: World) -> None:
    lost = started.standby("keep")
    started.kill(lost)
    for _ in range(20):
        started.tick()
    for _ in range(3):  # whoever leads next has read the status that was there before
        plan = started.reconcile(cut=-1)
    assert [i.name for i in plan if isinstance(i, RecordIncident)] == []
    assert set(started.incidents) == {f"{lost}-lost"}


def test_an_incident_of_a_lost_pair_does_not_claim_that_nothing_was_lost(started: World) -> None:
    primary, standby = started.primary("keep"), started.standby("keep")
    started.kill(primary)
    started.kill(standby)
    started.run_for(60)
    assert set(started.incidents) == {f"{standby}-lost", "demo-keep-epoch-2"}
    assert "lost" not in started.incidents[f"{standby}-lost"].status


def test_before_the_stream_has_started_there_is_nothing_to_protect() -> None:
    world = World(job()).run_for(9)
    world.kill(world.standby("keep"))
    world.run_for(30)
    assert world.is_true("Protected")
    assert world.incidents == {}


# ---- take-overs ------------------------------------------------------------------------------------------


def test_a_take_over_leaves_one_incident_and_none_for_the_pod_of_the_old_primary(started: World) -> None:
    started.kill(started.primary("keep"))
    started.run_for(60)
    assert only(started).name == "demo-keep-epoch-2"
    assert only(started).spec["role"] == "primary"


@pytest.mark.parametrize("delay", [0, 1, 3])
def test_an_old_primary_that_comes_back_as_a_standby_belongs_to_the_take_over(
    started: World, delay: int
) -> None:
    primary = started.primary("keep")
    started.silent.add(primary)
    started.run_for(1 + delay)
    started.silent.discard(primary)
    started.crash(primary)
    started.run_for(30)
    assert started.standby("keep") == primary
    assert only(started).name == "demo-keep-epoch-2"


def test_an_old_primary_that_hangs_until_it_is_given_up_belongs_to_the_take_over(started: World) -> None:
    started.silent.add(started.primary("keep"))
    started.run_for(80)
    assert started.is_true("Protected")
    assert only(started).name == "demo-keep-epoch-2"


def test_no_instance_is_called_a_lost_standby_before_the_new_primary_names_its_predecessor(
    started: World,
) -> None:
    primary, standby = started.pods[started.primary("keep")], started.standby("keep")
    before = started.pages[standby]
    started.silent.add(primary.name)
    for _ in range(2):  # first the Lease has another holder, then the pod of the old one is lost
        started.tick()
        started.pages[standby] = before
        started.reconcile()
        assert primary.node is not None
        started.lose_node(primary.node)
    assert started.primary("keep") == standby
    started.run_for(60)
    assert [i.name for i in started.incidents.values() if i.spec["from"] == primary.name] == [
        "demo-keep-epoch-2"
    ]


def test_an_old_primary_whose_node_is_lost_belongs_to_the_take_over(started: World) -> None:
    primary = started.pods[started.primary("keep")]
    assert primary.node is not None
    started.lose_node(primary.node)
    started.run_for(60)
    assert [i.name for i in started.incidents.values() if i.spec["from"] == primary.name] == [
        "demo-keep-epoch-2"
    ]


def test_an_old_primary_that_is_lost_as_a_standby_later_leaves_an_incident_of_its_own(started: World) -> None:
    primary = started.primary("keep")
    started.silent.add(primary)
    started.run_for(2)
    started.silent.discard(primary)
    started.crash(primary)
    started.run_for(30)
    started.kill(primary)
    started.run_for(30)
    assert set(started.incidents) == {"demo-keep-epoch-2", f"{primary}-lost"}


def test_the_loss_of_a_standby_is_no_failover() -> None:
    world = World(with_settings(mode="passiveStandby", maxRecovery="500ms")).run_for(30)
    world.kill(world.standby("keep"))
    world.kill(SINK)
    world.run_for(40)
    assert len(world.incidents) == 2
    assert "lastFailover" not in world.subjob("keep")
    assert "lastFailover" not in world.status["summary"]
    assert world.condition("RecoveryObjectiveMet")["reason"] == "NoFailoverYet"


def test_losses_and_take_overs_share_the_limit_and_none_comes_back(started: World) -> None:
    started.kill(started.primary("double"))
    started.run_for(30)
    for _ in range(22):
        started.kill(started.standby("keep"))
        started.run_for(25)
    assert len(started.incidents) == 20
    assert all(name.startswith("demo-keep-") for name in started.incidents)
    names = set(started.incidents)
    started.run_for(30)
    assert set(started.incidents) == names


# ---- sinks -----------------------------------------------------------------------------------------------


def test_a_lost_sink_leaves_an_incident_until_it_writes_again(started: World) -> None:
    uid = started.pods[SINK].uid
    started.kill(SINK)
    started.run_for(1)
    incident = only(started)
    assert incident.name == f"{SINK}-{uid[:8]}-lost"
    spec = {
        key: incident.spec.get(key) for key in ("subjob", "sink", "role", "mode", "class", "from", "epoch")
    }
    assert spec == {
        "subjob": "double",
        "sink": "out",
        "role": "sink",
        "mode": None,
        "class": "permanent",
        "from": SINK,
        "epoch": None,
    }
    assert "lost" not in incident.status, "its files died with its pod"
    assert not is_calm(started.observe(), ())
    started.run_for(5)
    assert "reprotected" in only(started).status


def test_a_sink_with_a_claim_goes_on_where_it_stopped() -> None:
    world = with_volume(persistentVolumeClaim={"claimName": "out"})
    world.kill(SINK)
    world.run_for(5)
    assert (only(world).status["lost"], only(world).status["duplicated"]) == (0, 0)


def test_a_sink_that_may_not_find_its_volume_again_claims_nothing() -> None:
    world = with_volume(hostPath={"path": "/data"})
    world.kill(SINK)
    world.run_for(5)
    assert "lost" not in only(world).status


def test_a_sink_that_is_started_again_in_its_pod_is_a_temporary_failure(started: World) -> None:
    started.crash(SINK)
    started.run_for(5)
    assert only(started).name.endswith("-restart-1")
    assert only(started).spec["class"] == "temporary"
    assert only(started).status["lost"] == 0
    assert "reprotected" in only(started).status


def test_a_sink_on_a_lost_node_is_reported_once(started: World) -> None:
    node = started.pods[SINK].node
    assert node is not None
    started.lose_node(node)
    started.run_for(60)
    (told,) = [i for i in started.incidents.values() if i.spec.get("sink")]
    assert told.spec["cause"] == f"its node {node} is not ready"
    assert "reprotected" in told.status


def test_two_losses_of_a_sink_are_two_incidents(started: World) -> None:
    for _ in range(2):
        started.kill(SINK)
        started.run_for(10)
    assert len(started.incidents) == 2


@pytest.mark.parametrize("cut", range(12))
def test_the_loss_of_a_sink_is_reported_once_wherever_the_plan_is_cut(started: World, cut: int) -> None:
    started.kill(SINK)
    started.tick()
    started.reconcile(cut=cut)
    started.run_for(10)
    assert len(started.incidents) == 1


# ---- what somebody wanted --------------------------------------------------------------------------------


def fewer() -> Any:
    subjobs = manifest()["spec"]["subjobs"]
    sinks = [{"name": "out", "input": "keep", "files": {"path": "out"}}]
    return job(subjobs=[subjobs[0]], sinks=sinks)


EDITS = {
    "settings": with_settings(mode="passiveStandby", ackInterval="80ms"),
    "resources": with_spark(driver={"memory": "2Gi"}),
    "the query": with_query("v > 3"),
    "no standby": with_modes("amnesia", "amnesia"),
    "fewer subjobs": fewer(),
    "another sink": job(sinks=[{"name": "out", "input": "double", "files": {"path": "elsewhere"}}]),
    "a sink less": job(sinks=[]),
}


def losses(world: World) -> list[str]:
    return [incident.name for incident in world.incidents.values() if incident.spec["role"] != "primary"]


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_is_no_failure(started: World, edit: str) -> None:
    started.edit(EDITS[edit]).run_for(120)
    assert started.incidents == {}
    assert "FailoverCompleted" not in started.reasons()
    assert started.entries is not None
    succeeded = {taken["from"] for taken in started.taken.values()}
    assert {
        key.removeprefix("retired.") for key in started.entries if key.startswith("retired.")
    } <= succeeded


def test_an_edit_that_stops_the_output_is_reported_as_a_change_with_its_pause(started: World) -> None:
    gone = started.primary("keep")
    started.edit(EDITS["the query"]).run_for(120)
    subjob = started.subjob("keep")
    change = subjob["lastChange"]
    assert (change["from"], change["to"], change["epoch"]) == (gone, started.primary("keep"), subjob["epoch"])
    assert "the query was changed" in change["cause"]
    assert (change["pauseSeconds"], change["lost"]) == (0.7, 0)
    assert "lastFailover" not in subjob
    assert started.condition("RecoveryObjectiveMet")["reason"] == "NoObjective"
    assert started.reasons().count("Changed") == sum("lastChange" in s for s in started.status["subjobs"])


def test_a_change_that_took_longer_than_a_recovery_may_is_no_missed_objective() -> None:
    world = World(with_settings(mode="passiveStandby", maxRecovery="500ms")).run_for(30)
    world.edit(with_query("v > 3")).run_for(120)
    assert world.subjob("keep")["lastChange"]["pauseSeconds"] == 0.7
    assert world.condition("RecoveryObjectiveMet")["status"] != "False"


def test_a_failure_after_an_edit_is_a_failure(started: World) -> None:
    started.edit(EDITS["the query"]).run_for(120)
    change = started.subjob("keep")["lastChange"]
    started.kill(started.primary("keep"))
    started.run_for(30)
    assert [i.spec["subjob"] for i in started.incidents.values()] == ["keep"]
    assert started.subjob("keep")["lastFailover"]["recoverySeconds"] == 0.7
    assert started.subjob("keep")["lastChange"] == change


@pytest.mark.parametrize("edit", ["resources", "another sink"])
@pytest.mark.parametrize("cut", range(8))
def test_an_edit_whose_plan_is_cut_is_no_failure(started: World, edit: str, cut: int) -> None:
    started.edit(EDITS[edit])
    for _ in range(3):
        started.tick()
        started.reconcile(cut=cut)
    started.run_for(90)
    assert losses(started) == []


def test_a_pod_that_was_to_go_and_stayed_can_fail(started: World) -> None:
    """The operator dies when it has written down what it removes, and the edit is taken back."""
    standby = started.standby("keep")
    started.edit(with_spark(driver={"memory": "2Gi"}))
    started.tick()
    plan = decide(started.observe())
    started.apply(plan[:1])
    assert started.entries is not None
    assert f"retired.{standby}" in started.entries
    started.edit(job()).run_for(5)
    assert f"retired.{standby}" not in started.entries
    started.kill(standby)
    started.run_for(5)
    assert losses(started) == [f"{standby}-lost"]


def test_a_new_certificate_is_no_failure() -> None:
    world = World(job(), safeguards=Safeguards(frozenset(), False, True, certificate_ms=300_000)).run_for(30)
    world.run_for(250)
    assert {pod.certificate for pod in world.pods.values()} == {2}
    assert losses(world) == []


def test_a_move_to_another_node_is_no_failure(started: World) -> None:
    taken = {pod.node for pod in started.live("keep")}
    free = next(node.name for node in started.nodes if node.name not in taken)
    started.orders["keep"] = Order(free)
    started.run_for(90)
    assert started.pods[started.primary("keep")].node == free
    assert started.incidents == {}


def test_an_instance_that_makes_room_for_itself_elsewhere_is_no_failure(started: World) -> None:
    started.nodes = [replace(node, schedulable=node.name == "n1") for node in started.nodes]
    started.kill(started.standby("keep"))
    started.run_for(60)
    started.incidents.clear()
    started.nodes = [replace(node, schedulable=True) for node in started.nodes]
    started.run_for(90)
    assert started.is_true("Protected")
    assert len({pod.node for pod in started.live("keep")}) == 2
    assert losses(started) == []


@pytest.mark.parametrize("which", ["keep", SINK])
@pytest.mark.parametrize("seen", [True, False])
def test_a_drained_node_is_no_failure(started: World, which: str, seen: bool) -> None:
    pod = started.pods[SINK if which == SINK else started.standby(which)]
    cordoned = Node(pod.node or "", schedulable=False, cordoned=True)
    started.nodes = [cordoned if node.name == pod.node else node for node in started.nodes]
    if seen:
        started.pods[pod.name] = replace(pod, terminating=True)
        started.run_for(2)
    started.kill(pod.name)
    started.run_for(60)
    assert [i for i in started.incidents.values() if i.spec["from"] == pod.name] == []


def test_an_evicted_pod_is_no_failure_wherever_it_was(started: World) -> None:
    for name in (SINK, started.standby("keep")):
        started.pods[name] = replace(started.pods[name], terminating=True, evicted=True)
        started.run_for(2)
        started.kill(name)
    started.run_for(60)
    assert started.incidents == {}


def test_a_standby_that_somebody_deletes_has_failed(started: World) -> None:
    name = started.standby("keep")
    started.pods[name] = replace(started.pods[name], terminating=True)
    started.run_for(2)
    started.kill(name)
    started.run_for(30)
    assert only(started).spec["cause"] == "it is being deleted"


def test_the_end_of_a_job_is_no_failure(started: World) -> None:
    started.finish_sinks()
    started.run_for(20)
    assert started.status["phase"] == "Completed"
    started.kill(SINK)
    started.run_for(5)
    assert started.incidents == {}


def test_a_sink_that_has_finished_before_the_others_may_go(started: World) -> None:
    sinks = [{"name": name, "input": "double", "files": {"path": name}} for name in ("out", "too")]
    world = World(job(sinks=sinks)).run_for(30)
    world.pods[SINK] = replace(world.pods[SINK], phase=Phase.SUCCEEDED)
    world.run_for(2)
    world.kill(SINK)
    world.run_for(5)
    assert world.incidents == {}


def test_a_job_that_is_deleted_leaves_nothing_more(started: World) -> None:
    started.kill(started.standby("keep"))
    assert decide(replace(started.observe(), deleted=True)) == ()
