"""Deliberate mistakes in the core, one subclass each. Exploration has to catch every one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from understudy.modes.active_standby import ActiveStandby
from understudy.modes.amnesia import Amnesia
from understudy.modes.instance import Instance
from understudy.modes.leadership import Claim
from understudy.modes.logged_backup import LoggedBackup
from understudy.modes.passive_standby import PassiveStandby
from understudy.modes.replica_backup import ReplicaBackup
from understudy.modes.resuming import Resuming
from understudy.modes.roll import RollCall
from understudy.modes.savepoint import SavepointMode
from understudy.modes.synchronized_backup import SynchronizedBackup
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.commands import Commands
from understudy.protocol.duplicates import DuplicateFilter
from understudy.protocol.engine import Stand
from understudy.protocol.events import Event
from understudy.protocol.ids import Epoch, Millis, Range, Seq, Stream
from understudy.protocol.replay import Replay, ReplayLog
from understudy.protocol.savepoints import Tree
from understudy.protocol.watermarks import Marks, Step
from understudy_lab.exploration.networks import Cores


@dataclass(frozen=True)
class Mistake:
    says: str
    cores: Cores
    mode: str
    seen: int  # a seed that caught it


# --- passive standby


class TrimsOneTooFar(PassiveStandby):
    def release(self, checkpoint: Checkpoint) -> Commands:
        acks = super().release(checkpoint)
        return tuple(replace(a, upto=Seq(a.upto + 1)) if isinstance(a, do.SendAck) else a for a in acks)


class AcksBeforeTheSecondaryStored(PassiveStandby):
    def ship(self, elements: tuple[str, ...]) -> Commands:
        commands = super().ship(elements)
        return (*commands, *(self.release(self._in_flight) if self._in_flight else ()))


class ReleasesWhatIsProcessed(PassiveStandby):
    def processed(self, event: on.Processed) -> Commands:
        released = tuple(do.SendAck(s, 1, p) for s, p in event.positions.items())
        return (*super().processed(event), *released)


class ForgetsTheSequencer(PassiveStandby):
    """The secondary starts to number from what it holds, as if the queue had been empty."""

    def stored(self) -> Checkpoint | None:
        kept = super().stored()
        if kept is None:
            return None
        reset = {n: replace(e, held=Range(e.held.start, e.held.start)) for n, e in kept.elements.items()}
        return replace(kept, elements=reset)


class ReadsOnFromTheNewest(PassiveStandby):
    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        super().start_inputs(checkpoint)
        fresh = self.epoch == Epoch(1)
        return tuple(do.ReadInput(s, Seq(0) if fresh else None) for s in self.wiring.entering)


class ForwardsBeforeTheCheckpoint(PassiveStandby):
    """Holds nothing back, though the network is arbitrary."""

    def processed(self, event: on.Processed) -> Commands:
        self._changed = True
        return (self.publish(event.element),)


class SendsADivergentQueueUnderOldSeqs(PassiveStandby):
    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        commands = super().start_inputs(checkpoint)
        self.roll = None
        return commands


class StoresAnOlderCheckpoint(PassiveStandby):
    """Confirms every checkpoint, keeps the first."""

    def checkpoint_arrived(self, event: on.CheckpointArrived) -> Commands:
        before = self._kept
        commands = super().checkpoint_arrived(event)
        if before is not None:
            self._kept = before
        return commands


class TakesOverWithNothing(PassiveStandby):
    """A restarted primary takes its Lease back before the standby with the state can."""

    def could_continue(self) -> bool:
        return True


class TakesARefusedConnectionForADeath(PassiveStandby):
    """A connection that could not be made counts as the word of somebody who saw the process end."""

    def handle(self, event: Event) -> Commands:
        if isinstance(event, on.PeerUnreachable) and self.lease is not None:
            return super().handle(on.LeaseSeen(replace(self.lease, gone=True)))
        return super().handle(event)


class AsksNoHolder(PassiveStandby):
    """Takes the Lease of a primary that it does not hear, though it has nothing to continue from."""

    def suspect(self, why: str, *, closed: bool = False) -> Commands:
        claim = Claim(could_continue=True, needs_contact=False)
        return self.decided(self.leadership.suspects(why, claim, closed=closed))


class GivesUpItsStateForAHang(PassiveStandby):
    """A primary whose engine stands still ends at once, though its state is nowhere else."""

    def stand(self, *, follows: bool) -> Stand:
        return replace(super().stand(follows=follows), needed=False)


# --- duplicate filter, epochs: in every mode


class AcceptsEqualIds(PassiveStandby):
    """The filter accepts tuple_id ≥ max_tuple_id: the last tuple twice."""

    def arrived(self, event: on.Arrived) -> Commands:
        expected = self.ledger.received(event.stream)
        if expected and event.range.start < expected <= event.range.stop:
            back = DuplicateFilter(Seq(expected - 1))
            self.ledger = replace(self.ledger, filters={**self.ledger.filters, event.stream: back})
        return super().arrived(event)


class LeadsInTheOldEpoch(PassiveStandby):
    """Takes over, but speaks with the epoch of the one before, which is accepted too."""

    def lease_won(self, event: on.LeaseWon) -> Commands:
        record = event.record
        return super().lease_won(on.LeaseWon(replace(record, epoch=Epoch(max(1, record.epoch - 1)))))


class NeverStepsDown(PassiveStandby):
    """Goes on in its old epoch when a newer one has begun."""

    def _step_down(self, epoch: Epoch) -> Commands:
        return ()


class AcceptsOldTuples(PassiveStandby):
    def arrived(self, event: on.Arrived) -> Commands:
        skip = DuplicateFilter(Seq(event.range.start))
        if event.range.start < self.ledger.received(event.stream):
            self.ledger = replace(self.ledger, filters={**self.ledger.filters, event.stream: skip})
        return super().arrived(event)


# --- upstream backup


class AcksWhatWasReceived(UpstreamBackup):
    """Level-1 acks what level-0 acks."""

    def _level1(self, stream: Stream, needed: dict[Stream, Seq]) -> do.SendAck:
        return do.SendAck(stream, 1, self.ledger.received(stream))


class AcksThePositionNotTheLowWatermark(UpstreamBackup):
    def _level1(self, stream: Stream, needed: dict[Stream, Seq]) -> do.SendAck:
        return do.SendAck(stream, 1, self.ledger.position(stream))


class MapsToTheHighWatermark(UpstreamBackup):
    def _behind(self, stream: Stream) -> dict[Stream, Seq] | None:
        step = self.logs[stream].before(self.ledger.queues[stream].received_by_all)
        return dict(step.high) if step else None


class CausesOfWhatAnyConsumerHas(UpstreamBackup):
    """Maps the newest ack instead of the oldest."""

    def _behind(self, stream: Stream) -> dict[Stream, Seq] | None:
        step = self.logs[stream].before(self.ledger.queues[stream].received_by_any)
        return dict(step.high) if step else None


class RestartsNumberingAtTheFurthest(UpstreamBackup):
    """Numbers what it makes again as new, though watermarks are forwarded."""

    def _number(self, roll: RollCall, stream: Stream, mark: Step | None) -> do.Number:
        first = roll.furthest(stream)
        self.ledger = self.ledger.rebased(stream, first)
        return do.Number(str(stream), first, None)


class DropsOneStepTooMany(UpstreamBackup):
    def _number(self, roll: RollCall, stream: Stream, mark: Step | None) -> do.Number:
        found = super()._number(roll, stream, mark)
        return replace(found, until=mark.high) if mark is not None and found.until is not None else found


class DoesNotWaitForTheRollCall(UpstreamBackup):
    def _begin_if_ready(self) -> Commands:
        roll = self.roll
        if roll is None or any(s not in self._starts for s in self.wiring.external):
            return ()
        self.roll = None
        return tuple(do.Number(str(s), Seq(0), None) for s in self.wiring.leaving)


# --- upstream backup with determinants


class SendsBeforeTheLog(LoggedBackup):
    def processed(self, event: on.Processed) -> Commands:
        return (self.publish(event.element),)


class ConfirmsWithoutKeeping(LoggedBackup):
    """Every third message of the log is confirmed, and lost."""

    def _keep(self, event: on.DeterminantsArrived) -> Commands:
        lost = not event.whole and event.number % 3 == 0
        return super()._keep(replace(event, determinants=()) if lost else event)


class TrimsTheLogTooFar(LoggedBackup):
    """Drops what was processed, not what no replay begins at."""

    def _keep(self, event: on.DeterminantsArrived) -> Commands:
        newest = {s: p for step in event.determinants for s, p in step.at.items()}
        found = super()._keep(event)
        if all(s in newest for ins in self.wiring.inputs.values() for s in ins):
            self.log.trim(newest)
        return found


class IgnoresTheLoggedChoices(LoggedBackup):
    """Does again the last step that a consumer has, as it likes."""

    def _do_again(self, replay: Replay) -> Commands:
        last = {s: Seq(max(replay.counts[str(s)].made.start - 1, 0)) for s in self.wiring.leaving}
        earlier = self.log.replay(last)
        found = earlier if earlier is not None and self._reached(earlier) else replay
        return super()._do_again(replace(found, script=()))


class ReleasesByStepsThatAreNotConfirmed(LoggedBackup):
    def needed(self) -> dict[Stream, Seq]:
        return {**super().needed(), **{s: self.ledger.position(s) for s in self.wiring.external}}


class OffersNoLog(LoggedBackup):
    """A new standby gets what is chosen from now on."""

    def _offer(self, name: str) -> Commands:
        self.log = ReplayLog.beginning(self.ledger)
        return super()._offer(name)


class BeginsAtOnePlace(LoggedBackup):
    """Elements that share a stream all begin where the last of them does."""

    def _do_again(self, replay: Replay) -> Commands:
        last = {s: max(at[s] for at in replay.places.values() if s in at) for s in replay.begins}
        places = {name: {s: last[s] for s in at} for name, at in replay.places.items()}
        return super()._do_again(replace(replay, places=places))


# --- active standby


class TrimsEqualWatermarks(ActiveStandby):
    def _drop_duplicates(self, stream: Stream, high: Marks) -> Commands:
        return super()._drop_duplicates(stream, {s: Seq(p + 2) for s, p in high.items()})


class SecondaryTrimsWhatItMade(ActiveStandby):
    def processed_beside(self, event: on.Processed) -> Commands:
        commands = super().processed_beside(event)
        for stream in self.wiring.leaving:
            self.ledger = self.ledger.released(stream, self.ledger.queues[stream].next)
        return commands


class AcksWithoutTheSecondary(ActiveStandby):
    def _acks(self, peer: Marks) -> Commands:
        mine = self._positions()
        return tuple(do.SendAck(s, 1, mine[s]) for s in self.wiring.external)


class SendsBeforeTheDeterminants(ActiveStandby):
    def processed(self, event: on.Processed) -> Commands:
        return (self.publish(event.element), *self._release_inner())


class SecondaryIgnoresDeterminants(ActiveStandby):
    def determinants_arrived(self, event: on.DeterminantsArrived) -> Commands:
        commands = super().determinants_arrived(event)
        return tuple(replace(c, determinants=()) if isinstance(c, do.Choose) else c for c in commands)


class SecondaryNumbersFromZero(ActiveStandby):
    def _run(self, checkpoint: Checkpoint) -> Commands:
        reset = {n: replace(e, held=Range(Seq(0), Seq(0))) for n, e in checkpoint.elements.items()}
        return super()._run(replace(checkpoint, elements=reset))


class SecondaryAlsoSends(ActiveStandby):
    """Leads without the Lease as soon as it runs."""

    def checkpoint_arrived(self, event: on.CheckpointArrived) -> Commands:
        commands = super().checkpoint_arrived(event)
        if any(isinstance(c, do.Run) for c in commands):
            return (*commands, do.Lead(self.epoch, None, "does not wait for the Lease", live=True))
        return commands


# --- replica backup


class ReplicaReleasesAlone(ReplicaBackup):
    """Acks its own position, whatever its peer still needs."""

    def _acks(self, mine: Marks) -> Commands:
        return tuple(do.SendAck(s, 1, mine[s]) for s in self.wiring.external)


class JoinerStartsEmpty(ReplicaBackup):
    def started(self, event: on.Started) -> Commands:
        return super().started(replace(event, fresh=True))


# --- savepoint


class SavepointOfThePresent(SavepointMode):
    """Saves where it is, not where the first unacked event came from."""

    def step_after(self, stream: Stream, oldest: Seq) -> Step:
        at, next_ = self.ledger.elements[str(stream)], self.ledger.queues[stream].next
        return Step(next_, next_, at.selection, at.positions, at.positions)


class SavepointForgetsTheSequencer(SavepointMode):
    def step_after(self, stream: Stream, oldest: Seq) -> Step:
        step = super().step_after(stream, oldest)
        return replace(step, first=Seq(max(0, step.first - 1)))


class SavepointWithoutSelection(SavepointMode):
    """Keeps the positions, forgets that older input is still needed."""

    def step_after(self, stream: Stream, oldest: Seq) -> Step:
        step = super().step_after(stream, oldest)
        return replace(step, low=step.at)


class TakesTheLowerSavepoint(SavepointMode):
    """Of two predecessors' answers, believes the one that has heard less."""

    def best(self, trees: list[Tree]) -> Tree | None:
        return min(trees, key=lambda t: t.root.next, default=None)


class ForgetsTheTreesBelow(SavepointMode):
    """Recovers itself, but can't tell its successors where they were."""

    def _lead(self, trees: dict[str, Tree], why: str) -> Commands:
        return super()._lead({n: Tree(t.root, {}) for n, t in trees.items()}, why)


class ForgetsItsOtherElements(SavepointMode):
    """Recovers the elements at its inputs; those behind them begin at zero."""

    def _collect(self, element: str, tree: Tree, found: dict[str, list[Tree]]) -> None:
        found.setdefault(element, []).append(tree)


class NeverRequestsAgain(SavepointMode):
    """A recovery request that a failed predecessor lost is not repeated; answers nothing while it waits."""

    def _restore_if_all_answered(self) -> Commands:
        answers = self._information or {}
        if self._information is None or len(answers) < 1:
            return ()
        self._information = None
        return self._lead({}, "does not wait for all predecessors")


# --- synchronized and extended backups


class PermanentTooEarly(SynchronizedBackup):
    """Does not wait for the consumers' backups."""

    def matched(self, backup: Checkpoint) -> bool:
        return True


class PermanentAtTheFirstAck(SynchronizedBackup):
    """One consumer's backup is enough."""

    def matched(self, backup: Checkpoint) -> bool:
        queues = self.ledger.queues
        return all(
            max((a.released for a in queues[s].acks.values()), default=Seq(0))
            >= backup.elements[s].held.start
            for s in self.wiring.leaving
        )


class ContinuesFromTheTemporaryBackup(SynchronizedBackup):
    def stored(self) -> Checkpoint | None:
        return self._temporary or self._kept


class AcksATemporaryBackup(SynchronizedBackup):
    def ship(self, elements: tuple[str, ...]) -> Commands:
        commands = super().ship(elements)
        return (*commands, *(self.release(self._in_flight) if self._in_flight else ()))


class AnswersARequestWithoutABackup(SynchronizedBackup):
    def backup_requested(self, event: on.BackupRequested) -> Commands:
        commands = super().backup_requested(event)
        return (*commands, do.SendAck(event.stream, 1, self.ledger.received(event.stream)))


class AcksAnExtensionBeforeItIsStored(SynchronizedBackup):
    def _extend(self, backup: Checkpoint, stream: Stream, upto: Seq) -> Commands:
        return (*super()._extend(backup, stream, upto), do.SendAck(stream, 1, upto))


class ForgetsTheExtension(SynchronizedBackup):
    def stored(self) -> Checkpoint | None:
        kept = super().stored()
        return replace(kept, extended={}) if kept is not None else None


class LastBackupWithoutTheQueue(SynchronizedBackup):
    """Before a hand-over, too, it leaves out the queue, though nobody was asked for a backup."""

    def ship_final(self) -> Commands:
        commands = self.ship(tuple(self.wiring.inputs))
        self._asked = True
        number = self._in_flight.number if self._in_flight else 0
        return (*commands, do.MakePermanent(self.epoch, number, {}, self.neighbours.trees))


# --- migration


class MovesWithoutTheSequencer(UpstreamBackup):
    def state(self, number: int) -> Checkpoint:
        state = super().state(number)
        reset = {n: replace(e, held=Range(e.held.start, e.held.start)) for n, e in state.elements.items()}
        return replace(state, elements=reset)


class TargetLeadsWithoutTheLease(PassiveStandby):
    def handed_over(self, event: on.HandedOver) -> Commands:
        commands = super().handed_over(event)
        return (
            (*commands, do.Lead(self.epoch, self.stored(), "does not wait for the Lease")) if commands else ()
        )


# --- several elements


class InnerSeqsFromZero(UpstreamBackup):
    """Elements inside a restarted subjob number from zero, though the watermarks say where they were."""

    def _inner(self, marks: list[Step]) -> Commands:
        return super()._inner([])


# --- amnesia


class AmnesiaReusesSeqs(Amnesia):
    def _rebase(self) -> Commands:
        return ()

    def _begin(self, roll: RollCall) -> Commands:
        self.roll, self.numbering = None, replace(self.numbering, lossy=False)
        return tuple(do.ReadInput(s, None) for s in self.wiring.entering)


class AmnesiaLosesSilently(Amnesia):
    def lost(self, stream: Stream, missing: Range) -> Commands:
        return (do.Skip(stream, missing.stop),)


# --- losses beyond what a mode survives


class ReplicaLosesSilently(ReplicaBackup):
    """A restart from nothing does not report what upstream no longer holds."""

    def lost(self, stream: Stream, missing: Range) -> Commands:
        return (do.Skip(stream, missing.stop),)


class UsesSeqsAgainAfterALoss(ActiveStandby):
    """Does not wait for its consumers: those take what it makes of the rest for what they have."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.resuming = ResumesNothing(self, always_new=not self.exact)


class ResumesNothing(Resuming):
    def takes_up(self, at: Mapping[Stream, Seq], *, differs: bool = False) -> None:
        super().takes_up(at, differs=differs)
        self._core.numbering = self._core.numbering.resuming({})


class LosesWithItsProducerSilently(UpstreamBackup):
    """Does not report what an earlier life had not released and its producer, which failed, too, makes no
    more."""

    def _needed_of(self, gone: Mapping[Stream, Range], roll: RollCall) -> dict[Stream, Range]:
        return {}


class FollowsALogOfOtherInput(LoggedBackup):
    """Skips what its producer, which began anew, has under the seqs of the log."""

    def _replay(self, roll: RollCall) -> Replay | None:
        self._others = {}
        return super()._replay(roll)


class ReportsWhatIsNotLost(PassiveStandby):
    """Takes what the former life had and the checkpoint lacks for lost, though it is read again."""

    def start_inputs(self, checkpoint: Checkpoint | None) -> Commands:
        commands = super().start_inputs(checkpoint)
        began = [c for c in commands if isinstance(c, do.ReadInput) and c.start and checkpoint is not None]
        return (
            *commands,
            *(do.ReportLoss(c.stream, Range(c.start, Seq(c.start + 1))) for c in began if c.start),
        )


# --- found by their time, or by their cause: what comes out is right


class TakesOverForNothing(PassiveStandby):
    """Tries the Lease of a primary that it hears, once it has a few checkpoints."""

    def checkpoint_arrived(self, event: on.CheckpointArrived) -> Commands:
        commands = super().checkpoint_arrived(event)
        if event.checkpoint.number == 4 and self.could_continue():
            return (*commands, *self.decided(self.leadership.tries("it feels like it")))
        return commands


class TakesOverLate(PassiveStandby):
    """Waits for two seconds of silence, whatever its kernel says."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.leadership = replace(self.leadership, detector=replace(self.detector, tau=2_000))

    def handle(self, event: Event) -> Commands:
        return () if isinstance(event, on.PeerClosed | on.PeerUnreachable) else super().handle(event)


class ProtectsLate(PassiveStandby):
    """After a take-over, gives a new standby nothing for five seconds."""

    _held: Event | None = None
    _ticks = 0

    def handle(self, event: Event) -> Commands:
        if isinstance(event, on.SecondaryJoined) and self.epoch > Epoch(1) and self._ticks < 250:
            self._held = event
            return ()
        if isinstance(event, on.Tick) and self._held is not None:
            self._ticks += 1
            if self._ticks == 250:
                return (*super().handle(event), *super().handle(self._held))
        return super().handle(event)


class IgnoresOrders(PassiveStandby):
    def handle(self, event: Event) -> Commands:
        if isinstance(event, on.LeaseSeen) and event.record is not None:
            event = on.LeaseSeen(replace(event.record, successor=None))
        return super().handle(event)


class AsksForItsInputForEver(PassiveStandby):
    """A primary subscribes to its inputs at every tick."""

    def lead_tick(self, now: Millis) -> Commands:
        again = (do.ReadInput(s, self.ledger.received(s)) for s in self.wiring.entering)
        return (*super().lead_tick(now), *again)


class RepeatsItsAcks(ActiveStandby):
    """Tells the newest ack for each input twenty times at every tick."""

    def lead_tick(self, now: Millis) -> Commands:
        commands = super().lead_tick(now)
        self.told = {
            **getattr(self, "told", {}),
            **{c.stream: c for c in commands if isinstance(c, do.SendAck)},
        }
        return (*commands, *(ack for ack in self.told.values() for _ in range(20)))


def _of(says: str, core: type[Instance], mode: str, seen: int) -> Mistake:
    slot = {
        "amnesia": "amnesia",
        "passiveStandby": "passive",
        "upstreamBackup": "upstream",
        "activeStandby": "active",
        "replicaBackup": "replica",
        "savepoint": "savepoint",
        "passiveStandby/synchronized": "synchronized",
        "passiveStandby/extended": "synchronized",
    }[mode]
    slot = "logged" if issubclass(core, LoggedBackup) else slot
    return Mistake(says, replace(Cores(), **{slot: core}), mode, seen)  # type: ignore[arg-type]


BY_TIME_OR_CAUSE = [
    _of("a standby takes over though nothing has happened", TakesOverForNothing, "passiveStandby", 0),
    _of("a standby takes over late", TakesOverLate, "passiveStandby", 0),
    _of("a new standby is protected late", ProtectsLate, "passiveStandby", 0),
    _of("an ordered move is ignored", IgnoresOrders, "passiveStandby", 33),
    _of("inputs are asked for without end", AsksForItsInputForEver, "passiveStandby", 0),
    _of("acks are told again and again", RepeatsItsAcks, "activeStandby", 0),
]
"""What comes out is right: only the time of what was seen, its cause, or how often it was said is wrong."""
MISTAKES = [
    _of("an ack trims one too far", TrimsOneTooFar, "passiveStandby", 0),
    _of("acks before the secondary stored it", AcksBeforeTheSecondaryStored, "passiveStandby", 0),
    _of("releases what is processed but not checkpointed", ReleasesWhatIsProcessed, "passiveStandby", 0),
    _of("the secondary forgets the sequencer", ForgetsTheSequencer, "passiveStandby", 0),
    _of("the secondary reads on from the newest input", ReadsOnFromTheNewest, "passiveStandby", 12),
    _of(
        "an arbitrary network forwards before the checkpoint",
        ForwardsBeforeTheCheckpoint,
        "passiveStandby",
        12,
    ),
    _of("a divergent queue is sent under old seqs", SendsADivergentQueueUnderOldSeqs, "passiveStandby", 239),
    _of("the secondary confirms a checkpoint it does not keep", StoresAnOlderCheckpoint, "passiveStandby", 0),
    _of(
        "a restarted primary overtakes the standby with the state",
        TakesOverWithNothing,
        "passiveStandby",
        118,
    ),
    _of("a refused connection counts as a death", TakesARefusedConnectionForADeath, "passiveStandby", 85),
    _of("the holder of a Lease is not asked", AsksNoHolder, "passiveStandby", 0),
    _of("the only state is given up for a short hang", GivesUpItsStateForAHang, "passiveStandby", 145),
    _of("the filter accepts equal ids", AcceptsEqualIds, "passiveStandby", 34),
    _of("the filter accepts what it has", AcceptsOldTuples, "passiveStandby", 25),
    _of("an old epoch is accepted", LeadsInTheOldEpoch, "passiveStandby", 0),
    _of("a primary that was replaced leads on", NeverStepsDown, "passiveStandby", 15),
    _of("level-1 acks what was received", AcksWhatWasReceived, "upstreamBackup", 5),
    _of("level-1 acks what was processed", AcksThePositionNotTheLowWatermark, "upstreamBackup", 5),
    _of("cause maps to the high watermark", MapsToTheHighWatermark, "upstreamBackup", 31),
    _of("cause maps the newest ack of any consumer", CausesOfWhatAnyConsumerHas, "upstreamBackup", 31),
    _of("what is made again is numbered as new", RestartsNumberingAtTheFurthest, "upstreamBackup", 5),
    _of("one step too many is dropped", DropsOneStepTooMany, "upstreamBackup", 5),
    _of("a replacement does not wait for its consumers", DoesNotWaitForTheRollCall, "upstreamBackup", 1),
    _of("tuples are sent before their step is logged", SendsBeforeTheLog, "upstreamBackup", 8),
    _of("a standby confirms a part of the log and loses it", ConfirmsWithoutKeeping, "upstreamBackup", 7),
    _of("the log is trimmed too far", TrimsTheLogTooFar, "upstreamBackup", 16),
    _of("a take-over ignores the logged choices", IgnoresTheLoggedChoices, "upstreamBackup", 8),
    _of(
        "input is released by steps that are not logged",
        ReleasesByStepsThatAreNotConfirmed,
        "upstreamBackup",
        21,
    ),
    _of("a new standby gets no log", OffersNoLog, "upstreamBackup", 75),
    _of("elements that share a stream begin at one place", BeginsAtOnePlace, "upstreamBackup", 306),
    _of("a secondary trims what is not duplicate", TrimsEqualWatermarks, "activeStandby", 0),
    _of("a secondary keeps no log", SecondaryTrimsWhatItMade, "activeStandby", 0),
    _of("upstream is acked before the secondary has it", AcksWithoutTheSecondary, "activeStandby", 3),
    _of(
        "tuples are sent before their determinants are stored",
        SendsBeforeTheDeterminants,
        "activeStandby",
        90,
    ),
    _of("a secondary ignores determinants", SecondaryIgnoresDeterminants, "activeStandby", 3),
    _of("a secondary numbers from zero", SecondaryNumbersFromZero, "activeStandby", 387),
    _of("a secondary leads without the Lease", SecondaryAlsoSends, "activeStandby", 0),
    _of("a replica releases what its peer still needs", ReplicaReleasesAlone, "replicaBackup", 2),
    _of("a joining replica starts empty", JoinerStartsEmpty, "replicaBackup", 0),
    _of("the savepoint is the present selection", SavepointOfThePresent, "savepoint", 31),
    _of("the savepoint's sequencer is one off", SavepointForgetsTheSequencer, "savepoint", 3),
    _of("the savepoint has positions but no selection", SavepointWithoutSelection, "savepoint", 17),
    _of("the savepoint with the lower seq is taken", TakesTheLowerSavepoint, "savepoint", 34),
    _of("a recovered operator forgets the trees below", ForgetsTheTreesBelow, "savepoint", 132),
    _of("an operator does not wait for all predecessors", NeverRequestsAgain, "savepoint", 3),
    _of("a recovered operator forgets its inner elements", ForgetsItsOtherElements, "savepoint", 5),
    _of(
        "a synchronized backup is made permanent too early",
        PermanentTooEarly,
        "passiveStandby/synchronized",
        0,
    ),
    _of("one consumer's backup is enough", PermanentAtTheFirstAck, "passiveStandby/synchronized", 0),
    _of(
        "a take-over uses the temporary backup",
        ContinuesFromTheTemporaryBackup,
        "passiveStandby/synchronized",
        1,
    ),
    _of("a temporary backup is acked", AcksATemporaryBackup, "passiveStandby/synchronized", 0),
    _of(
        "a backup request is acked without a backup",
        AnswersARequestWithoutABackup,
        "passiveStandby/synchronized",
        0,
    ),
    _of(
        "an extension is acked before it is stored",
        AcksAnExtensionBeforeItIsStored,
        "passiveStandby/extended",
        0,
    ),
    _of(
        "an extended backup is restored without its extension",
        ForgetsTheExtension,
        "passiveStandby/extended",
        8,
    ),
    _of(
        "the last backup before a move has no queue",
        LastBackupWithoutTheQueue,
        "passiveStandby/synchronized",
        59,
    ),
    _of("a move forgets the sequencer", MovesWithoutTheSequencer, "upstreamBackup", 0),
    _of("the target of a move leads without the Lease", TargetLeadsWithoutTheLease, "passiveStandby", 2),
    _of("inner seqs of a restarted subjob begin at zero", InnerSeqsFromZero, "upstreamBackup", 5),
    _of("a replacement uses seqs again", AmnesiaReusesSeqs, "amnesia", 1),
    _of("losses are not reported", AmnesiaLosesSilently, "amnesia", 8),
    _of("a restart from nothing loses silently", ReplicaLosesSilently, "replicaBackup", 231),
    _of("seqs are used again after a loss", UsesSeqsAgainAfterALoss, "activeStandby", 104),
    _of(
        "what is lost with its producer is not reported", LosesWithItsProducerSilently, "upstreamBackup", 430
    ),
    _of("a log of other input is followed", FollowsALogOfOtherInput, "upstreamBackup", 96),
    _of("what is read again is reported as lost", ReportsWhatIsNotLost, "passiveStandby", 0),
    *BY_TIME_OR_CAUSE,
]
