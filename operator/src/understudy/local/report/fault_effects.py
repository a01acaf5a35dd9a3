"""The effects of each fault, in milliseconds since the fault. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from understudy.local.report.record import Death, Record
from understudy.local.run.members import Kind, Process
from understudy.model.job import StreamJob, Subjob
from understudy.protocol.statuspage import Activity, Engine, Role, TakeOver


@dataclass(frozen=True, slots=True)
class Incident:
    subjob: str
    mode: str
    cause: str
    victim: str
    role: str
    at_ms: int
    """When the fault happened, wall clock. All other times count from here; None: it did not happen."""
    detected_ms: int | None = None
    promoted_ms: int | None = None
    restored_ms: int | None = None
    first_output_ms: int | None = None
    caught_up_ms: int | None = None
    reprotected_ms: int | None = None
    recovery_ms: int | None = None
    """How long there was no output, which may have begun before the fault; None: output did not come back."""
    successor: str | None = None
    replayed: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class _Loss:
    """The loss of a process."""

    process: Process
    at_ms: int
    cause: str
    had_standby: bool


def incidents_of(record: Record, job: StreamJob) -> list[Incident]:
    """One incident for each lost process, for each take-over from a process that was alive, and for each sink
    that stalled."""
    losses = [loss for loss in _losses(record) if loss.process.kind is Kind.SUBJOB]
    found = [_incident(loss, _next(loss, losses), record, job) for loss in losses]
    told = {(i.subjob, i.successor, i.at_ms + i.promoted_ms) for i in found if i.promoted_ms is not None}
    false = [
        _false_suspicion(instance, story, record, job)
        for (instance, _epoch), story in record.takeovers.items()
        if not story.planned and (instance.owner, instance.name, story.promoted) not in told
    ]
    return sorted([*found, *false, *_stalls(record, job)], key=lambda i: i.at_ms)


def _stalls(record: Record, job: StreamJob) -> Iterator[Incident]:
    for process, stall in record.stalls.items():
        sink = job.sink(process.owner)
        subjob = job.subjob(sink.input) if sink is not None else None
        assert subjob is not None
        yield Incident(
            subjob=subjob.name,
            mode=str(subjob.ha.mode),
            cause=f"the disk of sink {process.owner} stood still: {stall.why}",
            victim=process.name,
            role="sink",
            at_ms=stall.at_ms,
            detected_ms=0,
            first_output_ms=next(
                (
                    a.at_ms - stall.at_ms
                    for a in record.arrivals.get(process.owner, ())
                    if a.at_ms > stall.at_ms
                ),
                None,
            ),
        )


def _false_suspicion(successor: Process, story: TakeOver, record: Record, job: StreamJob) -> Incident:
    """No process died: times count from the suspicion."""
    subjob = job.subjob(successor.owner)
    assert subjob is not None
    assert story.detected is not None
    incident = Incident(
        subjob=subjob.name,
        mode=_mode(record, story.gone, subjob),
        cause=f"false suspicion ({story.cause})",
        victim=story.gone,
        role=Role.PRIMARY.value,
        at_ms=story.detected,
    )
    return _with_story(incident, successor, story, noticed=None)


def _mode(record: Record, instance: str, subjob: Subjob) -> str:
    """The mode of that time: an edit may have changed it since."""
    return record.instance(instance).mode or subjob.ha.mode.value


def _losses(record: Record) -> Iterator[_Loss]:
    for done in record.done:
        cause = f"{done.fault.role} {done.fault.done} ({done.fault.signal})"
        yield _Loss(done.victim, done.at_ms, cause, done.had_standby)
    for death in record.deaths:
        yield _of_death(death, record.instance(death.process.name).engine)


def _of_death(death: Death, engine: Engine | None) -> _Loss:
    """`engine`: the engine's state on the last status page."""
    if engine is not None and engine.state is Activity.STALLED and engine.since_ms is not None:
        return _Loss(
            death.process, engine.since_ms, f"its engine stood still: {engine.why}", death.had_standby
        )
    cause = f"signal {-death.exit_code}" if death.exit_code < 0 else f"exit code {death.exit_code}"
    return _Loss(death.process, death.at_ms, f"process ended by itself ({cause})", death.had_standby)


def _next(loss: _Loss, losses: Sequence[_Loss]) -> float:
    """When the same process was hurt again, if it was."""
    mates = (other.at_ms for other in losses if other.process == loss.process)
    return min((at for at in mates if at > loss.at_ms), default=inf)


def _incident(loss: _Loss, until: float, record: Record, job: StreamJob) -> Incident:
    subjob = job.subjob(loss.process.owner)
    assert subjob is not None
    name = loss.process.name
    gone = record.noticed_ms.get(loss.process)
    noticed = gone if gone is not None and gone < until else None
    successor, story = _takeover(record, loss, until)
    role = record.instance(name).role or Role.STANDBY
    incident = Incident(
        subjob=subjob.name,
        mode=_mode(record, name, subjob),
        cause=loss.cause,
        victim=name,
        role=Role.PRIMARY.value if story else role.value,
        at_ms=loss.at_ms,
        detected_ms=_since(noticed, loss.at_ms),
        reprotected_ms=_since(_reprotected(record, subjob.name, loss.at_ms, until), loss.at_ms),
    )
    if successor is None or story is None:
        return incident
    return _with_story(incident, successor, story, noticed if not loss.had_standby else None)


def _with_story(incident: Incident, successor: Process, story: TakeOver, noticed: int | None) -> Incident:
    """Adds the times of the take-over. Without a standby only the supervisor sees the loss (`noticed`); the
    replacement does not see it."""
    seen = [at for at in (story.detected, noticed) if at is not None]
    return replace(
        incident,
        detected_ms=_since(min(seen, default=None), incident.at_ms),
        promoted_ms=_since(story.promoted, incident.at_ms),
        restored_ms=_since(story.restored, incident.at_ms),
        first_output_ms=_since(story.first_output, incident.at_ms),
        caught_up_ms=_since(story.caught_up, incident.at_ms),
        recovery_ms=story.recovery_ms,
        successor=successor.name,
        replayed=story.replayed,
        lost=story.lost,
    )


def _takeover(record: Record, loss: _Loss, until: float) -> tuple[Process | None, TakeOver | None]:
    """The instance that took over after the loss of the victim, before the victim was hurt again; and the
    times of the take-over."""
    victim = (loss.process.owner, loss.process.name)
    for (instance, _epoch), story in record.takeovers.items():
        after = story.promoted is not None and loss.at_ms <= story.promoted < until
        if (instance.owner, story.gone) == victim and after:
            return instance, story
    return None, None


def _reprotected(record: Record, subjob: str, after: int, until: float) -> int | None:
    """When the subjob, unprotected since the fault, was protected again."""
    changes = [(at, protected) for at, protected in record.protections.get(subjob, []) if at > after]
    unprotected = next((at for at, protected in changes if not protected and at < until), None)
    if unprotected is None:
        return None
    return next((at for at, protected in changes if protected and at > unprotected), None)


def _since(at: int | None, fault: int) -> int | None:
    """Clocks of one machine run together, but times on a page may be rounded: the result is never before the
    fault."""
    return None if at is None else max(0, at - fault)
