"""Whether a process of the job could be lost now, and the reason in a sentence. Pure."""

from __future__ import annotations

from understudy.console.seen import JobSeen, ProcessSeen
from understudy.console.view import NodeKind, Safety, Verdict
from understudy.model.job import Subjob
from understudy.model.sinks import Sink

SAFE = Verdict(Safety.SAFE, "every standby is ready to take over")
OVER = Verdict(Safety.OVER, "the run has ended; its result is not compared yet")


def of_job(seen: JobSeen) -> Verdict:
    """The worst of its subjobs and sinks, with all reasons of that kind."""
    if seen.ended_ms is not None:
        return seen.outcome or OVER
    if seen.started_ms is None:
        return _starting(seen)
    found = [*(of_subjob(seen, s) for s in seen.job.subjobs), *(of_sink(seen, s) for s in seen.job.sinks)]
    for worst, before in ((Safety.DOWN, ""), (Safety.AT_RISK, "output flows, but ")):
        reasons = dict.fromkeys(v.why for v in found if v.safety is worst)
        if reasons:
            return Verdict(worst, before + "; ".join(reasons))
    return SAFE


def _starting(seen: JobSeen) -> Verdict:
    waiting = [p.name for p in seen.processes if not p.serves]
    ready = len(seen.processes) - len(waiting)
    for_whom = ", ".join(waiting) or "the next processes"
    return Verdict(Safety.STARTING, f"{ready} processes are ready, waiting for {for_whom}")


def of_subjob(seen: JobSeen, subjob: Subjob) -> Verdict:
    if seen.ended_ms is not None:
        return OVER
    primary = seen.primary(subjob.name)
    if primary is None or not primary.serves:
        safety = Safety.STARTING if seen.started_ms is None else Safety.DOWN
        return Verdict(safety, f"no primary serves {subjob.name}{_because(primary)}")
    faults = [f"{name} is not read: {at.fault}" for name, at in primary.instance.inputs.items() if at.fault]
    if faults:
        return Verdict(Safety.AT_RISK, "; ".join(faults))
    if subjob.ha.instances == 1:
        return Verdict(Safety.AT_RISK, f"{subjob.name} has no standby, as its mode asks")
    if not primary.instance.protected:
        return Verdict(Safety.AT_RISK, f"no standby is ready to take over {subjob.name}")
    return Verdict(Safety.SAFE, f"a standby is ready to take over {subjob.name}")


def of_sink(seen: JobSeen, sink: Sink) -> Verdict:
    if seen.ended_ms is not None:
        return OVER
    processes = seen.of(NodeKind.SINK, sink.name)
    if any(p.serves for p in processes):
        return Verdict(Safety.SAFE, f"sink {sink.name} writes")
    safety = Safety.STARTING if seen.started_ms is None else Safety.DOWN
    newest = processes[-1] if processes else None
    return Verdict(safety, f"sink {sink.name} is not running{_because(newest)}")


def _because(process: ProcessSeen | None) -> str:
    note = note_of(process) if process is not None else None
    return f": {note}" if note else ""


def note_of(process: ProcessSeen) -> str | None:
    """What a person should know about this process."""
    page, sink = process.instance, process.sink
    if process.silent_ms is not None:
        return f"it has not answered for {process.silent_ms // 1000} s"
    return page.error or sink.error or page.stalled or sink.stalled or page.overload or page.change
