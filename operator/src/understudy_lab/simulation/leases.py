"""A simulated process and the Lease of its subjob: reading it, taking it, waiting while the store is
unreachable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.modes.leadership import Role
from understudy.protocol import commands as do
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.leasing import Order, carry_out
from understudy_lab.simulation.world import MS

if TYPE_CHECKING:
    from understudy_lab.simulation.process import Process

AGAIN = 20 * MS


class Leases:
    def __init__(self, process: Process) -> None:
        self.process, self.world = process, process.world
        self._withdrawals = self._asked = 0
        process.carry |= {do.TryLease: self.try_it, do.ReadLease: self.order, do.AskHolder: self.order}

    def try_it(self, command: do.TryLease) -> None:
        calls = self.process.cluster.calls
        calls["TryLease"] = calls.get("TryLease", 0) + 1
        self.process.cluster.monitor.suspected(self.process, command.why)
        self.order(command)

    def order(self, command: Order) -> None:
        self.world.at(self.world.lease_delay, self.carry_out, command, self._withdrawals)

    def read_now(self, command: do.ReadLease) -> None:
        self.carry_out(command, self._withdrawals)

    def withdraw(self) -> None:
        """Who stepped down has nothing to lead with: what it tried before is not tried any longer."""
        self._withdrawals += 1

    def carry_out(self, command: Order, number: int) -> None:
        process = self.process
        if not process.alive or (isinstance(command, do.TryLease) and number < self._withdrawals):
            return
        if self._unreachable():
            self.world.at(AGAIN, self.carry_out, command, number)
            return
        found = carry_out(command, self, process.core.name, leads=process.core.role is Role.PRIMARY)
        weather = process.cluster.weather
        if weather is not None and weather.swallows_the_answer(process):
            self.world.at(AGAIN, self.carry_out, command, number)
            return
        process.post(found)

    def _unreachable(self) -> bool:
        process, world = self.process, self.world
        return (
            world.lease_down or not world.network.reaches(process.host, "lease") or world.now < process.paused
        )

    # --- the store, as this process reaches it

    def read(self) -> LeaseRecord | None:
        return self.world.lease(self.process.spec.name)

    def take(self, order: do.TryLease) -> LeaseRecord | None:
        process = self.process
        expected = order.condition(process.name)
        won = self.world.take_lease(process.spec.name, expected, process.core.name, process.name)
        if won is not None:
            process.cluster.monitor.elected(process, won)
            if order.planned:
                process.cluster.orders.arrived(process)
        return won

    def ask(self, expected: LeaseRecord) -> None:
        self._asked += 1
        self.world.ask_holder(self.process.spec.name, expected, f"{self.process.name} {self._asked}")

    def answer(self) -> None:
        self.world.answer(self.process.spec.name)

    def heard(self, lease: LeaseRecord) -> str | None:
        """Who else hears the holder: a process that reads its stream, and that answers us."""
        cluster, now = self.process.cluster, self.world.now
        for reader in cluster.consumers(self.process.spec.stream):
            answers = reader.alive and now >= reader.paused and reader.spec.family != "sink"
            hears = answers and reader.inputs.hears(self.process.spec.stream, lease.address)
            if hears and self.world.network.reaches(self.process.host, reader.host):
                return reader.name
        return None
