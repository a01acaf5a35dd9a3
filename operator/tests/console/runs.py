"""Runs to look at: the telemonitoring job, live and in a folder. Its primary was killed after 15 s."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from understudy.console.live_run import incident_seen
from understudy.console.seen import Arrived, JobSeen, ProcessSeen, plans_of
from understudy.console.view import NodeKind, Part
from understudy.local.effective import effective, write
from understudy.local.folder import Folder
from understudy.local.report.arrivals import Arrival
from understudy.local.report.comparison import Comparison
from understudy.local.report.fault_effects import incidents_of
from understudy.local.report.record import Record
from understudy.local.report.report import Report, record_to_json
from understudy.local.report.verdicts import Verdict, verdict_to_json
from understudy.local.run.fault_plan import Fault, Target
from understudy.local.run.intents import Finish
from understudy.local.run.members import Kind, Process
from understudy.local.run.observed import Done
from understudy.model.guarantees import Recovery
from understudy.model.ha import Guarantee
from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.protocol.statuspage import (
    Consumer,
    Cost,
    Input,
    InstancePage,
    Queue,
    Role,
    SinkPage,
    State,
    StatusPage,
    TakeOver,
)

START = 1_760_000_000_000
FAULT = START + 15_000
EXAMPLES = Path(__file__).parents[3] / "examples"
COST = Cost(replay_tuples=40, replay_seconds=0.2, lost_tuples=0)


def telemonitoring(old: str = "", new: str = "") -> StreamJob:
    found = load((EXAMPLES / "telemonitoring.yaml").read_text().replace(old, new))
    assert isinstance(found, StreamJob), found
    return effective(found, timedelta(seconds=40), EXAMPLES)


def primary(subjob: str, number: int, inputs: dict[str, int], sent: int, consumer: str) -> InstancePage:
    return InstancePage(
        job="telemonitoring",
        subjob=subjob,
        instance=f"{subjob}-{number}",
        role=Role.PRIMARY,
        epoch=1 + number // 2,
        mode="passiveStandby",
        state=State.READY,
        protected=True,
        inputs={stream: Input(position, position + 4) for stream, position in inputs.items()},
        outputs={subjob: Queue(0, sent, consumers={consumer: Consumer(sent - 3, sent - 9, 3, 120)})},
        if_it_failed_now=COST,
    )


def standby(subjob: str, number: int) -> InstancePage:
    return InstancePage(
        subjob=subjob, instance=f"{subjob}-{number}", role=Role.STANDBY, epoch=1, state=State.READY
    )


def pages() -> dict[str, StatusPage | None]:
    """After the fault: beats-1 leads, and beats-2 stands by."""
    beats = primary("beats", 1, {"ecg": 19_960}, 39_200, "correlate")
    return {
        "beats-0": replace(primary("beats", 0, {"ecg": 7_480}, 14_700, "correlate"), epoch=1),
        "beats-1": replace(beats, epoch=2),
        "beats-2": standby("beats", 2),
        "pressures-0": primary("pressures", 0, {"pressure": 1_998}, 450, "correlate"),
        "pressures-1": standby("pressures", 1),
        "correlate-0": primary("correlate", 0, {"beats": 39_190, "pressures": 449}, 2_180, "sink/alerts"),
        "correlate-1": standby("correlate", 1),
        "sink-alerts": SinkPage(job="telemonitoring", sink="alerts", state=State.READY, tuples=2_170),
    }


def record() -> Record:
    """Output stood still from 14.9 s to 15.4 s; then the sink caught up."""
    times = (*range(0, 14_900, 100), *range(15_400, 40_000, 100))
    arrivals = [Arrival(START + ms, 1 + (ms * 54) // 1000 + ms % 700 // 130) for ms in times]
    rising = [a for n, a in enumerate(arrivals) if not n or a.tuples > max(b.tuples for b in arrivals[:n])]
    return Record(
        began_ms=START - 30_000,
        versions=[telemonitoring()],
        started_ms=START,
        ended_ms=START + 41_000,
        outcome=Finish("every sink has written its stream to the end", complete=True),
        done=[Done(Fault("beats", Target.PRIMARY, 15_000), Process(Kind.SUBJOB, "beats", 0), FAULT, True)],
        takeovers={
            (Process(Kind.SUBJOB, "beats", 1), 2): TakeOver(
                gone="beats-0",
                cause="its connection closed: the process is dead",
                detected=FAULT + 12,
                promoted=FAULT + 31,
                restored=FAULT + 95,
                first_output=FAULT + 310,
                caught_up=FAULT + 480,
                recovery_ms=402,
                replayed=40,
            )
        },
        protections={"beats": [(START - 1_000, True), (FAULT + 50, False), (FAULT + 14_000, True)]},
        noticed_ms={Process(Kind.SUBJOB, "beats", 0): FAULT + 30},
        arrivals={"alerts": rising},
        last=pages(),
    )


def folder(path: Path, lost: int = 0, job: StreamJob | None = None) -> Path:
    """What `understudy run` leaves, without its logs."""
    found, where = record(), Folder(path)
    found.versions = [job or telemonitoring()]
    path.mkdir(parents=True, exist_ok=True)
    incidents = incidents_of(found, found.versions[-1])
    how = Recovery.GAP if lost else Recovery.PRECISE
    compared = Comparison(2_160, 2_160 + lost, lost, 0, 0, 0, how, holes=((900, lost),) if lost else ())
    report = Report(found.versions[-1], found, incidents, {"alerts": compared})
    verdict = verdict_to_json(Verdict(Guarantee.PRECISE, compared, None, None))
    write(found.versions[-1], where.job)
    where.record.write_text(json.dumps(record_to_json(found, incidents)))
    where.report.write_text(json.dumps(report.to_json()))
    where.verdict.write_text(json.dumps({"alerts": verdict}))
    return path


def running(job: StreamJob | None = None) -> JobSeen:
    """The job at 30 s, live."""
    found, job = record(), job or telemonitoring()
    parts = {"beats-0": Part.GONE, "sink-alerts": Part.SINK}
    parts |= dict.fromkeys(("beats-1", "pressures-0", "correlate-0"), Part.PRIMARY)
    return JobSeen(
        job=job,
        place="local run",
        now_ms=START + 30_000,
        started_ms=START,
        ended_ms=None,
        plans=plans_of(job),
        processes=tuple(
            ProcessSeen(
                name,
                NodeKind.SINK if isinstance(page, SinkPage) else NodeKind.SUBJOB,
                page.sink if isinstance(page, SinkPage) else page.subjob,
                parts.get(name, Part.STANDBY),
                page,
            )
            for name, page in pages().items()
            if page is not None
        ),
        incidents=tuple(incident_seen(i) for i in incidents_of(found, job)),
        arrivals={"alerts": [Arrived(a.at_ms, a.tuples) for a in found.arrivals["alerts"]]},
        rates={
            ("pressure", "pressures"): 50.0,
            ("pressures", "correlate"): 11.2,
            ("ecg", "beats"): 500.0,
            ("beats", "correlate"): 980.4,
            ("correlate", "sink/alerts"): 54.0,
        },
    )


def with_page(seen: JobSeen, name: str, **changes: object) -> JobSeen:
    """The page of this process says something else."""

    def changed(process: ProcessSeen) -> ProcessSeen:
        if process.name != name:
            return process
        assert process.page is not None
        return replace(process, page=replace(process.page, **changes))  # type: ignore[arg-type]

    return replace(seen, processes=tuple(changed(p) for p in seen.processes))


def without(seen: JobSeen, *names: str) -> JobSeen:
    """These processes are gone."""
    lost = tuple(replace(p, part=Part.GONE) if p.name in names else p for p in seen.processes)
    return replace(seen, processes=lost)
