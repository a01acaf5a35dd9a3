"""The reader at the end of a stream: a sink, or a client application. It takes new tuples and acks them every
M (the ack interval)."""

from __future__ import annotations

from understudy.modes.instance import Instance
from understudy.modes.leadership import Role
from understudy.modes.transitions import State, row
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.ids import Epoch, Millis, Seq
from understudy.protocol.ledger import Wiring
from understudy.protocol.timer import due


class Client(Instance):
    def __init__(
        self,
        name: str,
        wiring: Wiring,
        detector: Detector,
        *,
        interval: int,
        life: Epoch = Epoch(1),
        begins: Seq = Seq(0),
    ) -> None:
        """`life`: the number of this life, which fences off earlier lives; `begins`: the seq after the last
        tuple that earlier lives have written."""
        super().__init__(name, wiring, detector)
        self.interval = interval
        self.leadership = self.leadership.in_role(Role.PRIMARY).in_epoch(life)
        for stream in wiring.entering:
            self.ledger = self.ledger.moved(stream, begins)
        self._acked_at: Millis | None = None

    def started(self, event: on.Started) -> Commands:
        """Reads its inputs from the positions that earlier lives reached."""
        return tuple(do.ReadInput(s, self.ledger.received(s)) for s in self.wiring.entering)

    def backup_requested(self, event: on.BackupRequested) -> Commands:
        """Acks what it has received. That is as good as a backup, because a sink needs no input again."""
        return (do.SendAck(event.stream, 1, self.ledger.received(event.stream)),)

    def lead_tick(self, now: Millis) -> Commands:
        if not due(self._acked_at, now, self.interval):
            return ()
        self._acked_at = now
        received = ((s, self.ledger.received(s)) for s in self.wiring.entering)
        return tuple(do.SendAck(s, level, upto) for s, upto in received for level in (0, 1))

    TRANSITIONS = Instance.TRANSITIONS.extended(
        row(State.PRIMARY, on.Started, started),
        row(State.PRIMARY, on.BackupRequested, backup_requested),
    )
