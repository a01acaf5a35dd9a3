"""Where a new instance goes: never on the node of the subjob's other instance if another node can take it. Of
several nodes, CLEA elects the nearest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import assert_never

from understudy.control.observed import Observed, Placement, Pod, Spread
from understudy.model.job import StreamJob
from understudy.protocol.clea import candidates, elect


def usable_nodes(seen: Observed) -> set[str]:
    return {node.name for node in seen.nodes if node.ready and node.schedulable}


def nodes_to_avoid(seen: Observed, peers: Iterable[Pod], suspects: Iterable[Pod]) -> frozenset[str]:
    """Nodes on which an instance failed a short time ago, unless there are no others."""
    suspected = {pod.node for pod in suspects if pod.node}
    taken = {peer.node for peer in peers}
    return frozenset(suspected) if usable_nodes(seen) - taken - suspected else frozenset()


def spread_for(seen: Observed, peers: Iterable[Pod], avoid: frozenset[str]) -> tuple[Spread, str]:
    """Whether the new instance must keep away from its peers, and a clause that says why."""
    usable = usable_nodes(seen) - avoid
    taken = {peer.node for peer in peers if peer.node}
    if not taken and len(usable) > 1:
        return Spread.REQUIRED, "on a node of its own"
    free = usable - taken
    if taken and free:
        return Spread.REQUIRED, f"not on {_listed(taken)}, where its peer runs"
    if not seen.nodes:
        return Spread.PREFERRED, "on another node than its peer if there is one (nodes cannot be read)"
    return Spread.PREFERRED, "beside its peer if need be, since no other node is ready"


def _listed(nodes: Iterable[str]) -> str:
    return ", ".join(sorted(nodes))


# ---- which node ------------------------------------------------------------------------------------------


def elect_node(
    seen: Observed, job: StreamJob, subjob: str, peers: Sequence[Pod], avoid: frozenset[str], name: str
) -> tuple[str | None, str]:
    """The node for a new instance, and a clause that says why; None leaves it to the scheduler."""
    taken = {peer.node for peer in peers if peer.node}
    free = sorted(usable_nodes(seen) - taken - avoid)
    if len(free) < 2 or not taken:
        return None, ""
    match seen.placement:
        case Placement.LATENCY:
            return _nearest(seen, free, _ends(seen, job, subjob, peers))
        case Placement.RANDOM:
            chosen = free[int(sha256(name.encode()).hexdigest(), 16) % len(free)]
            return chosen, f"on {chosen}, drawn by lot"
        case Placement.SCHEDULER:
            return None, ""
        case _:
            assert_never(seen.placement)


def _ends(seen: Observed, job: StreamJob, subjob: str, peers: Sequence[Pod]) -> dict[str, str]:
    """The pods at the other end of the subjob's streams, and its other instance: pod → node."""
    read = next((found.inputs for found in job.subjobs if found.name == subjob), ())
    beside = [found.name for found in job.subjobs if found.name in read or subjob in found.inputs]
    leaders = [pod for name in beside if (lease := seen.lease(name)) and (pod := seen.pod(lease.holder))]
    sinks = [pod for sink in job.sinks if sink.input == subjob and (pod := seen.sink_pod(sink.name))]
    return {pod.name: pod.node for pod in (*leaders, *peers, *sinks) if pod.node}


def _nearest(seen: Observed, free: Sequence[str], ends: Mapping[str, str]) -> tuple[str | None, str]:
    """CLEA: the node with the least mean latency to producers, the other instance and consumers. Nodes
    without a measurement are left out."""
    targets = tuple(ends.values())
    known = {**seen.distances, **{(node, node): 0.0 for node in free}}
    nodes = [node for node in free if all((node, target) in known for target in targets)]
    measured = candidates(nodes, frozenset(), known, targets)
    chosen = elect(measured)
    if chosen is None:
        return None, "on a node of the scheduler's choice, since no free one was measured"
    means = ", ".join(f"{each.node} {each.mean:.2f} ms" for each in measured)
    return chosen, f"on {chosen}, the nearest to {', '.join(sorted(ends))} (mean latency: {means})"
