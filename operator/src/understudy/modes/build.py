"""From the manifest to the instance that runs the subjob's mode."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_never

from understudy.model.classes import OperatorClass
from understudy.model.classification import class_of
from understudy.model.elements import elements_of
from understudy.model.guarantees import addition_of, logs_steps
from understudy.model.ha import Backups, Mode
from understudy.model.job import StreamJob, Subjob
from understudy.model.plan import plan
from understudy.modes.active_standby import ActiveStandby
from understudy.modes.amnesia import Amnesia
from understudy.modes.instance import Instance
from understudy.modes.logged_backup import LoggedBackup
from understudy.modes.passive_standby import PassiveStandby, Strategy
from understudy.modes.replica_backup import ReplicaBackup
from understudy.modes.savepoint import SavepointMode
from understudy.modes.synchronized_backup import SynchronizedBackup
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Consumer, Stream
from understudy.protocol.ledger import Wiring

GRACE = 0.8  # share of an interval by which the last missed keep-alive may be late on a busy machine


def millis(duration: timedelta) -> int:
    return round(duration.total_seconds() * 1000)


def sink_consumer(sink: str) -> Consumer:
    """The name of a sink among the consumers of a stream. The prefix keeps it apart from a subjob of the same
    name."""
    return Consumer(f"sink/{sink}")


def wiring_of(job: StreamJob, subjob: Subjob) -> Wiring:
    elements = elements_of(subjob)
    inner = {e.name: tuple(Consumer(r.name) for r in elements if e.name in r.inputs) for e in elements}
    readers = [Consumer(s.name) for s in job.subjobs if subjob.name in s.inputs]
    sinks = [sink_consumer(s.name) for s in job.sinks if s.input == subjob.name]
    return Wiring(
        inputs={e.name: tuple(Stream(i) for i in e.inputs) for e in elements},
        consumers={**inner, subjob.name: (*inner[subjob.name], *readers, *sinks)},
        replayable=frozenset(Stream(s.name) for s in job.sources),
    )


def mode_of(job: StreamJob, subjob: Subjob) -> Mode:
    """The subjob's mode. For `auto` it is the mode that the plan chooses."""
    if subjob.ha.mode is not Mode.AUTO:
        return subjob.ha.mode
    plans = plan(job)
    if isinstance(plans, list):
        raise ValueError("; ".join(refusal.message for refusal in plans))
    return plans[subjob.name].choice.mode


def decided(job: StreamJob, subjob: Subjob) -> Subjob:
    """The subjob with the mode that it runs in, instead of `auto`."""
    return subjob.model_copy(update={"ha": subjob.ha.model_copy(update={"mode": mode_of(job, subjob)})})


def instance_of(job: StreamJob, subjob: Subjob, name: str) -> Instance:
    wiring, ha = wiring_of(job, subjob), subjob.ha
    interval = millis(ha.heartbeat.interval)
    detector = Detector.of(interval, ha.heartbeat.misses, grace=int(interval * GRACE))
    verdict = class_of(subjob)
    arbitrary = verdict.operator_class is OperatorClass.ARBITRARY
    match mode := mode_of(job, subjob):
        case Mode.AMNESIA:
            return Amnesia(name, wiring, detector)
        case Mode.PASSIVE_STANDBY:
            interval, strategy = millis(ha.checkpoint.interval), Strategy(ha.checkpoint.strategy)
            if ha.checkpoint.backups is not Backups.UNSYNCHRONIZED:
                extended = ha.checkpoint.backups is Backups.EXTENDED
                return SynchronizedBackup(name, wiring, detector, interval=interval, extended=extended)
            return PassiveStandby(
                name, wiring, detector, interval=interval, hold_back=arbitrary, strategy=strategy
            )
        case Mode.ACTIVE_STANDBY:
            acks, chosen = millis(ha.ack_interval), arbitrary and verdict.by_plan
            return ActiveStandby(
                name, wiring, detector, interval=acks, exact=not arbitrary, determinants=chosen
            )
        case Mode.REPLICA_BACKUP:
            return ReplicaBackup(name, wiring, detector, interval=millis(ha.ack_interval))
        case Mode.UPSTREAM_BACKUP:
            acks = millis(ha.ack_interval)
            if logs_steps(subjob):
                return LoggedBackup(name, wiring, detector, interval=acks)
            precise = addition_of(mode, subjob) is not None
            return UpstreamBackup(name, wiring, detector, interval=acks, forward=precise)
        case Mode.SAVEPOINT:
            return SavepointMode(name, wiring, detector)
        case Mode.AUTO:
            raise ValueError("a mode is chosen before an instance is made")
        case _:
            assert_never(mode)
