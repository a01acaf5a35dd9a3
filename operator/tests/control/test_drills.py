"""Drills on a model of the cluster: what is hurt, what is refused, and how the result is judged."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from understudy.control.drills import (
    CutOff,
    Freeze,
    Hang,
    Kill,
    SeenDrill,
    Step,
    Tell,
    WriteDown,
    decide_drill,
)
from understudy.control.observed import IncidentSeen, Pod
from understudy.control.times import iso_ms, millis
from understudy.model.kinds import DrillPhase, FailoverDrillSpec, FailoverDrillStatus

from .jobs import job, with_modes
from .world import World


@dataclass
class WarmUp:
    """A drill, the world that it hurts, and an operator that may forget everything between two looks."""

    world: World
    spec: FailoverDrillSpec
    status: FailoverDrillStatus = field(default_factory=FailoverDrillStatus)
    certified: bool = True
    frozen: list[str] = field(default_factory=list)
    killed: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    engine_timeout_ms: int = 0
    hung: dict[str, float] = field(default_factory=dict)
    """Pod → for how many seconds its JVM was stopped."""
    created_ms: int = 0

    def __post_init__(self) -> None:
        self.created_ms = self.world.now_ms

    def look(self, cut: int | None = None) -> tuple[Step, ...]:
        plan = decide_drill(self.seen())
        for step in plan[:cut]:
            self._carry_out(step)
        return plan

    def seen(self) -> SeenDrill:
        world = self.world
        exists = world.name == self.spec.job
        return SeenDrill(
            now_ms=world.now_ms,
            name="weekly",
            created_ms=self.created_ms,
            spec=self.spec,
            status=self.status,
            job=world.status if exists else None,
            pods=tuple(world.pods.values()) if exists else (),
            incidents=tuple(world.incidents.values()) if exists else (),
            certified=self.certified,
            engine_timeout_ms=self.engine_timeout_ms,
        )

    def _carry_out(self, step: Step) -> None:
        match step:
            case WriteDown(status):
                self.status = FailoverDrillStatus.model_validate(
                    status.model_dump(mode="json", by_alias=True)
                )
            case Kill(pods):
                self._kill(pods)
            case Freeze(pod, _) | CutOff(pod, _):
                self.frozen.append(pod.name)
                self.world.silent.add(pod.name)
            case Hang(pod, seconds):
                self.hung[pod.name] = seconds
            case Tell():
                self.told.append(str(step.reason))

    def _kill(self, pods: tuple[Pod, ...]) -> None:
        for pod in pods:
            self.killed.append(pod.name)
            if pod.name in self.world.pods:
                self.world.kill(pod.name)

    def run_for(self, seconds: int) -> WarmUp:
        for _ in range(seconds):
            self.look()
            self.world.run_for(1)
        return self


def spec(**fields: Any) -> FailoverDrillSpec:
    return FailoverDrillSpec.model_validate({"job": "demo", "subjob": "keep", "fault": "podKill", **fields})


@pytest.fixture
def world() -> World:
    found = World(job()).run_for(30)
    assert found.is_true("Protected")
    return found


def test_a_kill_that_is_taken_over_from_in_time_passes_with_its_figures(world: World) -> None:
    primary = world.primary("keep")
    drill = WarmUp(world, spec(expect={"recovery": "10s"})).run_for(10)
    assert drill.status.phase is DrillPhase.PASSED, drill.status
    assert drill.killed == [primary] == [drill.status.target]
    assert drill.status.incident == "demo-keep-epoch-2"
    assert drill.status.measured is not None
    assert drill.status.measured.lost == drill.status.measured.duplicated == 0
    assert 0 < float(drill.status.measured.recovery_seconds or 0) < 10
    assert drill.told == ["DrillStarted", "DrillPassed"]
    assert drill.status.passed == 1


def test_a_lost_standby_or_sink_is_not_taken_for_the_take_over(world: World) -> None:
    world.kill(world.standby("keep"))
    world.kill("demo-sink-out")
    world.run_for(40)
    assert len(world.incidents) == 2
    drill = WarmUp(world, spec()).run_for(10)
    assert drill.status.phase is DrillPhase.PASSED, drill.status
    assert drill.status.incident == "demo-keep-epoch-2"


@pytest.mark.parametrize(
    ("expect", "word"), [({"recovery": "1ms"}, "recovery"), ({"recovery": "10s"}, "5 tuples lost")]
)
def test_a_drill_below_the_expectation_fails_and_says_by_how_much(
    world: World, expect: dict[str, Any], word: str
) -> None:
    drill = WarmUp(world, spec(expect=expect))
    for _ in range(12):
        drill.look()
        world.tick()
        for taken in world.taken.values():
            taken["lost"] = 5 if "5 tuples" in word else 0
        world.tick(0)
        world.reconcile()
    assert drill.status.phase is DrillPhase.FAILED
    assert word in drill.status.message


def test_a_job_that_is_not_protected_is_not_hurt_unless_forced(world: World) -> None:
    world.kill(world.standby("keep"))
    world.run_for(2)
    drill = WarmUp(world, spec()).run_for(5)
    assert drill.status.phase is DrillPhase.FAILED
    assert drill.status.message.startswith(
        "refused: demo is not Protected: no standby is ready to take over keep"
    )
    assert not drill.killed
    forced = WarmUp(world, spec(force=True)).run_for(4)
    assert forced.killed


@pytest.mark.parametrize("fault", ["podKill", "nodeLoss"])
def test_a_job_is_not_hurt_while_another_of_its_subjobs_is_not_protected(world: World, fault: str) -> None:
    world.kill(world.standby("double"))
    world.run_for(2)
    assert world.subjob("keep")["protected"]
    drill = WarmUp(world, spec(fault=fault)).run_for(5)
    assert "no standby is ready to take over double" in drill.status.message
    assert not drill.killed
    forced = WarmUp(world, spec(fault=fault, force=True)).run_for(4)
    assert forced.killed


def test_a_subjob_that_asks_for_no_standby_is_not_hurt_unless_forced() -> None:
    world = World(with_modes("amnesia", "passiveStandby")).run_for(30)
    assert world.is_true("Protected")
    drill = WarmUp(world, spec()).run_for(5)
    assert "refused: no standby is ready to take over keep" in drill.status.message
    assert not drill.killed
    beside = WarmUp(world, spec(subjob="double")).run_for(12)
    assert beside.status.phase is DrillPhase.PASSED, beside.status


def test_a_node_is_not_lost_while_it_has_every_instance_of_a_subjob() -> None:
    """Its own, or those of another that asks for no standby."""
    world = World(with_modes("passiveStandby", "amnesia")).run_for(30)
    node = world.pods[world.primary("keep")].node
    for together in ("double", "keep"):
        moved = {
            name: replace(p, node=node if p.part == together else p.node) for name, p in world.pods.items()
        }
        drill = WarmUp(world, spec(fault="nodeLoss"))
        drill.look()
        refused, _ = decide_drill(replace(drill.seen(), pods=tuple(moved.values())))
        assert isinstance(refused, WriteDown)
        assert f"{together} is on {node}" in refused.status.message


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"job": "nobody"}, "no StreamJob"),
        ({"subjob": "nothing"}, "no subjob"),
        ({"fault": "overload"}, "does not watch for overloads"),
    ],
)
def test_a_drill_that_cannot_be_carried_out_is_refused_with_a_reason(
    world: World, changes: dict[str, Any], word: str
) -> None:
    drill = WarmUp(world, spec(**changes)).run_for(3)
    assert drill.status.phase is DrillPhase.FAILED
    assert word in drill.status.message
    assert not drill.killed


@pytest.mark.parametrize("fault", ["processStop", "partition"])
def test_a_process_that_stops_or_is_cut_off_is_taken_over_from(world: World, fault: str) -> None:
    drill = WarmUp(world, spec(fault=fault)).run_for(12)
    assert drill.frozen == [drill.status.target]
    assert drill.status.phase is DrillPhase.PASSED, drill.status
    plain = WarmUp(World(job()).run_for(30), spec(fault=fault), certified=False).run_for(3)
    assert "certificates" in plain.status.message


def test_an_earlier_take_over_that_the_status_does_not_show_yet_is_not_taken_for_the_drills(
    world: World,
) -> None:
    drill = WarmUp(world, spec())
    drill.look()
    stale = world.status
    world.kill(world.primary("keep"))
    world.run_for(5)
    behind = replace(drill.seen(), job=stale)
    assert len(behind.incidents) == 1
    assert decide_drill(behind) == ()
    world.run_for(60)
    drill.run_for(15)
    assert drill.status.phase is DrillPhase.PASSED, drill.status
    assert drill.status.epoch == 2


def test_a_drill_starts_again_if_its_primary_is_succeeded_before_the_fault(world: World) -> None:
    drill = WarmUp(world, spec())
    drill.look()
    drill.look()
    incident = IncidentSeen("demo-keep-epoch-2", 0, {"subjob": "keep", "epoch": 2}, {})
    (again,) = decide_drill(replace(drill.seen(), incidents=(incident,)))
    assert isinstance(again, WriteDown)
    assert again.status.phase is DrillPhase.PENDING
    assert drill.killed == []


def test_a_fault_that_a_take_over_turned_into_one_of_a_standby_is_made_again(world: World) -> None:
    """The take-over was not known when the fault was made, so it hit a standby."""
    drill = WarmUp(world, spec(fault="partition")).run_for(12)
    (told,) = drill.seen().incidents
    hurt = drill.status.model_copy(update={"phase": DrillPhase.RUNNING})
    early = replace(told, status={**told.status, "detected": iso_ms((millis(hurt.made_at) or 0) - 500)})
    (again,) = decide_drill(replace(drill.seen(), status=hurt, incidents=(early,)))
    assert isinstance(again, WriteDown)
    assert again.status.phase is DrillPhase.PENDING
    assert again.status.made_at is None
    assert not world.is_true("Protected")
    waiting = replace(drill.seen(), status=again.status)
    assert decide_drill(waiting) == ()
    refused, _ = decide_drill(replace(waiting, now_ms=waiting.now_ms + 120_000))
    assert isinstance(refused, WriteDown)
    assert "refused: demo is not Protected" in refused.status.message


def test_a_fault_that_cannot_be_made_ends_the_drill(world: World) -> None:
    drill = WarmUp(world, spec(fault="partition"))
    drill.look()
    drill.look()
    for _ in range(130):
        drill.look(cut=0)
        world.tick()
    drill.look()
    assert drill.frozen == []
    assert drill.status.phase is DrillPhase.FAILED
    assert "could not be made" in drill.status.message


def test_a_take_over_that_another_one_replaced_is_not_waited_for(world: World) -> None:
    drill = WarmUp(world, spec()).run_for(12)
    assert drill.status.phase is DrillPhase.PASSED, drill.status
    short = IncidentSeen("demo-keep-epoch-2", 0, {"subjob": "keep", "epoch": 2}, {})
    (whole,) = drill.seen().incidents
    later = replace(whole, name="demo-keep-epoch-3", spec={**whole.spec, "epoch": 3})
    status = drill.status.model_copy(update={"phase": DrillPhase.RUNNING})
    ended, _ = decide_drill(replace(drill.seen(), status=status, incidents=(short, later)))
    assert isinstance(ended, WriteDown)
    assert ended.status.incident == "demo-keep-epoch-3"


@pytest.mark.parametrize(("timeout_ms", "seconds"), [(0, 60), (3_000, 60), (30_001, 61), (200_000, 400)])
def test_a_hung_engine_hangs_for_two_engine_timeouts_and_a_minute_at_the_least(
    world: World, timeout_ms: int, seconds: int
) -> None:
    primary = world.primary("keep")
    drill = WarmUp(world, spec(fault="engineHang"), engine_timeout_ms=timeout_ms).run_for(5)
    assert drill.hung == {primary: seconds}
    assert drill.status.lasts_seconds == seconds
    assert not drill.killed
    drill.engine_timeout_ms = 0  # a JVM that hangs says nothing more
    drill.run_for(seconds - 20)  # whose standby takes over after the engine timeout
    assert drill.status.phase == "Running"
    world.kill(primary)
    drill.run_for(12)
    assert drill.status.phase is DrillPhase.PASSED, drill.status
    assert (drill.status.target, drill.status.incident) == (primary, "demo-keep-epoch-2")


def test_a_hung_engine_that_nobody_takes_over_from_fails_the_drill_in_the_end(world: World) -> None:
    drill = WarmUp(world, spec(fault="engineHang"), engine_timeout_ms=200_000).run_for(459)
    assert drill.status.phase == "Running"
    drill.run_for(4)
    assert drill.status.phase is DrillPhase.FAILED
    assert "no new output within 460 s" in drill.status.message


def test_a_hang_needs_a_pod_that_takes_orders(world: World) -> None:
    drill = WarmUp(world, spec(fault="engineHang"), certified=False).run_for(3)
    assert drill.status.phase is DrillPhase.FAILED
    assert not drill.hung


def test_a_lost_node_takes_all_pods_of_the_job_with_it(world: World) -> None:
    node = world.pods[world.primary("keep")].node
    there = {pod.name for pod in world.pods.values() if pod.node == node}
    drill = WarmUp(world, spec(fault="nodeLoss")).run_for(4)
    assert set(drill.killed) == there


def test_a_drill_waits_until_its_time(world: World) -> None:
    later = WarmUp(world, spec(at="2027-01-15T08:02:00Z"))
    later.run_for(3)
    assert later.status.phase == "Pending"
    world.now_ms = millis("2027-01-15T08:02:00Z") or 0
    world.run_for(2)
    later.run_for(12)
    assert later.status.phase is DrillPhase.PASSED, later.status


def test_without_a_take_over_it_fails_in_the_end(world: World) -> None:
    drill = WarmUp(world, spec())
    drill.look()
    drill.look()
    drill._kill = lambda pods: None  # type: ignore[method-assign]
    drill.run_for(130)
    assert drill.status.phase is DrillPhase.FAILED
    assert "no new output" in drill.status.message


@pytest.mark.parametrize("cut", [0, 1, 2])
@pytest.mark.parametrize("look", [0, 1, 2, 3])
def test_an_operator_that_dies_at_any_step_hurts_nobody_twice(world: World, look: int, cut: int) -> None:
    primary = world.primary("keep")
    drill = WarmUp(world, spec())
    for _ in range(look):
        drill.look()
    drill.look(cut)
    drill.run_for(15)
    assert drill.status.phase is DrillPhase.PASSED, drill.status
    assert set(drill.killed) == {primary}


def test_a_schedule_runs_it_again_and_again_and_counts(world: World) -> None:
    world.now_ms = millis("2027-01-15T08:00:30Z") or 0
    world.run_for(3)
    drill = WarmUp(world, spec(schedule="*/2 * * * *"))
    drill.run_for(60)
    assert drill.status.phase is DrillPhase.PENDING
    drill.run_for(240)
    assert (drill.status.passed, drill.status.failed) == (2, 0)
    assert len(drill.killed) == 2


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"schedule": "every day"}, "no cron line"),
        ({"schedule": "* * * * *", "timeZone": "Europe/Bern"}, "no time zone 'Europe/Bern'"),
    ],
)
def test_an_invalid_schedule_is_refused_once(world: World, wrong: dict[str, str], why: str) -> None:
    drill = WarmUp(world, spec(**wrong)).run_for(20)
    assert why in drill.status.message
    assert drill.status.failed == 1


def test_a_schedule_goes_by_its_time_zone(world: World) -> None:
    world.now_ms = millis("2027-01-15T08:58:30Z") or 0
    world.run_for(3)
    in_berlin = spec(schedule="0 10 * * FRI", timeZone="Europe/Berlin")
    drill = WarmUp(world, in_berlin).run_for(60)
    assert drill.status.phase is DrillPhase.PENDING
    assert drill.status.message.endswith("by the schedule 0 10 * * FRI in Europe/Berlin")
    assert drill.run_for(90).status.passed == 1


def test_the_status_is_replaced_as_a_whole(world: World) -> None:
    drill = WarmUp(world, spec()).run_for(10)
    again = replace(drill.seen(), spec=spec(schedule="* * * * *"), now_ms=drill.seen().now_ms + 120_000)
    (written, *_) = decide_drill(again)
    assert isinstance(written, WriteDown)
    assert written.status.measured is None
    assert written.status.made_at is None
