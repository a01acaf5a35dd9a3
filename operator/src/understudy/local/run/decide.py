"""Decides what a run does now: processes to start, the begin of the streams, faults, replacements, and the
end. No I/O, no clock.

`control.replacing` and `control.giving_up` decide which instances start and which subjob has failed for
good, here as on a cluster; `local_moves` asks `control.planned_move`.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Final

from understudy.control.giving_up import Attempt, give_up, kills_of, why_given_up
from understudy.control.replacing import TOO_MANY, Crew, Instances, Post, next_starts, surplus
from understudy.local.run.intents import (
    Fail,
    Finish,
    Intent,
    Kill,
    LastResort,
    Open,
    Resume,
    Retire,
    StandIn,
    Start,
    Tell,
)
from understudy.local.run.members import Kind, Members, Process
from understudy.local.run.nemesis import Nemesis
from understudy.local.run.observed import Observed, Seen
from understudy.model.ha import Mode
from understudy.protocol.engine import not_started
from understudy.protocol.failures import AlternativeBranch, FailureProcess, Means
from understudy.protocol.poison import sentence
from understudy.protocol.statuspage import State

PATIENCE_MS: Final = 300_000  # a cold Spark session takes under a minute; a move has its own limit
START_DELAY_MS: Final = 500


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
    """On a cluster the kubelet does this when `/healthz` fails."""
    for seen in (s for s in observed.seen if s.alive and s.process not in observed.killed):
        why = seen.sink.stalled if seen.process.kind is Kind.SINK else _not_started(seen, observed)
        if why is not None:
            yield Kill(seen.process, why)


def _not_started(seen: Seen, observed: Observed) -> str | None:
    return not_started(seen.age_ms) if _starts_anew(seen, observed) else None


def _starts_anew(seen: Seen, observed: Observed) -> bool:
    """Whether a new process is tried in its place: only while the streams run. Before that the run fails."""
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
    """Why a process that ended by itself is not replaced: its successors also end before they are ready, or
    at the same place, or this machine lacks something. None if it is replaced."""
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
    """A SIGKILL that is no fault of the run comes from the kernel, which has no memory left, or from a
    person."""
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
    """Why input may be to blame: the subjob's instances are killed at the same place again and again."""
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
