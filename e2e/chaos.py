#!/usr/bin/env python3
"""Random drills on jobs that have every mode between them: `make chaos DURATION=3600 [SEED=7]`.

Each round waits until the job is protected, draws a subjob, a fault and a moment, and makes the fault by a
FailoverDrill. Every other time or so there is no operator: then the primary's pod is force-deleted, and the
Incident is read when the operator is back. Then nodes are lost, as by a power cut, under jobs whose subjobs
do not read each other, every other time without an operator, too: each primary that was there is a recovery.
In the end every tuple that came out is compared with what had to, worked out in plain Python. Exit code 1: a
promise was broken.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from conftest import CHART, SYSTEM, install, made
from kubectl import Job, Json, Namespace, node_of, until
from mixed_job import HALVES, MODES, Half, gaps, mixed_job, promised
from story import (
    REPLACED,
    START,
    TAKE_OVER,
    assert_flowing,
    assert_right,
    drill,
    hurt,
    node_of_pod,
    read_sink,
    started,
    take_overs,
    wait_for_take_over,
    wait_until_protected,
)

RARER = [("processStop", False), ("partition", False), ("engineHang", False)]
DECK = [("podKill", False)] * 4 + [("podKill", True)] * 4 + RARER
"""Faults, and whether the operator is away: each mode goes through them all, in an order of its own, and then
again."""
DEMO = Path(__file__).parents[1] / "examples" / "telemonitoring.yaml"
LOST_NODES = [("nodeLoss", False), ("nodeLoss", True)]
MOST = 90  # seconds after which a drill has failed, whatever the target
TARGETS = {
    "replicaBackup": 1.0, "activeStandby": 1.0, "passiveStandby": 4.0, "upstreamBackup": 6.0, "savepoint": 6.0,
    "amnesia": 6.0,
}  # fmt: skip
DETECTION = {
    "nodeLoss": 0.4,
    "engineHang": 3.2,
}  # seconds by which it is known; a closed connection is known at once
READY = 90.0  # seconds from `kubectl apply` of the demo job to Ready, with the image on the nodes
APART = 1 / 3  # of the time, for the jobs that lose nodes


@dataclass(frozen=True)
class Act:
    """What will be done: drawn before anything is known of how the last one went, so that a seed tells it
    all."""

    subjob: str
    mode: str
    fault: str
    away: bool
    pause: float

    @property
    def target(self) -> float:
        return TARGETS[self.mode] + DETECTION.get(self.fault, 0)


def acts(seed: int, half: Half) -> Iterator[Act]:
    """Without end. Every mode comes once before one comes again."""
    chance = random.Random(f"{seed} {' '.join(half.modes)}")  # not the same for both
    deck = LOST_NODES if half.apart else DECK
    decks: dict[str, list[tuple[str, bool]]] = {subjob: [] for subjob in half.modes}
    while True:
        for subjob, mode in chance.sample(sorted(half.modes.items()), len(half.modes)):
            decks[subjob] = decks[subjob] or chance.sample(deck, len(deck))
            fault, away = decks[subjob].pop()
            yield Act(subjob, mode, fault, away, chance.uniform(0, 3))


@dataclass(frozen=True)
class Recovery:
    """How one act was recovered from. Seconds; None: it was not."""

    act: Act
    from_fault: float | None
    silence: float | None  # for how long there was no output, as the Incident says
    lost: int
    duplicated: int
    trouble: str = ""

    @property
    def above_target(self) -> bool:
        took = self.from_fault if self.silence is None else self.silence
        return took is None or took > self.act.target

    def __str__(self) -> str:
        where = "operator away" if self.act.away else "operator up"
        figures = (
            f"first output {_said(self.from_fault)} s after the fault, {_said(self.silence)} s of silence"
        )
        return f"{self.act.mode:15} {self.act.fault:11} {where:13} {figures} {self.trouble}"


@dataclass
class Report:
    seed: int
    seconds: float
    recoveries: list[Recovery] = field(default_factory=list)
    jobs: list[str] = field(default_factory=list)
    compared: dict[tuple[str, str], int] = field(default_factory=dict)  # job, sink → tuples
    missing: dict[tuple[str, str], int] = field(default_factory=dict)  # behind amnesia
    broken: list[str] = field(default_factory=list)
    ready: float | None = None  # the demo job, seconds from its manifest on

    def of(self, mode: str) -> list[Recovery]:
        return [recovery for recovery in self.recoveries if recovery.act.mode == mode]


# ---- doing it --------------------------------------------------------------------------------------------


def time_to_ready(namespace: Namespace) -> float:
    job, began = Job(namespace, "telemonitoring"), time.monotonic()
    namespace.kubectl("apply", "-f", str(DEMO))
    job.wait_for("Ready", START)
    took = time.monotonic() - began
    namespace.kubectl("delete", "sj", job.name)
    return took


def play(job: Job, operator: Namespace, report: Report, seconds: float) -> None:
    """Every mode of this half once, and on for so many seconds; two failures in a row end it."""
    half, failures = HALVES[job.name], 0
    end = time.monotonic() + seconds
    for number, act in enumerate(acts(report.seed, half)):
        if failures > 1 or (number >= len(half.modes) and time.monotonic() > end):
            break
        try:
            wait_until_protected(job)
            time.sleep(act.pause)
            recoveries = _recovered(job, operator, act, number)
        except AssertionError as error:
            print(broken := f"{act.fault} to {act.subjob}: {error}", flush=True)
            report.broken.append(broken)
            failures += 1
            continue
        failures = 0
        for recovery in recoveries:
            report.recoveries.append(recovery)
            report.broken += _broken(recovery)
            print(recovery, flush=True)


def _recovered(job: Job, operator: Namespace, act: Act, number: int) -> list[Recovery]:
    if act.fault == "nodeLoss":
        return _node_lost(job, operator, act)
    return [_without_operator(job, operator, act) if act.away else _drilled(job, act, number)]


def _drilled(job: Job, act: Act, number: int) -> Recovery:
    most = 10**6 if promised(act.mode) == "gap" else 0
    expect = {"recovery": f"{MOST}s", "lost": most, "duplicated": 0}
    status = drill(job, act.subjob, act.fault, f"{job.name}-{number}", expect)
    if status["message"].startswith("refused"):  # what was protected a second ago may not be any more
        wait_until_protected(job)
        status = drill(job, act.subjob, act.fault, f"{job.name}-{number}-again", expect)
    measured = status.get("measured") or {}
    incident = job.namespace.get("incident", status.get("incident") or "none") or {}
    return Recovery(
        act,
        _from_fault(status, incident),
        _silence(incident),
        measured.get("lost", 0),
        measured.get("duplicated", 0),
        "" if status["phase"] == "Passed" else status["message"],
    )


def _without_operator(job: Job, operator: Namespace, act: Act) -> Recovery:
    with _away(operator):
        (primary, epoch), made = job.lease(act.subjob), time.time()
        job.namespace.kill(primary)
        _succeeded(job, act.subjob, primary, epoch)
    return _told(job, act, primary, epoch, made)


@contextmanager
def _away(operator: Namespace) -> Iterator[None]:
    """There is no operator meanwhile."""
    operator.kubectl("scale", "deployment/understudy", "--replicas=0")
    try:
        until("the operator is gone", lambda: not operator.list("pods"), 60)
        yield
    finally:
        operator.kubectl("scale", "deployment/understudy", "--replicas=2")


def _node_lost(job: Job, operator: Namespace, act: Act) -> list[Recovery]:
    """Of every primary that was on the node of this one. It boots again when all of them are succeeded."""
    _gather(job, act.subjob)
    modes = HALVES[job.name].modes
    with _away(operator) if act.away else nullcontext():
        node, lost = _on_the_node_of(job, act.subjob)
        made = time.time()
        hurt(node, "lose")
        try:
            for subjob, (primary, epoch) in lost.items():
                _succeeded(job, subjob, primary, epoch)
        finally:
            hurt(node, "start")
    return [
        _told(job, replace(act, subjob=subjob, mode=modes[subjob]), primary, epoch, made)
        for subjob, (primary, epoch) in lost.items()
    ]


def _on_the_node_of(job: Job, subjob: str) -> tuple[str, dict[str, tuple[str, int]]]:
    """The node of this primary, and every primary there with its epoch, but for those whose sink is there,
    too: lost together, nobody takes what comes out, and some modes wait for a word from the sink."""
    leaders = {subjob: job.lease(subjob) for subjob in HALVES[job.name].modes}
    nodes = {subjob: node_of_pod(job, primary) for subjob, (primary, _) in leaders.items()}
    lost = {name: lead for name, lead in leaders.items() if nodes[name] == nodes[subjob]}
    return nodes[subjob], {
        name: lead for name, lead in lost.items() if _sinks_node(job, name) != nodes[subjob]
    }


def _succeeded(job: Job, subjob: str, primary: str, epoch: int) -> None:
    wait_for_take_over(job, subjob, primary, epoch)
    assert_flowing(job, HALVES[job.name].sink_behind(subjob))


def _gather(job: Job, subjob: str) -> None:
    """Primaries change places with their standbys: this one if its sink is on its node, the others to meet it
    there, or to leave if their sink is there. So one lost node tells of several modes."""
    if node_of_pod(job, job.lease(subjob)[0]) == _sinks_node(job, subjob):
        _switch_over(job, subjob)
    meeting = node_of_pod(job, job.lease(subjob)[0])
    for other in HALVES[job.name].modes.keys() - {subjob}:
        is_there = node_of_pod(job, job.lease(other)[0]) == meeting
        may_be_there = _sinks_node(job, other) != meeting
        if is_there != may_be_there and meeting in {node_of(pod) for pod in job.pods(subjob=other)}:
            _switch_over(job, other)
    wait_until_protected(job)


def _switch_over(job: Job, subjob: str) -> None:
    primary, _ = job.lease(subjob)
    job.namespace.kubectl("annotate", "streamjob", job.name, f"move.understudy.dev/{subjob}=standby")
    until(f"{primary} has moved", lambda: job.lease(subjob)[0] != primary, TAKE_OVER)


def _sinks_node(job: Job, subjob: str) -> str:
    return node_of_pod(job, f"{job.name}-sink-{HALVES[job.name].sink_behind(subjob)}")


def _told(job: Job, act: Act, primary: str, epoch: int, made: float) -> Recovery:
    """By the Incident of the take-over from this primary, which led with this epoch when the fault was
    made."""

    def told() -> Json | None:
        of_primary = [i for i in take_overs(job) if i["spec"]["from"] == primary]
        found = [i for i in of_primary if i["spec"]["subjob"] == act.subjob and i["spec"]["epoch"] > epoch]
        return next((i for i in found if (i.get("status") or {}).get("firstOutput")), None)

    incident = until(f"the incident of {primary} is told", told, REPLACED)
    status = incident["status"]
    first = _moment(status["firstOutput"]) or made
    return Recovery(act, first - made, _silence(incident), status.get("lost", 0), status.get("duplicated", 0))


def _from_fault(drill: Json, incident: Json) -> float | None:
    made, first = _moment(drill.get("madeAt")), _moment((incident.get("status") or {}).get("firstOutput"))
    return max(0.0, first - made) if made and first else None


def _silence(incident: Json) -> float | None:
    found: float | None = (incident.get("status") or {}).get("recoverySeconds")
    return found


def _moment(text: str | None) -> float | None:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() if text else None


def _broken(recovery: Recovery) -> list[str]:
    found = [recovery.trouble] if recovery.trouble else []
    if promised(recovery.act.mode) == "precise" and (recovery.lost or recovery.duplicated):
        found.append(f"{recovery.lost} tuples lost, {recovery.duplicated} duplicated")
    return [f"{recovery.act.mode}, {recovery.act.fault}: {what}" for what in found]


def compare(job: Job, report: Report) -> None:
    """Every sink with what had to come."""
    half = HALVES[job.name]
    for sink in half.sinks:
        key = job.name, sink
        try:
            if sink == "some":
                written = read_sink(job, sink)
                report.missing[key], report.compared[key] = gaps(written), len(written)
            else:
                report.compared[key] = assert_right(job, sink, stream=half.stream_of(sink))
        except AssertionError as error:
            report.broken.append(f"sink {sink} of {job.name}: {str(error).splitlines()[0]}")


# ---- telling it ------------------------------------------------------------------------------------------


def page(report: Report) -> str:
    seed, rounds = report.seed, len(report.recoveries)
    away = sum(recovery.act.away for recovery in report.recoveries)
    command = f'make chaos DURATION={report.seconds:.0f} SEED={seed} JOBS="{" ".join(report.jobs)}"'
    lines = [
        "# Chaos",
        "",
        f"`{command}`: {rounds} recoveries from random faults, one at a time, on jobs",
        "that have every mode between them (`e2e/mixed_job.py`), one after the other on the three-node",
        f"test cluster; {away} of them while there was no operator.",
        "*From the fault*: from the drill's order to the first new output of the new primary; after "
        "`podKill` the",
        "kubelet takes its time to kill, and the old primary goes on until it has. *Silence*: for how long "
        "no output",
        "came, as the Incident says. Seconds, median / 90th percentile / greatest. `nodeLoss` is a power "
        "cut:",
        "the node's cable goes first, so only silence tells of it, and then every process there, whatever "
        "else it was;",
        "each primary that was there counts; none was on the node of its own sink.",
        "",
        "| mode | fault | operator | faults | recovered | from the fault | silence | target | lost | "
        "duplicated |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(_row(mode, kind, found) for mode in MODES for kind, found in _kinds(report.of(mode)).items()),
        "",
        "| job | sink | tuples compared | wrong or twice | missing |",
        "|---|---|---|---|---|",
        *(_sink_row(report, job, sink) for job in report.jobs for sink in HALVES[job].sinks),
        "",
        "`amnesia` has a spare here; it starts empty, and what came meanwhile is lost: losses are counted.",
        "The expected tuples are worked out in plain Python, without Spark and without understudy.",
        "",
        f"`kubectl apply` of the demo job to Ready: {_said(report.ready)} s (to reach: at most {READY:g} s).",
        "",
        "Promises broken: " + ("; ".join(report.broken) or "none") + ".",
    ]
    above = [f"- {recovery}" for recovery in report.recoveries if recovery.above_target]
    return "\n".join([*lines, *(["", "Above the target:", "", *above] if above else []), ""])


def _kinds(recoveries: list[Recovery]) -> dict[tuple[str, bool], list[Recovery]]:
    """By fault, and whether the operator was away."""
    found: dict[tuple[str, bool], list[Recovery]] = {}
    for recovery in sorted(recoveries, key=lambda r: (r.act.fault, r.act.away)):
        found.setdefault((recovery.act.fault, recovery.act.away), []).append(recovery)
    return found


def _row(mode: str, kind: tuple[str, bool], found: list[Recovery]) -> str:
    times = [_three([r.from_fault for r in found]), _three([r.silence for r in found])]
    kept = sum(r.from_fault is not None for r in found)
    target = f"{found[0].act.target:g}"
    lost, twice = sum(r.lost for r in found), sum(r.duplicated for r in found)
    told = (mode, kind[0], "away" if kind[1] else "up", len(found), kept, *times, target, lost, twice)
    return f"| {' | '.join(map(str, told))} |"


def _sink_row(report: Report, job: str, sink: str) -> str:
    key = job, sink
    wrong = "yes" if key not in report.compared else "0"
    return f"| {job} | {sink} | {report.compared.get(key, 0):,} | {wrong} | {report.missing.get(key, 0)} |"


def _three(times: list[float | None]) -> str:
    known = sorted(took for took in times if took is not None)
    if not known:
        return ""
    return " / ".join(
        f"{known[min(len(known) - 1, int(len(known) * share))]:.1f}" for share in (0.5, 0.9, 1.0)
    )


def _said(seconds: float | None) -> str:
    return "?" if seconds is None else f"{seconds:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100_000)
    parser.add_argument("--page", type=Path, help="write the table to this file")
    parser.add_argument("jobs", nargs="*", help=f"which of {', '.join(HALVES)}; default: all")
    args = parser.parse_args()
    print(f"seed {args.seed}", flush=True)
    weights = {name: APART if HALVES[name].apart else 1 - APART for name in args.jobs or HALVES}
    shares = {name: weight / sum(weights.values()) for name, weight in weights.items()}
    install(CHART)
    namespace, report = made("chaos"), Report(args.seed, args.seconds)
    report.ready = time_to_ready(namespace)
    print(f"the demo job was Ready after {report.ready:.0f} s", flush=True)
    for name in args.jobs or HALVES:
        report.jobs.append(name)
        job = started(namespace, mixed_job(name), HALVES[name].sinks)
        play(job, Namespace(SYSTEM), report, args.seconds * shares[name])
        compare(job, report)
        namespace.kubectl("delete", "sj", name)
        if args.page:
            args.page.parent.mkdir(parents=True, exist_ok=True)
            args.page.write_text(page(report))
    print(page(report))
    return 1 if report.broken else 0


if __name__ == "__main__":
    sys.exit(main())
