"""What an instance says of itself (docs/architecture.md, "Status page")."""

from __future__ import annotations

from statistics import median
from typing import Any

from understudy.model.ha import Mode
from understudy.modes.instance import Role
from understudy.modes.passive_standby import PassiveStandby
from understudy.protocol.ids import Stream
from understudy.protocol.queue import OutputQueue
from understudy.runtime.shell import Shell


def status_of(shell: Shell) -> dict[str, Any]:
    with shell.lock:
        core = shell.core
        return {
            "kind": "subjob",
            "job": shell.job.name,
            "subjob": shell.subjob.name,
            "instance": core.name,
            "role": core.role.value,
            "epoch": core.epoch,
            "state": state_of(shell),
            "error": shell.error,
            "protected": isinstance(core, PassiveStandby) and core.protected,
            "secondary": core.secondary if isinstance(core, PassiveStandby) else None,
            "inputs": _inputs(shell),
            "outputs": {s: _output(q, shell.stores[s].bytes) for s, q in core.ledger.queues.items()},
            "checkpoint": _checkpoint(shell),
            "ifItFailedNow": _if_it_failed_now(shell),
            "batches": {
                "count": shell.batch_count,
                "medianMs": round(median(shell.batch_ms)) if shell.batch_ms else None,
            },
            "takeover": shell.take_over.to_json() if shell.take_over and shell.take_over.promoted else None,
            "losses": [{"stream": s, "from": a, "to": b} for s, a, b in shell.losses],
        }


def state_of(shell: Shell) -> str:
    if shell.error is not None:
        return "failed"
    if shell.state != "ready":
        return shell.state
    if shell.core.role is Role.PRIMARY:
        return "finished" if all(q.ended for q in shell.core.ledger.queues.values()) else "ready"
    if shell.subjob.ha.mode is Mode.PASSIVE_STANDBY and shell.shelf.newest is None:
        return "rehearsing"
    return "ready"


def _inputs(shell: Shell) -> dict[str, Any]:
    leading = shell.core.role is Role.PRIMARY
    positions = shell.positions() if leading else shell.primary_positions
    return {s: {"position": n, "available": max(n, shell.available.get(s, 0))} for s, n in positions.items()}


def _output(queue: OutputQueue, size: int) -> dict[str, Any]:
    acks = {c: {"received": a.received, "released": a.released} for c, a in queue.acks.items()}
    return {"trimmed": queue.trimmed, "next": queue.next, "bytes": size, "ended": queue.ended, "consumers": acks}


def _checkpoint(shell: Shell) -> dict[str, Any] | None:
    if shell.core.role is Role.STANDBY:
        kept = shell.shelf.newest
        return {"number": kept.checkpoint.number, "bytes": shell.shelf.size} if kept else None
    if not isinstance(shell.core, PassiveStandby) or shell.shipped_at is None:
        return None
    return {"number": shell.core.number, "atMs": shell.shipped_at, "totalBytes": shell.shipped_bytes}


def _if_it_failed_now(shell: Shell) -> dict[str, Any] | None:
    """What a take-over at this moment would process again. None where nobody could take over."""
    core = shell.core
    if core.role is not Role.PRIMARY or not isinstance(core, PassiveStandby) or not core.protected:
        return None
    tuples = sum(n - core.covered(Stream(s)) for s, n in shell.positions().items())
    seconds = tuples * shell.seconds_per_tuple()
    return {"replayTuples": tuples, "replaySeconds": round(seconds, 3), "lostTuples": 0}
