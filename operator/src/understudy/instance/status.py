"""What an instance says of itself (docs/architecture.md, "Status page")."""

from __future__ import annotations

from statistics import median
from typing import Any

from understudy.instance.context import Context
from understudy.modes.amnesia import Amnesia
from understudy.modes.leadership import Role
from understudy.modes.passive_standby import PassiveStandby
from understudy.protocol.ids import Consumer, Stream
from understudy.protocol.queue import OutputQueue


def status_of(context: Context) -> dict[str, Any]:
    with context.lock:
        core = context.core
        return {
            "kind": "subjob",
            "job": context.job.name,
            "subjob": context.subjob.name,
            "instance": core.name,
            "role": core.role.value,
            "mode": context.subjob.ha.mode.value,
            "settings": context.wanted.digest,
            "change": context.story.change,
            "epoch": core.epoch,
            "state": state_of(context),
            "error": context.story.error,
            "protected": core.protected,
            "secondary": core.secondary,
            "inputs": _inputs(context),
            "outputs": {s: _output(context, q) for s, q in core.ledger.queues.items()},
            "checkpoint": _checkpoint(context),
            "sent": {"checkpointBytes": context.story.shipped_bytes, "ackBytes": context.story.acked_bytes},
            "ifItFailedNow": _if_it_failed_now(context),
            "batches": {
                "count": context.story.batch_count,
                "medianMs": round(median(context.story.batch_ms)) if context.story.batch_ms else None,
            },
            "takeover": context.story.take_over.to_json()
            if context.story.take_over and context.story.take_over.promoted
            else None,
            "overload": context.story.overload,
            "departure": context.story.departure.to_json() if context.story.departure else None,
            "losses": [{"stream": s, "from": a, "to": b} for s, a, b in context.story.losses],
        }


def state_of(context: Context) -> str:
    if context.story.error is not None:
        return "failed"
    if context.story.engine_stalled is not None:
        return "stalled"
    if context.story.state != "ready":
        return context.story.state
    if context.core.role is Role.PRIMARY:
        return "finished" if all(q.ended for q in context.core.ledger.queues.values()) else "ready"
    return "ready" if context.core.could_continue() else "waiting"


def _inputs(context: Context) -> dict[str, Any]:
    leading = context.core.role is Role.PRIMARY
    positions = context.positions() if leading else context.story.primary_positions
    return {
        s: {"position": n, "available": max(n, context.story.available.get(s, 0))}
        for s, n in positions.items()
    }


def _output(context: Context, queue: OutputQueue) -> dict[str, Any]:
    store = context.stores[queue.stream]
    acks = {
        c: {"received": a.received, "released": a.released, **_lag(context, queue, c)}
        for c, a in queue.acks.items()
    }
    held = {"bytes": store.bytes, "onDisk": store.bytes_on_disk, "full": store.full}
    return {"trimmed": queue.trimmed, "next": queue.next, **held, "ended": queue.ended, "consumers": acks}


def _lag(context: Context, queue: OutputQueue, consumer: Consumer) -> dict[str, int]:
    """How far a consumer is behind: only the one who sends knows."""
    if context.core.role is not Role.PRIMARY:
        return {}
    tuples, milliseconds = context.lag(queue.stream, consumer)
    return {"lag": tuples, "lagMs": milliseconds}


def _checkpoint(context: Context) -> dict[str, Any] | None:
    if context.core.role is Role.STANDBY:
        kept = context.shelf.newest
        return {"number": kept.number, "bytes": context.shelf.size} if kept else None
    if not isinstance(context.core, PassiveStandby) or context.story.shipped_at is None:
        return None
    return {"number": context.core.number, "atMs": context.story.shipped_at}


def _if_it_failed_now(context: Context) -> dict[str, Any] | None:
    """What a take-over at this moment would process again, and lose. None where nobody could take over."""
    core = context.core
    if core.role is not Role.PRIMARY or not core.protected:
        return None
    if isinstance(core, Amnesia):
        there = sum(known["available"] - core.passed_on(Stream(s)) for s, known in _inputs(context).items())
        coming = context.story.tuples_per_ms * context.heartbeat * 1000
        return {"replayTuples": 0, "replaySeconds": 0.0, "lostTuples": there + round(coming)}
    told = context.told_to_all()
    tuples = sum(max(0, n - core.replays_from(Stream(s), told)) for s, n in context.positions().items())
    seconds = round(context.story.replay_seconds(tuples), 3)
    return {"replayTuples": tuples, "replaySeconds": seconds, "lostTuples": 0}
