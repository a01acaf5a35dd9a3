"""Live changes of a subjob's mode or its settings (`modes.change`): the primary decides, its standby follows.

The process that deploys the job sends every instance the `ha` of the manifest (`change`). Only the primary
acts on it at once; a standby does so if it is promoted later. The primary sends its current settings to the
standby in the same ordered sequence of messages as its state, so that both change at the same point of their
conversation.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from understudy.instance.context import Context
from understudy.instance.inputs import Inputs
from understudy.instance.peers import Peers
from understudy.instance.recovery import Recovery
from understudy.model.ha import Ha
from understudy.modes.build import instance_of
from understudy.modes.change import Change, adopt, follow_after, same_lease
from understudy.modes.instance import Instance
from understudy.modes.leadership import Role
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.commands import Commands
from understudy.protocol.events import Event
from understudy.protocol.ids import Seq, Stream
from understudy.protocol.watermarks import Step

log = structlog.get_logger()


class Changing:
    def __init__(
        self,
        context: Context,
        peers: Peers,
        inputs: Inputs,
        recovery: Recovery,
        carry_out: Callable[[Commands], None],
        begin_anew: Callable[[], None],
    ) -> None:
        self._context, self._peers, self._inputs, self._recovery = context, peers, inputs, recovery
        self._carry_out, self._begin_anew = carry_out, begin_anew
        self._change: Change | None = None
        self._towards = context.subjob.ha
        self._asked = False  # whether the standby was asked to change
        # as a standby: the new mode, which begins with the next state that arrives
        self._awaited: Instance | None = None

    # --- events and what depends on both modes

    def handle(self, event: Event) -> Commands:
        change = self._change
        if change is None:
            return self._context.core.handle(event)
        commands = change.handle(event)
        if change.former.role is not Role.PRIMARY:
            self._change = None  # the next primary carries out the change
        elif isinstance(event, on.Resumes) or any(isinstance(c, do.Renumber) for c in commands):
            self._change = Change(change.former, self._instance(self._towards))
        return commands

    def mark(self, stream: Stream, position: Seq) -> Step | None:
        """Consumers get the watermarks of the successor mode already while both modes run."""
        return (self._context.core if self._change is None else self._change.successor).mark(stream, position)

    @property
    def sources_keep_acks(self) -> bool:
        return self._change is not None or self._context.core.sources_keep_acks

    # --- the primary

    def tell(self, ha: Ha) -> None:
        with self._context.lock:
            if ha != self._context.wanted:
                log.info("mode change received", mode=ha.mode)
            self._context.wanted = ha

    def poll(self) -> None:
        """Begins or continues a change. Called every few milliseconds, under the lock."""
        context, core = self._context, self._context.core
        if core.role is not Role.PRIMARY or core.lease is None or core.lease.holder != core.name:
            context.story.change = None
            return
        if self._change is not None and self._towards != context.wanted:
            self._change = None  # the manifest was edited again before this change was in force
        if self._change is not None:
            self._proceed(self._change)
        elif context.wanted != context.subjob.ha and core.settled:
            self._begin(context.wanted)
        context.story.change = self._waits_for()

    def _waits_for(self) -> str | None:
        if self._change is not None:
            return self._change.waits_for or "the standby has not changed yet"
        return (
            "a take-over or a move is under way" if self._context.wanted != self._context.subjob.ha else None
        )

    def _begin(self, ha: Ha) -> None:
        core, successor = self._context.core, self._instance(ha)
        if type(successor) is type(core):
            core.retune(successor)
            self._put_in_force(ha)
        elif successor.sources_keep_acks:
            log.info("mode change begun", to=ha.mode)
            self._inputs.forget_trees()
            self._recovery.forget_acks()
            self._change, self._towards, self._asked = Change(core, successor), ha, False
        else:
            adopt(successor, core)
            self._switch(successor, ha)

    def _proceed(self, change: Change) -> None:
        if change.waits_for is not None or not self._heard_upstream(change.successor):
            return
        if self._peers.secondary is None or self._peers.secondary_mode == self._towards.mode:
            successor, self._change = change.successor, None
            same_lease(successor, change.former)
            self._switch(successor, self._towards)
        elif not self._asked:
            self._asked = True
            self._peers.dictate(self._towards)

    def secondary_joined(self, name: str) -> None:
        """Sends the standby the current settings. If the change only waited for a standby, the new mode comes
        first. Called under the lock."""
        self._asked = False
        if self._change is not None:
            self._proceed(self._change)
            if self._change is None:
                return
        self._peers.dictate(self._context.subjob.ha)
        self._context.post(on.SecondaryJoined(name))

    def _heard_upstream(self, successor: Instance) -> bool:
        """Savepoint: whether all predecessors and sources have a tree from which this subjob could
        recover."""
        wiring = successor.wiring
        told = all(self._inputs.tree_delivered(s) for s in wiring.external) or not successor.sends_trees
        return told and (self._recovery.has_kept or not set(wiring.entering) & wiring.replayable)

    def _switch(self, successor: Instance, ha: Ha) -> None:
        """From here on the successor mode decides. The query, the queues and the connections stay."""
        context, secondary = self._context, self._peers.secondary
        log.info("mode changed", mode=ha.mode, before=context.subjob.ha.mode, epoch=context.core.epoch)
        context.core = successor
        self._put_in_force(ha)
        if secondary is not None:
            context.post(on.SecondaryJoined(secondary))
        else:  # a standby that is not connected must not take over with its state of the former mode
            self._carry_out((do.TryLease(successor.lease, "to fence off standbys of the former mode"),))
        if secondary is None or not successor.hold_back:
            self._carry_out(tuple(successor.publish(str(s)) for s in successor.wiring.leaving))

    def _put_in_force(self, ha: Ha) -> None:
        self._in_force(ha)
        self._peers.dictate(ha)

    # --- the standby

    def dictated(self, ha: Ha) -> None:
        """The primary sends the settings that are in force. A mode that keeps state at the standby begins
        with that state."""
        with self._context.lock:
            self._towards, self._awaited = ha, None
            core, like = self._context.core, self._instance(ha)
            if type(like) is type(core):
                core.retune(like)
                self._in_force(ha)
            elif not like.ships_state:
                self._become(like, ha)
                self._context.reread_lease("to follow in the new mode")
            else:
                self._awaited = like

    def before_state(self) -> None:
        """Changes the mode of a standby that waited for a state of the new mode, because that state is about
        to arrive. Called under the lock."""
        if self._awaited is not None:
            successor, self._awaited = self._awaited, None
            self._become(successor, self._towards)

    def _become(self, successor: Instance, ha: Ha) -> None:
        log.info("mode changed as standby", mode=ha.mode, before=self._context.subjob.ha.mode)
        follow_after(successor, self._context.core)
        self._context.core = successor
        self._in_force(ha)
        self._begin_anew()

    # --- both

    def _instance(self, ha: Ha) -> Instance:
        subjob = self._context.subjob.model_copy(update={"ha": ha})
        return instance_of(self._context.job, subjob, self._context.core.name)

    def _in_force(self, ha: Ha) -> None:
        self._context.subjob = self._context.subjob.model_copy(update={"ha": ha})
