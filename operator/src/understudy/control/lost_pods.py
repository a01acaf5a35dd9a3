"""Which pods are lost. A lost pod is replaced; the reason is a sentence.

| a pod is lost when | what is certain |
|---|---|
| it is being deleted, has failed, or has ended | its process is gone, or will be soon |
| its node is gone or not ready | nothing: its process may still run, but a newer epoch fences it off |
| its page answered once and then not for SILENCE_MS | nothing: the same |
| it is a sink, and no pod on its node has answered for QUIET_MS | nothing: a later life fences it off |
| it cannot start, or an instance crashes again and again | another node, or a later image, may be better |

A pod whose container crashes once is not lost: the kubelet restarts the container, and it comes back as a
standby.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from understudy.control.observed import Observed, Phase, Pod, Spread

SILENCE_MS: Final = 30_000
# No standby stands in for a sink, so Kubernetes is not waited for if its node seems lost
QUIET_MS: Final = 8_000
FRESH_MS: Final = 10_000  # a page older than this no longer proves that its process serves
CANNOT_START_MS: Final = 120_000
CRASHES: Final = 5  # the kubelet waits longer after each: about five minutes
NO_ROOM_MS: Final = 20_000  # how long an instance may wait for a node of its own before it shares its peer's


@dataclass(frozen=True, slots=True)
class Loss:
    why: str
    suspect: bool = False
    """Whether its node should be avoided."""
    unreachable: bool = False
    """Whether its kubelet may never confirm a deletion."""


def loss_of(seen: Observed, pod: Pod) -> Loss | None:
    if pod.terminating:
        return Loss("it is being deleted")
    if pod.phase is Phase.FAILED:
        return Loss(f"it has failed{_because(pod.trouble)}")
    if pod.phase is Phase.SUCCEEDED and not pod.is_sink:
        return Loss("it has ended")
    return _node_loss(seen, pod) or _silence(seen, pod) or _quiet(seen, pod) or _stuck(seen, pod)


def _node_loss(seen: Observed, pod: Pod) -> Loss | None:
    if pod.node is None or not seen.nodes:
        return None
    node = seen.node(pod.node)
    if node is None:
        return Loss(f"its node {pod.node} is gone", unreachable=True)
    return None if node.ready else Loss(f"its node {pod.node} is not ready", unreachable=True)


def _silence(seen: Observed, pod: Pod) -> Loss | None:
    silent = seen.silent_ms(pod.name)
    if silent is None or silent < SILENCE_MS or pod.phase is not Phase.RUNNING:
        return None
    return Loss(f"it has not answered for {silent // 1000} s", suspect=True, unreachable=True)


def _quiet(seen: Observed, pod: Pod) -> Loss | None:
    """A sink is lost if all pods on its node are silent, too. A sink that alone is silent may only be
    slow."""
    if not pod.is_sink or pod.node is None or pod.phase is not Phase.RUNNING:
        return None
    here = [p.name for p in seen.pods if p.node == pod.node and p.phase is Phase.RUNNING]
    pages = [*(seen.pages[name] for name in here if name in seen.pages), *seen.elsewhere.get(pod.node, ())]
    silent = [page for page in pages if page.silent and seen.now_ms - page.at_ms >= QUIET_MS]
    if pod.name not in seen.pages or len(pages) < 2 or len(silent) < len(pages):
        return None
    return Loss(
        f"nobody on its node {pod.node} has answered for {QUIET_MS // 1000} s", suspect=True, unreachable=True
    )


def _stuck(seen: Observed, pod: Pod) -> Loss | None:
    """Whether the pod cannot start, or crashes again and again. A sink may go back to the same node, since
    its volume may be there; a sink that crashes stays there."""
    if pod.trouble is None or pod.node is None:
        return None
    if pod.restarts >= CRASHES and not pod.is_sink:
        return Loss(f"it has crashed {pod.restarts} times on {pod.node}: {pod.trouble}", suspect=True)
    late = pod.phase is Phase.PENDING and seen.now_ms - pod.created_ms >= CANNOT_START_MS
    return Loss(f"it cannot start on {pod.node}: {pod.trouble}", suspect=True) if late else None


def no_room(seen: Observed, pod: Pod) -> bool:
    """Whether the pod waits for a node other than its peer's, and no such node has room."""
    waited = seen.now_ms - pod.created_ms
    return pod.unschedulable is not None and pod.spread is Spread.REQUIRED and waited >= NO_ROOM_MS


def fresh(seen: Observed, pod: str) -> bool:
    silent = seen.silent_ms(pod)
    return silent is not None and silent < FRESH_MS


def _because(trouble: str | None) -> str:
    return f": {trouble}" if trouble else ""
