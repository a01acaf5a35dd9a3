"""The engine of a simulated process, which may stand still while the process lives; and its watch, as in real
ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.protocol.engine import JVM, EngineWatch, Signs, leaves
from understudy.protocol.ids import Millis
from understudy_lab.simulation.world import MS, SECOND

if TYPE_CHECKING:
    from understudy_lab.simulation.process import Process

LOOK = 40 * MS
TIMEOUT = 150  # milliseconds without a sign of life
GRACE = 150  # milliseconds in which the standby of a stalled primary takes the Lease
HELD = 1_500  # milliseconds for which a stalled primary waits for somebody to give its state to
SHOWN = 0  # milliseconds for which a status page says that the engine is stalled: nobody reads it here
RESTART = 60 * MS


class Engine:
    def __init__(self, process: Process) -> None:
        self.process, self.cluster, self.world = process, process.cluster, process.world
        self.hung_until = self._hung_since = 0
        self.stalled: str | None = None
        self._watch = EngineWatch()
        self._answers = 0  # of the JVM
        self._ran = 0  # milliseconds of processor time
        self._since: Millis | None = None  # when it was found to be stalled

    @property
    def hangs(self) -> bool:
        return self.world.now < self.hung_until

    def hang(self, until: int) -> None:
        """Where there is no Lease, as in the papers, nobody watches engines: there it does not hang for
        ever."""
        watched = self.hung_until > 0
        if self.process.spec.family != "lease":
            until = min(until, self.world.now + SECOND)
        if not self.hangs:
            self._hung_since = self.world.now
        self.hung_until = max(self.hung_until, until)
        self.cluster.monitor.hung(self.process, (self.hung_until - self._hung_since) // MS)
        if not watched and self.process.spec.family == "lease":
            self._look()

    def _look(self) -> None:
        process = self.process
        if not process.alive:
            return
        self.world.at(LOOK, self._look)
        if self.world.now < process.paused:
            return
        busy = [e for e in process.elements.values() if e.busy]
        if not self.hangs:
            self._answers += 1
            self._ran += LOOK // MS if busy else 0
        idle = frozenset(name for name, element in process.elements.items() if not element.busy)
        counts = {JVM: self._answers, **dict.fromkeys(process.elements, process.computing.steps)}
        self._watch = self._watch.look(process.millis, Signs(counts, idle, self._ran), TIMEOUT)
        self.stalled = self._watch.stalled
        self._leave_if_stalled(process.millis)

    def _leave_if_stalled(self, now: Millis) -> None:
        if self.stalled is None:
            self._since = None
            return
        self._since = now if self._since is None else self._since
        stand = self.process.core.stand(follows=self.process.peers.follows_a_working_primary)
        if leaves(stand, now - self._since, GRACE, HELD, SHOWN):
            self.world.note(f"{self.process.name} ends: the engine stands still: {self.stalled}")
            self.cluster.control.crash(self.process, False, RESTART, gives_up=True)
