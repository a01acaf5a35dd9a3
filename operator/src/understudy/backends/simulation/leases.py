"""A simulated process and the Lease of its subjob: reading it, taking it, waiting while the store is unreachable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from understudy.backends.simulation.world import MS
from understudy.protocol import commands as do
from understudy.protocol import events as on

if TYPE_CHECKING:
    from understudy.backends.simulation.process import Process

AGAIN = 20 * MS


class Leases:
    def __init__(self, process: Process) -> None:
        self.process, self.world = process, process.world
        self._withdrawals = 0
        process.carry |= {do.TryLease: self.try_it, do.ReadLease: self.read}

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
        won = self.world.take_lease(subjob, command.expected, process.core.name, process.name)
        if won is not None:
            process.cluster.monitor.elected(process, won)
        process.post(on.LeaseWon(won) if won else on.LeaseSeen(self.world.lease(subjob)))

    def read(self, command: do.ReadLease) -> None:
        self.world.at(self.world.lease_delay, self.read_now, command)

    def read_now(self, command: do.ReadLease) -> None:
        if self.process.alive and not self._unreachable(self.read_now, command):
            self.process.post(on.LeaseSeen(self.world.lease(self.process.spec.name)))

    def _unreachable(self, again: Callable[..., None], *args: Any) -> bool:
        process, world = self.process, self.world
        down = world.lease_down or not world.network.reaches(process.host, "lease") or world.now < process.paused
        if down:
            world.at(AGAIN, again, *args)
        return down
