"""A simulated process and the Lease of its subjob: reading it, taking it, waiting while the store is unreachable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from understudy.backends.simulation.world import MS
from understudy.modes.instance import Role
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.epochs import LeaseRecord

if TYPE_CHECKING:
    from understudy.backends.simulation.process import Process

AGAIN = 20 * MS


class Leases:
    def __init__(self, process: Process) -> None:
        self.process, self.world = process, process.world
        self._withdrawals = self._asked = 0
        process.carry |= {do.TryLease: self.try_it, do.ReadLease: self.read, do.AskHolder: self.ask}

    def try_it(self, command: do.TryLease) -> None:
        self.process.cluster.monitor.suspected(self.process, command.why)
        self.world.at(self.world.lease_delay, self._try_now, command, self._withdrawals)

    def withdraw(self) -> None:
        """Who stepped down has nothing to lead with: what it tried before is not tried any longer."""
        self._withdrawals += 1

    def _try_now(self, command: do.TryLease, number: int) -> None:
        process, subjob = self.process, self.process.spec.name
        if not process.alive or number < self._withdrawals or self._unreachable(self._try_now, command, number):
            return
        expected = command.expected
        if expected is not None and expected.question is not None and (by := self._heard(expected)) is not None:
            process.post(on.HolderHeard(by))
            return
        won = self.world.take_lease(subjob, command.condition(process.name), process.core.name, process.name)
        if won is not None:
            process.cluster.monitor.elected(process, won)
            if command.planned:
                process.cluster.orders.arrived(process)
        process.post(on.LeaseWon(won) if won else on.LeaseSeen(self.world.lease(subjob)))

    def _heard(self, lease: LeaseRecord) -> str | None:
        """Who else hears the holder: a process that reads its stream, and that answers us."""
        cluster, now, stream = self.process.cluster, self.world.now, self.process.spec.stream
        for reader in cluster.consumers(stream):
            connection = reader.inputs.connections.get(stream)
            spoke = connection.targets.get(lease.address) if connection is not None else None
            answers = reader.alive and now >= reader.paused and reader.spec.family != "sink"
            hears = answers and spoke is not None and now - spoke <= cluster.patience
            if hears and self.world.network.reaches(self.process.host, reader.host):
                return reader.name
        return None

    def ask(self, command: do.AskHolder) -> None:
        self.world.at(self.world.lease_delay, self._ask_now, command)

    def _ask_now(self, command: do.AskHolder) -> None:
        process = self.process
        if process.alive and not self._unreachable(self._ask_now, command):
            self._asked += 1
            self.world.ask_holder(process.spec.name, command.expected, f"{process.name} {self._asked}")
            process.post(on.LeaseSeen(self.world.lease(process.spec.name)))

    def read(self, command: do.ReadLease) -> None:
        self.world.at(self.world.lease_delay, self.read_now, command)

    def read_now(self, command: do.ReadLease) -> None:
        if self.process.alive and not self._unreachable(self.read_now, command):
            found = self.world.lease(self.process.spec.name)
            self.process.post(on.LeaseSeen(found))
            if found is not None and found.question is not None and found.address == self.process.name:
                self._answer()

    def _answer(self) -> None:
        if self.process.core.role is Role.PRIMARY:
            self.world.answer(self.process.spec.name)

    def _unreachable(self, again: Callable[..., None], *args: Any) -> bool:
        process, world = self.process, self.world
        down = world.lease_down or not world.network.reaches(process.host, "lease") or world.now < process.paused
        if down:
            world.at(AGAIN, again, *args)
        return down
