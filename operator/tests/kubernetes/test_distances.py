"""Latencies as processes measure them, and distances between nodes that the operator makes of them."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

from understudy.control.observed import Phase, Pod, Seen
from understudy.kubernetes.distances import NodeDistances
from understudy.model.status import Role
from understudy.process.latencies import Latencies, handshake
from understudy.protocol.statuspage import InstancePage


def pod(name: str, node: str, ip: str) -> Pod:
    return Pod(name, "keep", Role.PRIMARY, Phase.RUNNING, 0, node=node, ip=ip)


def page(**latencies: float) -> Seen:
    known = {host.replace("_", "."): took for host, took in latencies.items()}
    return Seen(InstancePage(latencies=known), 0)


@contextmanager
def listening() -> Iterator[str]:
    """The kernel shakes hands; nobody needs to accept."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


def test_a_handshake_takes_its_time_and_nobody_there_is_none() -> None:
    with listening() as address:
        took = handshake(address)
        assert took is not None
        assert took > 0
    assert handshake(address) is None


def test_figures_are_by_host_and_who_is_gone_is_not_among_them() -> None:
    known = ["127.0.0.1:1"]
    with listening() as address:
        known.append(address)
        measured = Latencies(lambda: known)
        end = time.monotonic() + 30
        while not measured.figures() and time.monotonic() < end:
            time.sleep(0.01)
        assert set(measured.figures()) == {"127.0.0.1"}
    measured._round()
    assert measured.figures() == {}


def test_what_pods_measured_is_the_distance_of_their_nodes_both_ways_and_for_all_jobs() -> None:
    distances = NodeDistances()
    pods = (pod("a", "n1", "10.0.0.1"), pod("b", "n2", "10.0.0.2"))
    distances.learn(pods, {"a": page(**{"10_0_0_2": 1.5, "10_9_9_9": 3.0})})
    assert distances.learn((), {}) == {("n1", "n2"): 1.5, ("n2", "n1"): 1.5}
