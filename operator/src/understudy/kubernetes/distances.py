"""Latencies between nodes, as measured by pods on them. They are shared by all jobs: any pod on a node can
measure."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from understudy.control.observed import Pod, Seen

Distances = Mapping[tuple[str, str], float]


class NodeDistances:
    def __init__(self) -> None:
        self._known: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    def learn(self, pods: Iterable[Pod], pages: Mapping[str, Seen]) -> Distances:
        """Takes over the figures of the pods' pages; returns all that is known, in milliseconds. A latency
        counts for both directions."""
        placed = [pod for pod in pods if pod.node]
        nodes = {pod.ip: pod.node for pod in placed if pod.ip and pod.node}
        with self._lock:
            for pod in placed:
                seen = pages.get(pod.name)
                for host, took in (seen.page.latencies if seen else {}).items():
                    if pod.node and (other := nodes.get(host)):
                        self._known[pod.node, other] = self._known[other, pod.node] = took
            return dict(self._known)
