"""The clock, the network and the Lease store. Time is in whole microseconds."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from understudy.protocol.epochs import LeaseRecord, is_as_expected
from understudy.protocol.ids import Epoch, Millis

MS = 1_000
SECOND = 1_000_000


@dataclass(slots=True)
class Link:
    free_at: int = 0  # when the last message has left
    arrives: int = 0  # when the last message arrives: links keep order


@dataclass(slots=True)
class Network:
    """Order-preserving links; what is sent into a partition is lost."""

    latency: int = 5 * MS
    bits_per_second: int | None = None
    jitter: int = 0
    loss: float = 0.0
    far: dict[tuple[str, str], int] = field(default_factory=dict)  # latencies that differ
    slow: dict[str, int] = field(default_factory=dict)  # machine: extra latency
    cut: set[tuple[str, str]] = field(default_factory=set)  # "*" stands for everybody
    links: dict[tuple[str, str], Link] = field(default_factory=dict)
    bytes: dict[str, int] = field(default_factory=dict)  # sent, per kind of message
    messages: dict[str, int] = field(default_factory=dict)
    flows: dict[tuple[str, str, str], int] | None = None  # bytes per kind, sender and receiver, if wanted

    def reaches(self, a: str, b: str) -> bool:
        cut = self.cut
        return not cut or a == b or not ({(a, b), (b, a), (a, "*"), (b, "*")} & cut)


class World:
    def __init__(self, seed: int, network: Network | None = None) -> None:
        self.now = 0
        self.random = random.Random(seed)
        self.network = network or Network()
        self.leases: dict[str, LeaseRecord] = {}
        self.lease_down = False
        self.lease_delay = 2 * MS
        self.history: list[str] | None = None
        self.steps = 0
        self._heap: list[tuple[int, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = 0

    @property
    def millis(self) -> Millis:
        return Millis(self.now // MS)

    def at(self, delay: int, act: Callable[..., None], *args: Any) -> None:
        self._order += 1
        heapq.heappush(self._heap, (self.now + delay, self._order, act, args))

    def run(self, until: int, done: Callable[[], bool] | None = None) -> None:
        heap = self._heap
        while heap and heap[0][0] <= until:
            self.now, _, act, args = heapq.heappop(heap)
            act(*args)
            self.steps += 1
            if done is not None and self.steps % 64 == 0 and done():
                return
        if not heap or heap[0][0] > until:
            self.now = max(self.now, until)

    def note(self, text: str) -> None:
        if self.history is not None:
            self.history.append(f"{self.now / MS:9.2f} ms  {text}")

    def send(
        self, kind: str, source: str, target: str, size: int, act: Callable[..., None], *args: Any
    ) -> None:
        """Deliver after transmission and latency; `kind` is only for the count of bytes."""
        net = self.network
        net.bytes[kind] = net.bytes.get(kind, 0) + size
        net.messages[kind] = net.messages.get(kind, 0) + 1
        if net.flows is not None:
            flow = (kind, source, target)
            net.flows[flow] = net.flows.get(flow, 0) + size
        if not net.reaches(source, target) or (net.loss and self.random.random() < net.loss):
            return
        link = net.links.get((source, target))
        if link is None:
            link = net.links[source, target] = Link()
        leaves = max(self.now, link.free_at)
        if net.bits_per_second is not None:
            leaves += size * 8 * SECOND // net.bits_per_second
        link.free_at = leaves
        delay = net.far.get((source, target), net.latency) if net.far else net.latency
        if net.slow:
            delay += net.slow.get(source, 0) + net.slow.get(target, 0)
        if net.jitter:
            delay += self.random.randrange(net.jitter)
        link.arrives = max(link.arrives, leaves + delay)
        self._order += 1
        heapq.heappush(self._heap, (link.arrives, self._order, act, args))

    # --- the Lease store

    def lease(self, subjob: str) -> LeaseRecord | None:
        return self.leases.get(subjob)

    def ask_holder(self, subjob: str, expected: LeaseRecord, question: str) -> None:
        found = self.leases.get(subjob)
        if found is not None and found == expected and found.question is None:
            self.leases[subjob] = replace(found, question=question)

    def answer(self, subjob: str) -> None:
        self.leases[subjob] = replace(self.leases[subjob], question=None)

    def name_successor(self, subjob: str, holder: str, successor: str) -> None:
        """The holder, if it still is that one, is to move there."""
        found = self.leases.get(subjob)
        if found is not None and found.holder == holder:
            self.leases[subjob] = replace(found, successor=successor)

    def take_successor_away(self, subjob: str, successor: str) -> bool:
        """Nobody is to move there any more; False: that instance holds the Lease already."""
        found = self.leases.get(subjob)
        if found is not None and found.successor == successor:
            self.leases[subjob] = replace(found, successor=None)
        return found is None or found.address != successor

    def take_lease(
        self, subjob: str, expected: LeaseRecord | None, name: str, address: str
    ) -> LeaseRecord | None:
        """Compare-and-set; the record if it was won."""
        found = self.leases.get(subjob)
        if not is_as_expected(found, expected):
            return None
        epoch = Epoch((expected.epoch if expected else 0) + 1)
        self.leases[subjob] = LeaseRecord(name, address, epoch)
        return self.leases[subjob]
