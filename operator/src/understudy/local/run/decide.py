"""Observe → decide: whom to start, when the streams begin, whom to hurt, when it is over. No I/O, no
clock."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from understudy.control.giving_up import Attempt, give_up, kills_of, why_given_up
from understudy.control.replacing import TOO_MANY, Crew, Instances, Post, next_starts, surplus
from understudy.local.run.fault_plan import Fault, Target
from understudy.local.run.members import Kind, Members, Process
from understudy.model.ha import Mode
from understudy.modes.build import sink_consumer
from understudy.protocol.engine import not_started
from understudy.protocol.failures import AlternativeBranch, FailureProcess, Means
from understudy.protocol.poison import sentence
from understudy.protocol.statuspage import InstancePage, Lag, Role, SinkPage, State, StatusPage

PATIENCE_MS: Final = 300_000  # a cold Spark session takes under a minute; a move has its own limit
START_DELAY_MS: Final = 500


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of one process."""

    process: Process
    age_ms: int
    exit_code: int | None
    hurt: bool
    page: StatusPage | None
    """None before it answers."""
    ready_ms: int | None = None
    """How long ago it was ready for the first time."""

    @property
    def alive(self) -> bool:
        return self.exit_code is None

    @property
    def instance(self) -> InstancePage:
        """The page of an instance; before it answers, one that tells nothing."""
        return self.page if isinstance(self.page, InstancePage) else InstancePage()

    @property
    def sink(self) -> SinkPage:
        """The page of a sink; before it answers, one that tells nothing."""
        return self.page if isinstance(self.page, SinkPage) else SinkPage()

    @property
    def state(self) -> State:
        return self.page.state if self.page is not None else State.STARTING

    @property
    def ready(self) -> bool:
        return self.alive and self.state.serves

    @property
    def was_ready(self) -> bool:
        return self.ready_ms is not None


@dataclass(frozen=True, slots=True)
class Done:
    """A fault that was carried out."""

    fault: Fault
    victim: Process
    at_ms: int
    """Wall clock."""
    had_standby: bool = False


@dataclass(frozen=True, slots=True)
class Observed:
    now_ms: int
    started_ms: int | None
    seen: tuple[Seen, ...]
    holders: Mapping[str, str]
    """The instance that holds each subjob's Lease."""
    done: tuple[Done, ...] = ()
    resumed: frozenset[Done] = frozenset()
    asked_to_stop: bool = False
    told: frozenset[tuple[Process, str]] = frozenset()
    """The settings that each process has received."""
    killed: frozenset[Process] = frozenset()
    """Those that were killed because they stood still. One that waits for a disk dies only when that comes
    back."""
    successors: Mapping[str, str] = field(default_factory=dict)
    """The instance that each subjob's Lease names as the target of a move."""
    under_way: frozenset[str] = frozenset()
    """Subjobs that are about to move."""
    moving: frozenset[Process] = frozenset()
    """Both sides of every move that is not over, and the targets of those that have failed."""

    def of(self, kind: Kind, owner: str) -> list[Seen]:
        return [s for s in self.seen if s.process.kind is kind and s.process.owner == owner]

    def living(self, kind: Kind, owner: str) -> list[Seen]:
        return [s for s in self.of(kind, owner) if s.alive]

    def primary(self, subjob: str) -> Seen | None:
        holder = self.holders.get(subjob)
        return next((s for s in self.living(Kind.SUBJOB, subjob) if s.process.name == holder), None)

    def standby(self, subjob: str) -> Seen | None:
        holder = self.holders.get(subjob)
        return next((s for s in self.living(Kind.SUBJOB, subjob) if s.process.name != holder), None)

    def protected(self, subjob: str) -> bool:
        """Whether its primary says that somebody could take over now."""
        primary = self.primary(subjob)
        return primary is not None and primary.instance.protected

    def lag(self, sink: str) -> Lag | None:
        """By how much a sink is behind. The primary of its producer says so: a sink that hangs says
        nothing."""
        for primary in (found for subjob in self.holders if (found := self.primary(subjob))):
            for queue in primary.instance.outputs.values():
                if (consumer := queue.consumers.get(sink_consumer(sink))) is not None:
                    return consumer.lag
        return None

    def covered(self, process: Process) -> bool:
        """Whether another instance of the subjob could take over from it at once."""
        return any(s.ready and s.process != process for s in self.of(process.kind, process.owner))


# --- what to do


@dataclass(frozen=True, slots=True)
class Start:
    process: Process


@dataclass(frozen=True, slots=True)
class Open:
    """The streams begin at this moment."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class Hurt:
    fault: Fault
    victim: Process


@dataclass(frozen=True, slots=True)
class Kill:
    """A sink whose disk stands still, an instance whose Spark does not start: the next process may find it
    working."""

    process: Process
    why: str


@dataclass(frozen=True, slots=True)
class Resume:
    """A process was stopped for long enough."""

    done: Done


@dataclass(frozen=True, slots=True)
class Tell:
    """The manifest was edited: the instance has to know."""

    process: Process
    settings: str


@dataclass(frozen=True, slots=True)
class Retire:
    """Nobody needs this standby."""

    process: Process
    why: str


@dataclass(frozen=True, slots=True)
class StandIn:
    """The subjob has failed for good: its alternative plays from now on."""

    subjob: str
    alternative: str
    why: str


@dataclass(frozen=True, slots=True)
class LastResort:
    """The subjob has failed for good, and nothing is left but its failure process."""

    subjob: str
    why: str


@dataclass(frozen=True, slots=True)
class Fail:
    exit_code: int
    why: str
    culprit: Process | None = None


@dataclass(frozen=True, slots=True)
class Finish:
    why: str
    complete: bool
    """Whether every stream came to its end."""


Intent = Start | Open | Hurt | Kill | Resume | Tell | Retire | StandIn | LastResort | Fail | Finish


class Nemesis(Protocol):
    """Who hurts the job."""

    def strike(self, observed: Observed) -> Iterator[Hurt]:
        """Whom to hurt now."""

    def satisfied(self, observed: Observed) -> bool:
        """Whether the run may end because all that was to be seen has been seen."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Faults at their times. One whose victim does not live at that moment waits until there is one."""

    faults: tuple[Fault, ...] = ()

    def strike(self, observed: Observed) -> Iterator[Hurt]:
        if observed.started_ms is None:
            return
        elapsed = observed.now_ms - observed.started_ms
        victims: set[Process] = set()
        for fault in self.left(observed.done):
            victim = victim_of(fault, observed)
            if elapsed >= fault.at_ms and victim and victim not in victims:
                victims.add(victim)
                yield Hurt(fault, victim)

    def left(self, struck: Iterable[Done]) -> list[Fault]:
        left = list(self.faults)
        for done in struck:
            left.remove(done.fault)
        return left

    def satisfied(self, observed: Observed) -> bool:
        return False


def victim_of(fault: Fault, observed: Observed) -> Process | None:
    match fault.target:
        case Target.PRIMARY:
            found = observed.primary(fault.owner)
        case Target.STANDBY:
            found = observed.standby(fault.owner)
        case Target.PROTECTED:
            primary = observed.primary(fault.owner)
            found = (
                primary
                if primary and all(_protected(n, observed) for n in _around(primary, observed))
                else None
            )
        case Target.RECOVERING:
            primary = observed.primary(fault.owner)
            found = primary if primary and _recovers(primary, observed) else None
        case Target.JOINING:
            newcomer = next(filter(_joins, observed.living(Kind.SUBJOB, fault.owner)), None)
            found = newcomer if observed.primary(fault.owner) else None
        case Target.SINK:
            found = next(iter(observed.living(Kind.SINK, fault.owner)), None)
    return found.process if found else None


def _around(primary: Seen, observed: Observed) -> set[str]:
    """Its subjob and those that it reads or that read it: where neighbours fail together, some modes promise
    less."""
    outputs = primary.instance.outputs.values()
    near = {*primary.instance.inputs, *(consumer for queue in outputs for consumer in queue.consumers)}
    subjobs = {s.process.owner for s in observed.seen if s.process.kind is Kind.SUBJOB}
    return {primary.process.owner, *(near & subjobs)}


def _protected(subjob: str, observed: Observed) -> bool:
    primary = observed.primary(subjob)
    return primary is not None and observed.covered(primary.process) and observed.protected(subjob)


def _recovers(primary: Seen, observed: Observed) -> bool:
    """A page is a little behind: a process that has just taken the Lease still calls itself a standby."""
    if primary.instance.role is Role.STANDBY:
        return primary.process not in observed.moving
    story = primary.instance.take_over
    return story is not None and not story.planned and story.caught_up is None


def _joins(instance: Seen) -> bool:
    return not instance.was_ready and instance.state in (State.WARMING_UP, State.WAITING)


def decide(members: Members, nemesis: Nemesis, at_once: int, observed: Observed) -> list[Intent]:
    """What to do now. `at_once`: how many Spark sessions may be starting at the same time."""
    if (over := _over(members, nemesis, observed)) is not None:
        return [over]
    if (failure := _failure(members, observed)) is not None:
        return [failure]
    intents: list[Intent] = list(_starts(members, at_once, observed))
    if observed.started_ms is None and not intents and _all_ready(members, observed):
        intents.append(Open(observed.now_ms + START_DELAY_MS))
    edits: list[Intent] = [*_tells(members, observed), *_surplus(members, observed)]
    return [*intents, *edits, *_kills(observed), *_resumes(observed), *nemesis.strike(observed)]


def _tells(members: Members, observed: Observed) -> Iterator[Tell]:
    for seen in observed.seen:
        wanted, known = members.settings.get(seen.process.owner, ""), seen.instance.settings
        if seen.alive and known not in (None, wanted) and (seen.process, wanted) not in observed.told:
            yield Tell(seen.process, wanted)


def _surplus(members: Members, observed: Observed) -> Iterator[Retire]:
    for subjob in (name for name in members.subjobs if name not in observed.under_way):
        primary = observed.primary(subjob)
        mode = primary.instance.mode if primary else None
        if primary is None or mode is None:
            continue
        living = observed.living(Kind.SUBJOB, subjob)
        standbys = {s.process.name: s.process for s in living if s is not primary}
        wanted, secondary = members.instances[subjob], primary.instance.secondary
        found = surplus(Instances(wanted, len(living), tuple(standbys), secondary, Mode(mode)))
        yield from (Retire(standbys[name], TOO_MANY) for name in found)


def _kills(observed: Observed) -> Iterator[Kill]:
    """What the kubelet does on a cluster, as `/healthz` fails."""
    for seen in (s for s in observed.seen if s.alive and s.process not in observed.killed):
        why = seen.sink.stalled if seen.process.kind is Kind.SINK else _not_started(seen, observed)
        if why is not None:
            yield Kill(seen.process, why)


def _not_started(seen: Seen, observed: Observed) -> str | None:
    return not_started(seen.age_ms) if _starts_anew(seen, observed) else None


def _starts_anew(seen: Seen, observed: Observed) -> bool:
    """While the streams run, there is one more try. Before that the run fails."""
    of_subjob = seen.process.kind is Kind.SUBJOB and seen.process not in observed.moving
    return of_subjob and observed.started_ms is not None and seen.state is State.STARTING


def _resumes(observed: Observed) -> Iterator[Resume]:
    for done in observed.done:
        stop_ms = done.fault.stop_ms
        if stop_ms is not None and done not in observed.resumed and observed.now_ms >= done.at_ms + stop_ms:
            yield Resume(done)


def _over(members: Members, nemesis: Nemesis, observed: Observed) -> Finish | None:
    if observed.asked_to_stop:
        return Finish("asked to stop", complete=False)
    if observed.started_ms is None:
        return None
    if nemesis.satisfied(observed):
        return Finish("everything to be measured has been measured", complete=False)
    if members.sinks and all(_written(observed, sink) for sink in members.sinks):
        return Finish("every sink has written its stream to the end", complete=True)
    if not members.sinks and all(_ended(observed, subjob) for subjob in members.subjobs):
        return Finish("every subjob has come to the end of its streams", complete=True)
    return None


def _written(observed: Observed, sink: str) -> bool:
    return any(s.exit_code == 0 for s in observed.of(Kind.SINK, sink))


def _ended(observed: Observed, subjob: str) -> bool:
    primary = observed.primary(subjob)
    return primary is not None and primary.state is State.FINISHED


def _failure(members: Members, observed: Observed) -> Fail | StandIn | LastResort | None:
    for seen in observed.seen:
        if seen.exit_code is not None and not seen.hurt and (failure := _death(members, seen, observed)):
            return failure
        awaited = seen.alive and not seen.was_ready and seen.process not in observed.moving
        awaited = awaited and not _starts_anew(seen, observed)
        if awaited and seen.age_ms > PATIENCE_MS:
            why = f"{seen.process.name} was not ready after {PATIENCE_MS // 60_000} minutes"
            return Fail(1, why, seen.process)
    return None


def _death(members: Members, seen: Seen, observed: Observed) -> Fail | StandIn | LastResort | None:
    """A process that died by itself is replaced, unless that keeps happening before one is ready or at the
    same place, or it cannot run here at all."""
    if seen.process.kind is Kind.SINK and seen.exit_code == 0:
        return None
    said = f"{seen.process.name} ended with {_how(seen.exit_code)}"
    if seen.exit_code == 3:
        return Fail(3, f"{said}: this machine lacks something", seen.process)
    mates = observed.of(seen.process.kind, seen.process.owner)
    present = [s for s in mates if s.process.number >= members.since.get(s.process.owner, 0)]
    given_up = why_given_up([_attempt(s) for s in present])
    if given_up is None:
        return None
    dead = [s.process for s in present if s.exit_code is not None and s.process.name == given_up.last]
    poison = poison_of(members, present)
    why = f"{given_up.why}: {poison}" if poison else given_up.why
    return _for_good(members, dead[-1], why, observed)


def _attempt(seen: Seen) -> Attempt:
    """A SIGKILL that we did not send comes from the kernel, which has no memory left, or from a person."""
    page = seen.instance
    return Attempt(
        name=seen.process.name,
        ended=_how(seen.exit_code) if seen.exit_code is not None and not seen.hurt else None,
        was_ready=seen.was_ready,
        led=page.leads,
        processed=page.leads or bool(page.inputs),
        caught_up=page.take_over is None or page.take_over.caught_up is not None,
        reached={f"in {stream}": at.position for stream, at in page.inputs.items()}
        | {f"out {stream}": queue.next for stream, queue in page.outputs.items()},
        out_of_memory=seen.exit_code == -signal.SIGKILL and not seen.hurt,
        place=page.place,
    )


def poison_of(members: Members, mates: list[Seen]) -> str | None:
    """What is said of a subjob that is killed at the same place again and again."""
    kills = kills_of(map(_attempt, mates))
    if not kills.poisonous:
        return None
    owner = mates[-1].process.owner
    limit = f"{members.memory.get(owner, 'nothing')} declared, and what this machine has"
    return sentence(owner, kills, limit)


def _for_good(members: Members, last: Process, why: str, observed: Observed) -> Fail | StandIn | LastResort:
    """A run without a standby would not be what was asked for, even if the primary serves."""
    means = members.means.get(last.owner, Means(None))
    match give_up(why, started=observed.started_ms is not None, covered=False, means=means):
        case AlternativeBranch(subjob, reason):
            return StandIn(last.owner, subjob, reason)
        case FailureProcess(reason):
            return LastResort(last.owner, reason)
        case _:
            return Fail(1, why, last)


def _how(exit_code: int | None) -> str:
    return f"signal {-exit_code}" if exit_code is not None and exit_code < 0 else f"exit code {exit_code}"


def _starts(members: Members, at_once: int, observed: Observed) -> Iterator[Start]:
    warming = sum(s.alive and s.process.kind is Kind.SUBJOB and not s.was_ready for s in observed.seen)
    posts = [
        Post((kind, owner), count, has_session=kind is Kind.SUBJOB)
        for kind, owner, count in members.order()
        if kind is Kind.SUBJOB or not _written(observed, owner)
    ]
    made = {post.owner: len(observed.of(*post.owner)) for post in posts}
    crews = {owner: Crew(len(observed.living(*owner)), count) for owner, count in made.items()}
    for owner in next_starts(posts, crews, at_once - warming, observed.started_ms is not None):
        yield Start(Process(*owner, made[owner]))
        made[owner] += 1


def _all_ready(members: Members, observed: Observed) -> bool:
    return all(sum(s.ready for s in observed.of(k, owner)) >= wanted for k, owner, wanted in members.order())
