"""Replica backup (Xiao): no primary and no secondary. Both replicas send; a consumer uses whichever tuple comes first.

Peers heartbeat each other and say how far they have come; upstream keeps what either still needs. When one is silent,
the other goes on and has a replacement elected (CLEA); the replacement takes the survivor's state and runs beside it,
so that the next failure is survived too. While a replica is alone it releases nothing: no one else holds its state.
"""

from __future__ import annotations

from understudy.modes.instance import Commands, Instance, Role
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint
from understudy.protocol.detector import Detector
from understudy.protocol.events import Event
from understudy.protocol.ids import Millis, Seq, Stream
from understudy.protocol.ledger import Ledger, Wiring
from understudy.protocol.timer import due
from understudy.protocol.watermarks import Marks


class ReplicaBackup(Instance):
    def __init__(self, name: str, wiring: Wiring, detector: Detector, *, interval: int) -> None:
        super().__init__(name, wiring, detector)
        self.interval = interval
        self.forget()

    def forget(self) -> None:
        self._number = 0
        self._offered: Checkpoint | None = None
        self._peer: Marks | None = None
        self._electing = False
        self._told_at: Millis | None = None

    def handle(self, event: Event) -> Commands:
        match event:
            case on.Started():
                return self._started(event)
            case on.CheckpointArrived(checkpoint) if self.role is Role.STANDBY and checkpoint.epoch >= self.epoch:
                return self._join(checkpoint)
            case on.KeepAlive() if event.epoch >= self.epoch:
                return self._heard_peer(event)
            case on.KeepAlive():
                return ()
            case on.PeerClosed():
                return self._alone("its connection closed: the process is dead")
            case on.Tick():
                return self._beat(event.now)
            case on.NewerEpoch():
                return self._newer(event.epoch)
            case _ if self.role is Role.PRIMARY:
                return self._as_primary(event)
            case _:
                return ()

    # --- life

    def _started(self, event: on.Started) -> Commands:
        self.epoch = event.epoch
        if not event.fresh:
            return ()  # the survivor will send its state
        self.role = Role.PRIMARY
        inputs = tuple(do.ReadInput(s, Seq(0)) for s in self.wiring.entering)
        return (do.Lead(self.epoch, None, "starts empty, as its peer does"), *inputs)

    def _join(self, checkpoint: Checkpoint) -> Commands:
        self.epoch, self.role = checkpoint.epoch, Role.PRIMARY
        self.ledger = Ledger.restored(self.wiring, checkpoint)
        inputs = tuple(do.ReadInput(s, checkpoint.position(s) or Seq(0)) for s in self.wiring.entering)
        return (do.Store(checkpoint), do.Lead(self.epoch, checkpoint, "runs beside the survivor"), *inputs)

    def _heard_peer(self, event: on.KeepAlive) -> Commands:
        self.epoch = event.epoch
        self.detector = self.detector.on_keep_alive(event.now)
        if event.positions is not None and self._offered is None:
            self._peer, self._electing = event.positions, False
        return ()

    def _alone(self, why: str) -> Commands:
        self.detector = self.detector.forget()
        self._peer = self._offered = None
        if self.role is not Role.PRIMARY or self._electing:
            return ()
        self._electing = True
        return (do.Elect(f"a replica is needed: {why}"),)

    # --- both replicas, alike

    def lead(self, event: Event) -> Commands:
        match event:
            case on.SecondaryJoined():
                self._number += 1
                self._peer = None
                self._offered = self.ledger.checkpoint(self.epoch, self._number)
                return (do.Ship(self._offered, None),)
            case on.CheckpointStored(epoch, number) if self._offered is not None and epoch == self.epoch:
                if self._offered.number == number:
                    self._peer = {s: self._offered.position(s) or Seq(0) for s in self.wiring.entering}
                    self._offered, self._electing = None, False
                return ()
            case _:
                return ()

    def _beat(self, now: Millis) -> Commands:
        if self.detector.suspects(now):
            return self._alone(f"no heart-beat for {self.detector.tau} ms")
        if self.role is not Role.PRIMARY or not due(self._told_at, now, self.interval):
            return ()
        self._told_at = now
        mine = {s: self.ledger.position(s) for s in self.wiring.entering}
        return (do.ReportProgress(self.epoch, mine), *self._acks(mine))

    def _acks(self, mine: Marks) -> Commands:
        inner = tuple(do.SendAck(s, 1, self.ledger.position(s)) for s in self._inner())
        peer = self._peer
        if peer is None:
            return inner
        return (*inner, *(do.SendAck(s, 1, min(mine[s], peer.get(s, Seq(0)))) for s in self.wiring.external))

    def _inner(self) -> tuple[Stream, ...]:
        return tuple(Stream(n) for n in self.wiring.inputs if Stream(n) not in self.wiring.leaving)

    @property
    def protected(self) -> bool:
        return self._peer is not None
