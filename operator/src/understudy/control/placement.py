"""Where a new instance may go: never on its peer's node if another can take it."""

from __future__ import annotations

from collections.abc import Iterable

from understudy.control.observed import Observed, Pod, Spread


def usable_nodes(seen: Observed) -> set[str]:
    return {node.name for node in seen.nodes if node.ready and node.schedulable}


def nodes_to_avoid(seen: Observed, peers: Iterable[Pod], suspects: Iterable[Pod]) -> frozenset[str]:
    """Nodes where an instance just failed, unless nothing but those is left."""
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
