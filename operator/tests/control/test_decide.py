"""The operator's decisions, on a model of the cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from understudy.control import intents as do
from understudy.control.decide import decide, is_calm
from understudy.control.intents import CreateInstance, DeletePod, Emit, PatchStatus
from understudy.control.observed import Lease, Node, Phase
from understudy.control.revision import digests_before_live_edits
from understudy.model.refusal import Refusal
from understudy.model.status import Role

from .jobs import job, with_modes, with_query, with_settings, with_spark
from .world import World

REFUSED = (
    Refusal(
        "UnknownInput", "spec.subjobs[0].inputs[0]", "spec.subjobs[0].inputs[0]: nothing is called tocks"
    ),
)


@pytest.fixture
def started() -> World:
    """A job that runs, every standby ready."""
    world = World(job()).run_for(30)
    assert world.is_true("Ready")
    assert world.is_true("Protected")
    return world


# ---- starting --------------------------------------------------------------------------------------------


def test_a_job_gets_a_primary_and_a_standby_on_different_nodes_for_each_subjob(started: World) -> None:
    for subjob in ("keep", "double"):
        nodes = [pod.node for pod in started.live(subjob)]
        assert len(nodes) == len(set(nodes)) == 2
    assert set(started.pods) == {
        "demo-keep-0",
        "demo-keep-1",
        "demo-double-0",
        "demo-double-1",
        "demo-sink-out",
    }


def test_primaries_and_sinks_are_made_before_standbys() -> None:
    world = World(job())
    world.reconcile()
    assert set(world.pods) == {"demo-keep-0", "demo-double-0", "demo-sink-out"}
    assert [pod.role for pod in world.live("keep")] == [Role.PRIMARY]
    world.run_for(6)
    assert "demo-keep-1" in world.pods, "a standby does not wait until its primary is ready"


def test_the_stream_starts_once_and_only_when_everything_is_ready() -> None:
    world = World(job()).run_for(9)
    assert world.entries is not None
    assert "startTime" not in world.entries
    assert world.condition("Ready")["reason"] == "Starting"
    world.run_for(20)
    start = world.entries["startTime"]
    world.kill("demo-keep-0")
    world.run_for(30)
    assert world.entries["startTime"] == start


def test_a_standby_that_finds_no_node_does_not_hold_up_the_stream_for_ever() -> None:
    world = World(job(), nodes=[Node("n1")])
    world.run_for(10)
    for name in ("demo-keep-1", "demo-double-1"):
        world.pods[name] = replace(world.pods[name], node=None, phase=Phase.PENDING)
    world._schedule = lambda pod, avoid: None  # type: ignore[method-assign]
    world.run_for(200)
    assert world.is_true("Ready")
    assert not world.is_true("Protected")


def test_a_standby_that_is_only_slow_is_waited_for() -> None:
    world = World(job())
    slow = world.ready
    world.ready = lambda pod: slow(pod) and not pod.name.endswith("-1")  # type: ignore[method-assign]
    world.run_for(300)
    assert not world.is_true("Ready")
    assert world.condition("Ready")["reason"] == "Starting"


def test_a_calm_job_is_left_alone(started: World) -> None:
    started.run_for(5)
    for _ in range(5):
        plan = decide(started.observe())
        assert all(isinstance(intent, PatchStatus) for intent in plan)
        assert is_calm(started.observe(), plan)


@pytest.mark.parametrize(("flowing", "fewest", "most"), [(True, 11, 13), (False, 1, 2)])
def test_figures_alone_are_written_from_time_to_time(
    started: World, flowing: bool, fewest: int, most: int
) -> None:
    started.flowing = flowing
    before = len([i for i in started.history if isinstance(i, PatchStatus)])
    started.run_for(120)
    written = len([i for i in started.history if isinstance(i, PatchStatus)]) - before
    assert fewest <= written <= most


@pytest.mark.parametrize(("jobs", "seconds"), [(1, 10), (50, 50), (1_000, 100)])
def test_the_more_jobs_there_are_the_longer_figures_stand(started: World, jobs: int, seconds: int) -> None:
    alone = started.observe
    started.observe = lambda: replace(alone(), jobs=jobs)  # type: ignore[method-assign]
    started.flowing = True
    before = len([i for i in started.history if isinstance(i, PatchStatus)])
    started.run_for(6 * seconds)
    written = len([i for i in started.history if isinstance(i, PatchStatus)]) - before
    assert 5 <= written <= 7


def test_amnesia_needs_no_standby() -> None:
    world = World(with_modes("amnesia", "amnesia")).run_for(20)
    assert set(world.pods) == {"demo-keep-0", "demo-double-0", "demo-sink-out"}
    assert world.is_true("Ready")
    assert world.condition("Protected")["reason"] == "NoStandbyAsked"
    assert world.status["summary"]["protected"] == "0/0"
    assert world.status["summary"]["guarantee"] == "gap"


def test_amnesia_with_a_spare_has_two_instances_on_two_nodes_and_says_what_a_take_over_costs() -> None:
    world = World(with_settings(mode="amnesia", spare=True)).run_for(30)
    nodes = {pod.node for pod in world.live("keep")}
    assert len(world.live("keep")) == len(nodes) == 2
    assert world.is_true("Protected")
    assert world.condition("Protected")["message"].endswith("; keep: a take-over costs tuples")
    assert world.status["summary"]["protected"] == "2/2"
    assert world.status["summary"]["guarantee"] == "gap"
    former, spare = world.primary("keep"), world.standby("keep")
    world.kill(spare)
    world.run_for(2)
    assert world.condition("Protected")["reason"] == "StandbyMissing"
    world.run_for(30)
    spare = world.standby("keep")
    world.kill(former)
    world.run_for(30)
    assert world.primary("keep") == spare
    assert world.is_true("Protected"), "it has a new spare"


def test_a_spare_is_made_and_removed_beside_the_running_primary() -> None:
    world = World(with_settings(mode="amnesia")).run_for(30)
    primary = world.primary("keep")
    for spare, count in ((True, 2), (False, 1), (True, 2)):
        world.edit(with_settings(mode="amnesia", spare=spare)).run_for(30)
        assert len(world.live("keep")) == count
        assert world.primary("keep") == primary
        assert world.told[primary].spare is spare
        assert world.is_true("Protected")


def test_the_summary_says_what_needs_a_look_and_nothing_when_nothing_does(started: World) -> None:
    assert started.status["summary"]["attention"] == ""
    assert "lastRecovery" not in started.status["summary"]
    started.kill(started.standby("keep"))
    started.run_for(2)
    assert "keep" in started.status["summary"]["attention"]
    started.run_for(30)
    started.kill(started.primary("keep"))
    started.run_for(30)
    assert started.status["summary"]["attention"] == ""
    assert started.status["summary"]["lastRecovery"] == "0.7s"


# ---- losses ----------------------------------------------------------------------------------------------


def test_a_killed_primary_is_replaced_by_a_new_standby_on_another_node_than_the_survivors(
    started: World,
) -> None:
    survivor = started.standby("keep")
    started.kill(started.primary("keep"))
    started.run_for(30)
    assert started.primary("keep") == survivor
    assert started.standby("keep") == "demo-keep-2"
    assert started.pods["demo-keep-2"].node != started.pods[survivor].node
    assert started.pods[survivor].role is Role.PRIMARY, "labels follow the Lease"
    assert started.is_true("Protected")
    kept = started.subjob("keep")
    assert (kept["currentPrimary"], kept["epoch"]) == (survivor, 2)
    assert kept["lastFailover"]["from"] == "demo-keep-0"


def test_the_take_over_has_the_machine_to_itself_before_a_replacement_is_made(started: World) -> None:
    started.kill(started.primary("keep"))
    plan = decide(started.observe())
    assert not [intent for intent in plan if isinstance(intent, CreateInstance)]
    assert started.pods[started.standby("keep")]
    started.run_for(2)
    assert "demo-keep-2" in started.pods


def test_ready_stays_true_while_a_standby_is_replaced(started: World) -> None:
    started.kill(started.standby("keep"))
    for _ in range(20):
        started.run_for(1)
        assert started.is_true("Ready")
    assert "StandbyLost" in started.reasons()
    assert "StandbyReplaced" in started.reasons()


def test_both_instances_lost_at_once_are_both_replaced(started: World) -> None:
    for pod in started.live("keep"):
        started.kill(pod.name)
    started.run_for(2)
    assert not started.is_true("Ready")
    assert started.status["phase"] == "Recovering"
    started.run_for(40)
    assert [pod.name for pod in started.live("keep")] == ["demo-keep-2", "demo-keep-3"]
    assert started.is_true("Ready")
    assert started.is_true("Protected")


def test_numbers_are_never_used_twice(started: World) -> None:
    for _ in range(5):
        started.kill(started.primary("keep"))
        started.run_for(30)
    assert len(started.used) == len(set(started.used))
    assert started.primary("keep") == "demo-keep-5"


@pytest.mark.parametrize("victim", ["primary", "standby"])
def test_a_lost_node_is_not_waited_for(started: World, victim: str) -> None:
    name = started.primary("keep") if victim == "primary" else started.standby("keep")
    node = started.pods[name].node
    assert node is not None
    started.lose_node(node)
    started.run_for(40)
    assert started.is_true("Ready")
    assert started.is_true("Protected")
    assert all(pod.node != node for pod in started.live("keep"))


def test_a_sink_on_a_lost_node_is_made_again_under_its_name(started: World) -> None:
    node = started.pods["demo-sink-out"].node
    assert node is not None
    started.lose_node(node)
    started.run_for(40)
    assert started.pods["demo-sink-out"].node != node
    assert started.is_true("Ready")


def test_a_pod_that_stops_answering_is_replaced_and_its_node_avoided(started: World) -> None:
    name = started.standby("keep")
    node = started.pods[name].node
    started.silent.add(name)
    started.run_for(20)
    assert name in started.pods, "silence proves nothing for a while"
    started.run_for(30)
    assert name not in started.pods
    made = next(i for i in started.history if isinstance(i, CreateInstance) and i.name == "demo-keep-2")
    assert made.avoid == {node, started.pods[started.primary("keep")].node}


def test_an_instance_that_crashes_again_and_again_is_tried_on_another_node(started: World) -> None:
    name = started.standby("keep")
    node = started.pods[name].node
    crashing = replace(started.pods[name], restarts=5, trouble="CrashLoopBackOff: no space left on device")
    started.pods[name] = crashing
    started.silent.add(name)
    started.run_for(20)
    assert name not in started.pods
    assert started.pods[started.standby("keep")].node not in (
        node,
        started.pods[started.primary("keep")].node,
    )


def test_a_crash_or_two_are_the_kubelets_business(started: World) -> None:
    name = started.standby("keep")
    started.pods[name] = replace(started.pods[name], restarts=2, trouble="CrashLoopBackOff: out of memory")
    started.run_for(20)
    assert name in started.pods


def test_an_image_that_one_node_cannot_pull_is_tried_on_another(started: World) -> None:
    started.kill(started.standby("keep"))
    started.run_for(4)
    name = started.standby("keep")
    stuck = replace(started.pods[name], phase=Phase.PENDING, trouble="ImagePullBackOff: not found")
    for _ in range(130):
        if name in started.pods:
            started.pods[name] = stuck
            started.pages.pop(name, None)
        started.run_for(1)
    assert name not in started.pods
    assert started.is_true("Protected")


def test_two_nodes_one_lost_then_primary_and_standby_share_the_other() -> None:
    world = World(job(), nodes=[Node("n1"), Node("n2")]).run_for(30)
    world.lose_node("n2")
    world.run_for(60)
    assert world.is_true("Protected")
    assert "share a node" in world.condition("Protected")["message"]


def test_no_room_on_another_node_makes_an_instance_share_its_peers() -> None:
    world = World(job(), nodes=[Node("n1"), Node("n2")])
    plain = world._schedule
    world._schedule = lambda pod, avoid: plain(pod, avoid | {"n2"})  # type: ignore[method-assign]
    world.run_for(60)
    assert world.is_true("Protected")
    assert {pod.node for pod in world.live("keep")} == {"n1"}


def test_pods_that_fail_at_once_do_not_pile_up(started: World) -> None:
    started.kill(started.standby("keep"))
    for _ in range(60):
        started.run_for(1)
        for pod in started.live("keep"):
            if pod.name != started.primary("keep"):
                started.pods[pod.name] = replace(pod, phase=Phase.FAILED)
    assert len(started.live("keep")) <= 3
    assert len(started.used) <= 4 + 60 // 3 + 1


def test_a_surplus_instance_is_removed_but_never_the_primary_or_its_secondary(started: World) -> None:
    primary, secondary = started.primary("keep"), started.standby("keep")
    started.pods["demo-keep-9"] = replace(
        started.pods[secondary], name="demo-keep-9", created_ms=started.now_ms
    )
    started.run_for(10)
    assert {pod.name for pod in started.live("keep")} == {primary, secondary}


def test_a_deleted_lease_counts_on_from_the_epoch_that_was_reached(started: World) -> None:
    started.kill(started.primary("keep"))
    started.run_for(30)
    holder = started.primary("keep")
    del started.leases["demo-keep"]
    started.reconcile()
    assert started.leases["demo-keep"] == Lease("demo-keep", "demo", "keep", holder, 2)


# ---- edits -----------------------------------------------------------------------------------------------


def test_a_refused_manifest_starts_nothing_and_says_why() -> None:
    world = World(REFUSED).run_for(5)
    assert not world.pods
    assert world.status["phase"] == "Rejected"
    assert world.condition("Accepted")["status"] == "False"
    assert world.condition("Accepted")["reason"] == "UnknownInput"
    assert "nothing is called tocks" in world.condition("Accepted")["message"]
    assert world.reasons() == ["Rejected"]


def test_a_refused_edit_leaves_the_job_as_it_was(started: World) -> None:
    before = dict(started.pods)
    started.edit(REFUSED).run_for(20)
    assert started.pods == before
    assert started.is_true("Ready")
    assert not started.is_true("Accepted")
    assert "the job goes on as it was" in started.condition("Accepted")["message"]
    started.kill(started.primary("keep"))
    started.run_for(30)
    assert started.is_true("Protected"), "it is still looked after"


@pytest.mark.parametrize("ha", [{"ackInterval": "80ms"}, {"mode": "savepoint"}, {"mode": "activeStandby"}])
def test_how_a_subjob_is_kept_alive_is_changed_in_the_running_instances(
    started: World, ha: dict[str, str]
) -> None:
    before = {pod.name for pod in started.live("keep")}
    started.edit(with_settings(**ha)).run_for(20)
    assert {pod.name for pod in started.live("keep")} == before
    assert {started.told[name].digest for name in before} == {with_settings(**ha).subjobs[0].ha.digest}
    told = [intent for intent in started.history if isinstance(intent, do.ChangeInstance)]
    assert {intent.pod for intent in told} == before, "and nobody else"
    assert started.is_true("Protected")


@pytest.mark.parametrize(
    ("ha", "role"),
    [
        ({"mode": "passiveStandby"}, Role.SECONDARY),
        ({"mode": "activeStandby"}, Role.SECONDARY),
        ({"mode": "replicaBackup"}, Role.REPLICA),
        ({"mode": "upstreamBackup"}, Role.SPARE),
        ({"mode": "savepoint"}, Role.SPARE),
        ({"mode": "amnesia", "spare": True}, Role.SPARE),
    ],
)
def test_label_and_status_name_the_role_of_the_standby_in_its_mode(
    started: World, ha: dict[str, Any], role: Role
) -> None:
    started.edit(with_settings(**ha)).run_for(20)
    primary, standby = started.primary("keep"), started.standby("keep")
    told = {replica["pod"]: replica["role"] for replica in started.subjob("keep")["replicas"]}
    assert told == {primary: "primary", standby: str(role)}
    assert {pod.name: pod.role for pod in started.live("keep")} == {primary: Role.PRIMARY, standby: role}


def test_a_label_of_an_earlier_version_is_put_right(started: World) -> None:
    standby = started.standby("keep")
    started.pods[standby] = replace(started.pods[standby], role=None)
    started.run_for(5)
    assert started.pods[standby].role is Role.SECONDARY


def test_a_mode_without_a_standby_and_back_needs_no_new_primary(started: World) -> None:
    primary = started.primary("keep")
    started.edit(with_settings(mode="amnesia")).run_for(20)
    assert [pod.name for pod in started.live("keep")] == [primary]
    started.edit(with_settings(mode="upstreamBackup")).run_for(30)
    assert len(started.live("keep")) == 2
    assert started.primary("keep") == primary


def test_a_pod_of_an_older_operator_is_replaced_when_its_settings_are_edited_and_not_before(
    started: World,
) -> None:
    first = job().subjobs[0]
    for pod in started.live("keep"):
        old = digests_before_live_edits(job(), first, pod.certificate)
        started.pods[pod.name] = replace(pod, digests=old)
    before = {pod.name for pod in started.live("keep")}
    assert {pod.name for pod in started.run_for(10).live("keep")} == before
    started.edit(with_settings(ackInterval="80ms")).run_for(60)
    assert not before & {pod.name for pod in started.live("keep")}


def test_changed_resources_reach_standby_and_primary_one_after_the_other(started: World) -> None:
    old = started.primary("keep")
    started.edit(with_spark(driver={"memory": "2Gi"}))
    for _ in range(60):
        started.run_for(1)
        assert len(started.live("keep")) >= 1
    assert old not in started.pods
    assert started.is_true("Protected")
    assert {pod.name for pod in started.live("double")} == {"demo-double-0", "demo-double-1"}
    digests = {pod.digests for pod in started.live("keep")}
    assert len(digests) == 1


def test_a_new_consumer_is_made_known_to_its_producer_without_a_gap(started: World) -> None:
    sinks = [{"name": name, "input": "double", "files": {"path": name}} for name in ("out", "copy")]
    started.edit(job(sinks=sinks))
    for _ in range(60):
        started.run_for(1)
        assert started.live("double")
    assert "demo-sink-copy" in started.pods
    assert "demo-double-0" not in started.pods
    assert {pod.name for pod in started.live("keep")} == {"demo-keep-0", "demo-keep-1"}
    assert started.is_true("Protected")


def test_a_changed_query_never_hands_old_state_to_the_new_query(started: World) -> None:
    started.edit(with_query("v > 3"))
    for _ in range(40):
        started.run_for(1)
        assert len({pod.digests.query for pod in started.live("keep")}) <= 1
    assert {pod.name for pod in started.live("keep")} == {"demo-keep-2", "demo-keep-3"}
    assert {pod.name for pod in started.live("double")} == {"demo-double-0", "demo-double-1"}


def test_what_an_edit_takes_out_of_the_job_goes_and_its_manifest_too(started: World) -> None:
    (first, _), *_ = [job().subjobs]
    shorter = job(
        subjobs=[first.model_dump(mode="json", by_alias=True, exclude_unset=True)],
        sinks=[{"name": "out", "input": "keep", "files": {"path": "out"}}],
    )
    started.edit(shorter).run_for(60)
    assert set(started.leases) == {"demo-keep"}
    assert started.services == {"demo-keep"}
    assert not started.live("double")
    assert len(started.jobs) == 1
    assert started.is_true("Protected")


# ---- the end ---------------------------------------------------------------------------------------------


def test_a_job_completes_when_every_sink_has_ended(started: World) -> None:
    started.finish_sinks()
    started.run_for(5)
    assert started.status["phase"] == "Completed"
    assert set(started.pods) == {"demo-sink-out"}, "the sink's pod stays, its log can be read"
    assert started.subjob("keep")["currentPrimary"] == "demo-keep-0"
    assert started.reasons().count("Completed") == 1
    started.kill("demo-sink-out")
    started.run_for(20)
    assert not started.pods, "a job that has completed is not run again"


def test_a_deleted_job_is_left_to_its_owner_references(started: World) -> None:
    assert decide(replace(started.observe(), deleted=True)) == ()


# ---- incidents and events --------------------------------------------------------------------------------


def test_every_take_over_leaves_one_incident_with_its_steps(started: World) -> None:
    started.kill(started.primary("keep"))
    started.run_for(30)
    (incident,) = started.incidents.values()
    assert incident.name == "demo-keep-epoch-2"
    assert incident.spec["class"] == "permanent"
    assert incident.status["recoverySeconds"] == 0.7, (
        "since the last sign of life, 0.3 s before the detection"
    )
    steps = ["detected", "fenced", "promoted", "restored", "firstOutput", "caughtUp", "reprotected"]
    assert [step for step in incident.status if step in steps] == steps


def test_the_newest_twenty_incidents_are_kept(started: World) -> None:
    for _ in range(22):
        started.kill(started.primary("keep"))
        started.run_for(20)
    assert len(started.incidents) == 20
    assert "demo-keep-epoch-23" in started.incidents
    assert "demo-keep-epoch-2" not in started.incidents


def test_events_tell_the_story_of_a_failover_once(started: World) -> None:
    assert [r for r in started.reasons() if r in ("Accepted", "Started", "Protected")] == [
        "Accepted",
        "Protected",
        "Started",
    ]
    told = len(started.reasons())
    started.kill(started.primary("keep"))
    started.run_for(40)
    story = started.reasons()[told:]
    for reason in ("PrimaryLost", "FailoverCompleted", "InstanceCreated", "StandbyReplaced"):
        assert story.count(reason) == 1, story


def test_every_intent_says_why(started: World) -> None:
    started.kill(started.primary("keep"))
    started.run_for(30)
    assert all(intent.why for intent in started.history)


def test_the_recovery_objective_is_judged_by_the_newest_take_over() -> None:
    world = World(with_settings(mode="passiveStandby", maxRecovery="500ms")).run_for(30)
    assert world.condition("RecoveryObjectiveMet")["reason"] == "NoFailoverYet"
    world.kill(world.primary("keep"))
    world.run_for(30)
    assert world.condition("RecoveryObjectiveMet")["status"] == "False"
    assert world.condition("RecoveryObjectiveMet")["message"] == "keep took 700 ms of 500 ms"


def test_a_sink_that_cannot_start_is_made_again(started: World) -> None:
    sink = started.pods["demo-sink-out"]
    started.pods[sink.name] = replace(sink, phase=Phase.PENDING, trouble="ImagePullBackOff: not found")
    started.run_for(60)
    assert started.pods[sink.name].trouble
    started.run_for(90)
    assert started.pods[sink.name].trouble is None
    assert started.is_true("Ready")


def test_trouble_in_a_pod_shows_as_degraded(started: World) -> None:
    name = started.standby("keep")
    started.pods[name] = replace(started.pods[name], trouble="ImagePullBackOff: no such image")
    started.run_for(2)
    assert started.is_true("Degraded")
    assert started.condition("Degraded")["message"] == f"{name}: ImagePullBackOff: no such image"


def test_a_full_queue_shows_as_degraded_and_names_the_consumer_that_takes_nothing(started: World) -> None:
    started.full.add("double")
    started.run_for(2)
    assert started.is_true("Degraded")
    assert started.condition("Degraded")["reason"] == "QueueFull"
    assert "double" in started.condition("Degraded")["message"]
    assert "out has not released" in started.condition("Degraded")["message"]
    started.full.clear()
    started.run_for(2)
    assert not started.is_true("Degraded")


def emitted(plan: Any) -> list[str]:
    return [str(i.reason) for i in plan if isinstance(i, Emit)]


def test_nothing_is_deleted_that_has_not_been_explained(started: World) -> None:
    started.pods[started.standby("keep")] = replace(started.pods[started.standby("keep")], phase=Phase.FAILED)
    plan = decide(started.observe())
    assert [i.name for i in plan if isinstance(i, DeletePod)] == [started.standby("keep")]
    assert "InstanceRemoved" in emitted(plan)


def test_a_sink_that_is_being_removed_has_not_written_its_whole_stream(started: World) -> None:
    """It ends with success when it is asked to stop in time, as an edit or an eviction does."""
    sink = started.pods["demo-sink-out"]
    started.pods[sink.name] = replace(sink, phase=Phase.SUCCEEDED, terminating=True)
    started.reconcile()
    assert started.status["phase"] != "Completed"
    assert {pod.part for pod in started.pods.values()} == {"keep", "double", "out"}
    assert not started.is_true("Ready")


def test_a_recovery_that_may_take_longer_than_allowed_is_said_where_the_job_is_accepted() -> None:
    assert World(job()).run_for(1).condition("Accepted")["message"] == "the manifest was accepted"
    world = World(with_settings(mode="passiveStandby", maxRecovery="300ms")).run_for(1)
    assert world.condition("Accepted")["status"] == "True"
    assert "keep: passiveStandby is predicted to recover in" in world.condition("Accepted")["message"]
