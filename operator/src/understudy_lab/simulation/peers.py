"""What the instances of one simulated subjob tell each other: keep-alives, checkpoints, progress,
determinants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from understudy.modes.leadership import Role
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.checkpoint import Checkpoint, missing
from understudy.protocol.contact import End, Step, next_step, verdict
from understudy.protocol.ids import Epoch, Millis, Stream
from understudy_lab.simulation.shelves import Shelves
from understudy_lab.simulation.world import MS

if TYPE_CHECKING:
    from understudy_lab.simulation.process import Process

CONNECT_AGAIN = 20 * MS  # after a connection that could not be made
LOOK_AGAIN = 20 * MS
FIRST_CHANCE = 250 * MS  # for the secondary of a primary that had no place for another
FIRST_CONTACT = 100  # milliseconds before a primary that was never heard is suspected


class Peers:
    def __init__(self, process: Process) -> None:
        self.process, self.cluster, self.world = process, process.cluster, process.world
        self.secondary: Process | None = None
        self.primary: Process | None = None
        self.shelves = Shelves()
        self._secondary_heard = 0
        self._connection = 0  # to the primary: whoever follows anew no longer hears the connection before
        self._heard = False  # whether that connection has carried a keep-alive
        self._serves = 0  # the secondary's connection
        self._behind_until = 0  # until then another secondary has the first chance
        self._primary_works = False  # whether it was heard, and its engine works
        process.carry |= {
            do.Follow: self._follow,
            do.Ship: self._ship,
            do.Store: self._store,
            do.ReportProgress: self._report_progress,
            do.SendQueueTrimming: self._send_trimming,
            do.ShipDeterminants: self._ship_determinants,
            do.ConfirmDeterminants: self._confirm_determinants,
        }

    # --- following

    def _follow(self, command: do.Follow) -> None:
        primary = self.cluster.processes.get(command.primary.address)
        self.process.post(on.FirstContact(Millis(self.process.millis + FIRST_CONTACT), command.primary.epoch))
        self.primary = primary
        self._connection, self._heard, self._primary_works = self._connection + 1, False, False
        if primary is not None:
            self.process.send(primary, "control", 0, "rx_follow", self.process, self._connection)
            if not primary.alive and not primary.silent:  # its machine refuses the connection
                primary.send(self.process, "control", 0, "rx_ended", primary, self._connection)

    @property
    def follows_a_working_primary(self) -> bool:
        return self.primary is not None and self._primary_works

    def rx_follow(self, follower: Process, connection: int = 0) -> None:
        if self.process.core.role is not Role.PRIMARY:
            self.process.send(follower, "control", 0, "rx_refused", self.process)
            return
        another = self.secondary is not None and self.secondary.core.name != follower.core.name
        if another and self.process.spec.family == "lease":
            self.process.send(follower, "control", 0, "rx_refused", self.process, True)
            return
        self.secondary, self._secondary_heard, self._serves = follower, self.world.now, connection
        self.cluster.monitor.joined(self.process, follower)
        self.process.post(on.SecondaryJoined(follower.name))

    def rx_refused(self, by: Process, another: bool = False) -> None:
        """It is no primary any more, we are none of its secondaries, or it has another."""
        if self.primary is by:
            self._ended(End.ANOTHER if another else End.NOT_PRIMARY)

    def leave(self) -> None:
        """Follow nobody, ship to nobody: whoever follows us finds its connection closed."""
        if self.secondary is not None:
            self.process.send(self.secondary, "control", 0, "rx_refused", self.process)
        self.primary = self.secondary = None

    def keep_alive(self) -> None:
        if self.secondary is not None and self.process.core.role is Role.PRIMARY:
            args = (self.process, self.process.core.epoch, None, self._serves, self.process.engine.stalled)
            self.process.send(self.secondary, "keep-alive", 0, "rx_keep_alive", *args)

    def watch(self) -> None:
        if self.secondary is not None and self.world.now - self._secondary_heard > 6 * self.cluster.heartbeat:
            self.process.send(self.secondary, "control", 0, "rx_refused", self.process)
            self._secondary_gone(self.secondary)

    def rx_keep_alive(
        self,
        by: Process,
        epoch: Epoch,
        positions: Any,
        connection: int | None = None,
        stalled: str | None = None,
    ) -> None:
        if connection not in (None, self._connection):
            return
        self._heard, self._primary_works, self._behind_until = True, stalled is None, 0
        self.process.post(on.KeepAlive(self.process.millis, epoch, positions, stalled))
        if self.process.spec.family == "lease":
            self.process.send(
                by, "keep-alive", 0, "rx_follower_alive", self.process, self.process.engine.stalled
            )

    def rx_follower_alive(self, by: Process, stalled: str | None = None) -> None:
        """A secondary whose engine stands still could not take over: it counts as gone."""
        if by is not self.secondary:
            return
        self._secondary_heard = self.world.now
        if stalled is not None:
            self.process.send(by, "control", 0, "rx_refused", self.process)
            self._secondary_gone(by)

    def rx_closed(self, peer: Process) -> None:
        """The kernel of a living machine says that a peer's process is gone."""
        if peer is self.secondary:
            self._secondary_gone(peer)
        elif self.process.spec.family == "replica":
            self.process.post(on.PeerClosed(self.process.millis))
        elif peer is self.primary:
            self._ended(End.TRANSPORT)

    def rx_ended(self, peer: Process, connection: int) -> None:
        """A connection that we tried to make was refused."""
        if peer is self.primary and connection == self._connection:
            self._ended(End.TRANSPORT)

    def _ended(self, end: End) -> None:
        """Of the connection to the primary; the same translation as in real processes."""
        leads = self.process.core.role is Role.PRIMARY
        match next_step(
            verdict(end, heard=self._heard), leads=leads, behind=self.world.now < self._behind_until
        ):
            case Step.SAY_CLOSED:
                self.process.post(on.PeerClosed(self.process.millis))
            case Step.SAY_UNREACHABLE:
                self.world.at(CONNECT_AGAIN, self._unreachable, self._connection)
            case Step.LOOK_AGAIN:
                self._look_again()
            case Step.STAND_BEHIND:
                self._behind_until = self.world.now + FIRST_CHANCE
                self._look_again()

    def _look_again(self) -> None:
        self.world.at(
            LOOK_AGAIN, self.process.leases.read_now, do.ReadLease("the connection to the primary ended")
        )

    def _unreachable(self, connection: int) -> None:
        if self.process.alive and connection == self._connection and self.primary is not None:
            self.process.post(on.PeerUnreachable(self.process.millis))

    def _secondary_gone(self, peer: Process) -> None:
        self.secondary = None
        self.cluster.monitor.joined(self.process, None)
        self.process.post(on.SecondaryLeft(peer.name))

    def rx_newer(self, epoch: Epoch) -> None:
        self.process.post(on.NewerEpoch(epoch))

    def step_down(self, keep: Checkpoint | None) -> None:
        rows, _ = self.rows(keep, None) if keep is not None else ({}, 0)
        self.leave()
        self.shelves = Shelves()
        if keep is not None:
            self.shelves.take(rows)
            self.shelves.store(keep)

    # --- checkpoints

    def _ship(self, command: do.Ship) -> None:
        if self.secondary is not None:
            rows, size = self.rows(command.checkpoint, command.base)
            args = (self.process, self._serves, command.checkpoint, rows)
            self.process.send(self.secondary, "checkpoints", size, "rx_checkpoint", *args)

    def rows(self, checkpoint: Checkpoint, base: Checkpoint | None) -> tuple[dict[str, Any], int]:
        """The rows that a checkpoint names, and how many bytes they take for a receiver that has `base`."""
        cluster, process = self.cluster, self.process
        rows: dict[str, Any] = {}
        size = 0
        for name, state in checkpoint.elements.items():
            element = process.elements[name]
            known = base.elements.get(name) if base else None
            if known is state:
                rows[name] = None
                continue
            tails = []
            for i, stream in enumerate(element.inputs):
                tail = state.tail(Stream(stream))
                tails.append(element.inbox[i].copy(tail.start, tail.stop))
                have = known.tail(Stream(stream)) if known else None
                size += len(missing(tail, have)) * cluster.tuple_size + cluster.id_size * (
                    2 if len(tail) else 1
                )
            queue = missing(state.held, known.held if known else None)
            size += len(queue) * cluster.tuple_size + cluster.id_size
            cluster.monitor.shipped(process, name, len(queue), len(state.held))
            kept = process.outputs.stores[name].copy(state.held.start, state.held.stop)
            rows[name] = {"tails": tails, "queue": kept, "ends": list(element.ends)}
        return rows, size

    def rx_checkpoint(
        self, by: Process, connection: int, checkpoint: Checkpoint, rows: dict[str, Any]
    ) -> None:
        if connection != self._connection:
            return
        self.shelves.take(rows)
        self.primary = by
        self.process.post(on.CheckpointArrived(checkpoint))

    def _store(self, command: do.Store) -> None:
        self.shelves.store(command.checkpoint)
        self.cluster.monitor.stored(self.process, command.checkpoint)
        if self.primary is not None:
            args = (command.checkpoint.epoch, command.checkpoint.number)
            self.process.send(self.primary, "acks", self.cluster.id_size, "rx_stored", *args)

    def rx_stored(self, epoch: Epoch, number: int) -> None:
        self.cluster.monitor.confirmed(self.process, epoch)
        self.process.post(on.CheckpointStored(epoch, number))

    # --- replicas that run in parallel

    def _report_progress(self, command: do.ReportProgress) -> None:
        size = self.cluster.id_size * len(command.positions)
        if self.process.spec.family == "replica":
            for peer in self.cluster.peers(self.process):
                args = (self.process, command.epoch, command.positions)
                self.process.send(peer, "acks", size, "rx_keep_alive", *args)
            return
        if self.primary is not None:
            self.process.send(self.primary, "acks", size, "rx_secondary_at", command.epoch, command.positions)
        if self.secondary is not None:
            told = (self.process, command.epoch, command.positions, self._serves, self.process.engine.stalled)
            self.process.send(self.secondary, "acks", size, "rx_keep_alive", *told)

    def rx_secondary_at(self, epoch: Epoch, positions: Any) -> None:
        self._secondary_heard = self.world.now
        self.process.post(on.SecondaryAt(epoch, positions))

    def _send_trimming(self, command: do.SendQueueTrimming) -> None:
        if self.secondary is not None:
            size = self.cluster.id_size * sum(len(m) for m in command.high.values())
            self.process.send(
                self.secondary, "acks", size, "rx_trimming", command.epoch, command.high, command.trees
            )

    def rx_trimming(self, epoch: Epoch, high: Any, trees: Any) -> None:
        self.process.post(on.QueueTrimming(epoch, high, trees))

    def _ship_determinants(self, command: do.ShipDeterminants) -> None:
        if self.secondary is not None:
            ids = sum(2 * len(d.at) + 1 for d in command.determinants if d.low)
            size = 8 + sum(len(d.choice) for d in command.determinants) // 8 + ids * self.cluster.id_size
            log = (command.epoch, command.number, command.determinants, command.whole, command.needed)
            self.process.send(self.secondary, "determinants", size, "rx_determinants", self.process, *log)

    def rx_determinants(self, by: Process, *log: Any) -> None:
        self.primary = by
        self.process.post(on.DeterminantsArrived(*log))

    def _confirm_determinants(self, command: do.ConfirmDeterminants) -> None:
        self.cluster.monitor.log_kept(self.process, command.epoch)
        if self.primary is not None:
            args = (command.epoch, command.number)
            self.process.send(self.primary, "acks", 8, "rx_determinants_stored", *args)

    def rx_determinants_stored(self, epoch: Epoch, number: int) -> None:
        self.cluster.monitor.log_confirmed(self.process, epoch)
        self.process.post(on.DeterminantsStored(epoch, number))
