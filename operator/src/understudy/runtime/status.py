"""What an instance says of itself (docs/architecture.md, "Status page")."""

from __future__ import annotations

from statistics import median
from typing import Any

from understudy.modes.amnesia import Amnesia
from understudy.modes.instance import Role
from understudy.modes.passive_standby import PassiveStandby
from understudy.protocol.ids import Consumer, Stream
from understudy.protocol.queue import OutputQueue
from understudy.runtime.scene import Scene


def status_of(scene: Scene) -> dict[str, Any]:
    with scene.lock:
        core = scene.core
        return {
            "kind": "subjob",
            "job": scene.job.name,
            "subjob": scene.subjob.name,
            "instance": core.name,
            "role": core.role.value,
            "mode": scene.subjob.ha.mode.value,
            "settings": scene.wanted.digest,
            "change": scene.story.change,
            "epoch": core.epoch,
            "state": state_of(scene),
            "error": scene.story.error,
            "protected": core.protected,
            "secondary": core.secondary,
            "inputs": _inputs(scene),
            "outputs": {s: _output(scene, q) for s, q in core.ledger.queues.items()},
            "checkpoint": _checkpoint(scene),
            "sent": {"checkpointBytes": scene.story.shipped_bytes, "ackBytes": scene.story.acked_bytes},
            "ifItFailedNow": _if_it_failed_now(scene),
            "batches": {
                "count": scene.story.batch_count,
                "medianMs": round(median(scene.story.batch_ms)) if scene.story.batch_ms else None,
            },
            "takeover": scene.story.take_over.to_json()
            if scene.story.take_over and scene.story.take_over.promoted
            else None,
            "overload": scene.story.overload,
            "departure": scene.story.departure.to_json() if scene.story.departure else None,
            "losses": [{"stream": s, "from": a, "to": b} for s, a, b in scene.story.losses],
        }


def state_of(scene: Scene) -> str:
    if scene.story.error is not None:
        return "failed"
    if scene.story.engine_stalled is not None:
        return "stalled"
    if scene.story.state != "ready":
        return scene.story.state
    if scene.core.role is Role.PRIMARY:
        return "finished" if all(q.ended for q in scene.core.ledger.queues.values()) else "ready"
    return "ready" if scene.core.could_continue() else "waiting"


def _inputs(scene: Scene) -> dict[str, Any]:
    leading = scene.core.role is Role.PRIMARY
    positions = scene.positions() if leading else scene.story.primary_positions
    return {s: {"position": n, "available": max(n, scene.story.available.get(s, 0))} for s, n in positions.items()}


def _output(scene: Scene, queue: OutputQueue) -> dict[str, Any]:
    store = scene.stores[queue.stream]
    acks = {c: {"received": a.received, "released": a.released, **_lag(scene, queue, c)} for c, a in queue.acks.items()}
    held = {"bytes": store.bytes, "onDisk": store.bytes_on_disk, "full": store.full}
    return {"trimmed": queue.trimmed, "next": queue.next, **held, "ended": queue.ended, "consumers": acks}


def _lag(scene: Scene, queue: OutputQueue, consumer: Consumer) -> dict[str, int]:
    """How far a consumer is behind: only the one who sends knows."""
    if scene.core.role is not Role.PRIMARY:
        return {}
    tuples, milliseconds = scene.lag(queue.stream, consumer)
    return {"lag": tuples, "lagMs": milliseconds}


def _checkpoint(scene: Scene) -> dict[str, Any] | None:
    if scene.core.role is Role.STANDBY:
        kept = scene.shelf.newest
        return {"number": kept.number, "bytes": scene.shelf.size} if kept else None
    if not isinstance(scene.core, PassiveStandby) or scene.story.shipped_at is None:
        return None
    return {"number": scene.core.number, "atMs": scene.story.shipped_at}


def _if_it_failed_now(scene: Scene) -> dict[str, Any] | None:
    """What a take-over at this moment would process again, and lose. None where nobody could take over."""
    core = scene.core
    if core.role is not Role.PRIMARY or not core.protected:
        return None
    if isinstance(core, Amnesia):
        there = sum(known["available"] - core.passed_on(Stream(s)) for s, known in _inputs(scene).items())
        coming = scene.story.tuples_per_ms * scene.heartbeat * 1000
        return {"replayTuples": 0, "replaySeconds": 0.0, "lostTuples": there + round(coming)}
    told = scene.told_to_all()
    tuples = sum(max(0, n - core.replays_from(Stream(s), told)) for s, n in scene.positions().items())
    seconds = round(scene.story.replay_seconds(tuples), 3)
    return {"replayTuples": tuples, "replaySeconds": seconds, "lostTuples": 0}
