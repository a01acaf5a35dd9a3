"""An instance's status page (docs/architecture.md, "Status page")."""

from __future__ import annotations

from statistics import median

from understudy.instance.context import Context
from understudy.modes.leadership import Role
from understudy.protocol import statuspage as page
from understudy.protocol.ids import Stream
from understudy.protocol.queue import OutputQueue
from understudy.protocol.statuspage import InstancePage, State


def status_of(context: Context) -> InstancePage:
    with context.lock:
        core, story = context.core, context.story
        taken = story.take_over
        return InstancePage(
            job=context.job.name,
            subjob=context.subjob.name,
            instance=core.name,
            role=page.Role(core.role.value),
            epoch=core.epoch,
            mode=context.subjob.ha.mode.value,
            settings=context.wanted.digest,
            change=story.change,
            state=state_of(context),
            error=story.error,
            protected=core.protected,
            secondary=core.secondary,
            inputs=_inputs(context),
            outputs={s: _output(context, q) for s, q in core.ledger.queues.items()},
            checkpoint=_checkpoint(context),
            sent=page.Sent(story.shipped_bytes, story.acked_bytes),
            if_it_failed_now=_if_it_failed_now(context),
            batches=page.Batches(
                story.batch_count, round(median(story.batch_ms)) if story.batch_ms else None
            ),
            take_over=taken.shown() if taken and taken.promoted else None,
            overload=story.overload,
            departure=story.departure.shown() if story.departure else None,
            losses=tuple(page.Loss(s, a, b) for s, a, b in story.losses),
        )


def state_of(context: Context) -> State:
    if context.story.error is not None:
        return State.FAILED
    if context.story.engine_stalled is not None:
        return State.STALLED
    if context.story.state is not State.READY:
        return context.story.state
    if context.core.role is Role.PRIMARY:
        ended = all(q.ended for q in context.core.ledger.queues.values())
        return State.FINISHED if ended else State.READY
    return State.READY if context.core.could_continue() else State.WAITING


def _inputs(context: Context) -> dict[str, page.Input]:
    leading = context.core.role is Role.PRIMARY
    positions = context.positions() if leading else context.story.primary_positions
    story = context.story
    return {
        s: page.Input(n, max(n, story.available.get(s, 0)), story.bad.get(s, 0), story.faults.get(s))
        for s, n in positions.items()
    }


def _output(context: Context, queue: OutputQueue) -> page.Queue:
    store = context.stores[queue.stream]
    return page.Queue(
        trimmed=queue.trimmed,
        next=queue.next,
        bytes=store.bytes,
        on_disk=store.bytes_on_disk,
        full=store.full,
        ended=queue.ended,
        consumers=_consumers(context, queue),
    )


def _consumers(context: Context, queue: OutputQueue) -> dict[str, page.Consumer]:
    """The consumers of a queue. Only the primary knows how far they are behind."""
    if context.core.role is not Role.PRIMARY:
        return {c: page.Consumer(a.received, a.released) for c, a in queue.acks.items()}
    return {
        c: page.Consumer(a.received, a.released, *context.lag(queue.stream, c)) for c, a in queue.acks.items()
    }


def _checkpoint(context: Context) -> page.Checkpoint | None:
    if context.core.role is Role.STANDBY:
        kept = context.shelf.newest
        return page.Checkpoint(kept.number, bytes=context.shelf.size) if kept else None
    if not context.core.ships_checkpoints or context.story.shipped_at is None:
        return None
    return page.Checkpoint(context.core.number, at_ms=context.story.shipped_at)


def _if_it_failed_now(context: Context) -> page.Cost | None:
    """What a take-over at this moment would replay, and lose. None if no instance could take over."""
    core = context.core
    if core.role is not Role.PRIMARY or not core.protected:
        return None
    inputs = _inputs(context)
    lost_from = {s: at for s in inputs if (at := core.loses_from(Stream(s))) is not None}
    if lost_from:
        there = sum(inputs[s].available - at for s, at in lost_from.items())
        coming = context.story.tuples_per_ms * context.heartbeat * 1000
        return page.Cost(0, 0.0, there + round(coming))
    delivered = context.delivered_acks()
    tuples = sum(max(0, n - core.replays_from(Stream(s), delivered)) for s, n in context.positions().items())
    return page.Cost(tuples, round(context.story.replay_seconds(tuples), 3), 0)
