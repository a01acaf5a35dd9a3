"""Operator migration (Brettlecker §4.2) in a real process: the pause, the hand-over, and their times for the
status page."""

from __future__ import annotations

import structlog

from understudy.instance.context import Context
from understudy.instance.peers import Peers
from understudy.instance.timeline import Departure
from understudy.process.clock import steady_ms
from understudy.protocol import commands as do
from understudy.protocol import events as on

log = structlog.get_logger()


class Moves:
    """The side that moves away. At the target a move is a take-over like any other, see `Peers`."""

    def __init__(self, context: Context, peers: Peers) -> None:
        self._context, self._peers = context, peers
        self._pausing = self._under_way = False

    def notice(self) -> None:
        """Notes whether a move has begun or ended. Called under the lock, after each event."""
        move = self._context.core.move
        if move is not None and not self._under_way:
            log.info("move requested", target=move.target, why=move.why)
            self._context.story.departure = Departure(move.target, move.why, requested=steady_ms())
        self._under_way = move is not None

    def pause(self, command: do.Pause) -> None:
        log.info("pausing", why=command.why)
        self._pausing = True
        for inbox in self._context.inboxes.values():
            inbox.hold()
        if (departure := self._context.story.departure) is not None:
            departure.paused = steady_ms()

    def settle(self) -> None:
        """Posts Paused when no micro-batch is running any more. Called under the lock, every few
        milliseconds."""
        if not self._pausing or not all(inbox.still for inbox in self._context.inboxes.values()):
            return
        self._pausing = False
        if (departure := self._context.story.departure) is not None:
            departure.settled = steady_ms()
        self._context.post(on.Paused())

    def resume(self, command: do.Resume) -> None:
        log.warning("resuming", why=command.why)
        self._go_on()
        if (departure := self._context.story.departure) is not None:
            departure.given_up = command.why

    def hand_over(self, command: do.HandOver) -> None:
        log.info("handing over", target=command.target, epoch=command.lease.epoch)
        self._peers.hand_over(command)
        if (departure := self._context.story.departure) is not None:
            departure.handed = steady_ms()

    def stepped_down(self) -> None:
        self._go_on()
        departure = self._context.story.departure
        if departure is not None and departure.handed is not None and departure.left is None:
            departure.left, departure.bytes = steady_ms(), self._peers.shipped_to_secondary

    def _go_on(self) -> None:
        self._pausing = False
        for inbox in self._context.inboxes.values():
            inbox.release()
