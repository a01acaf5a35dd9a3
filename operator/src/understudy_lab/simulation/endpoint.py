"""Something with a name and a machine that receives messages, and what it remembers of those who read from
it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy_lab.simulation.cluster import Cluster

HELD, LOG = -1, -2  # a subscription from what is held for the consumer; from all of a log


@dataclass(slots=True)
class Subscription:
    stream: str
    consumer: str
    target: Any
    next: int
    end_told: bool = False
    opens_at: int | None = None  # when the connection stands, if it has to be opened


class Endpoint:
    def __init__(self, cluster: Cluster, name: str, host: str) -> None:
        self.cluster, self.world = cluster, cluster.world
        self.name, self.host = name, host
        self.alive = True
        self.paused = 0  # until when its machine stands still
        self._backlog: deque[tuple[str, tuple[Any, ...]]] = deque()
        self._handlers: dict[str, Callable[..., None]] = {}

    @property
    def speaks(self) -> bool:
        """Whether it tells what its subjob has: of a silent second reader nobody wants to know."""
        return True

    @property
    def parts(self) -> tuple[object, ...]:
        """Who takes messages: the methods `rx_…` of these."""
        return (self,)

    def send(self, target: Endpoint, kind: str, size: int, method: str, *args: Any) -> None:
        cluster = self.cluster
        cluster.calls[method] = cluster.calls.get(method, 0) + 1
        weather = cluster.weather
        if weather is not None and weather.takes(self, target, method, args):
            return
        self.world.send(kind, self.host, target.host, size, target.receive, method, args)

    def receive(self, method: str, args: tuple[Any, ...]) -> None:
        if not self.alive:
            return
        if self.world.now < self.paused:
            if not self._backlog:
                self.world.at(self.paused - self.world.now, self._catch_up)
            self._backlog.append((method, args))
            return
        handler = self._handlers.get(method)
        if handler is None:
            part = next(p for p in self.parts if hasattr(p, method))
            handler = self._handlers[method] = getattr(part, method)
        handler(*args)

    def _catch_up(self) -> None:
        if self.world.now < self.paused:
            self.world.at(self.paused - self.world.now, self._catch_up)
            return
        backlog, self._backlog = self._backlog, deque()
        for method, args in backlog:
            self.receive(method, args)
