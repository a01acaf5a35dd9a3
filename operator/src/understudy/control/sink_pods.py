"""The pods of sinks: one for each sink, always under the same name, so the old pod must be gone before a new
one is made.

Gone means gone for Kubernetes: a pod that was removed by force may still run on a node that was cut off. So
each pod gets a number, which is recorded first, and only the pod with the highest number may write.
"""

from __future__ import annotations

from understudy.control import names
from understudy.control.certificates import certificate_for
from understudy.control.intents import CreateSink, DeletePod, Emit, Intent, Reason, Record, Severity
from understudy.control.lost_pods import Loss, loss_of
from understudy.control.observed import Observed, Pod, Run
from understudy.control.revision import sink_digests
from understudy.model.job import StreamJob
from understudy.model.sinks import Sink


def plan_sinks(seen: Observed, job: StreamJob) -> tuple[Intent, ...]:
    return tuple(intent for sink in job.sinks for intent in _plan_sink(seen, job, sink))


def finished(seen: Observed, job: StreamJob) -> bool:
    """Whether every sink has ended by itself: its stream has ended and all tuples are written."""
    pods = [seen.sink_pod(sink.name) for sink in job.sinks]
    return bool(pods) and all(pod is not None and pod.has_finished for pod in pods)


def _plan_sink(seen: Observed, job: StreamJob, sink: Sink) -> tuple[Intent, ...]:
    pod = seen.sink_pod(sink.name)
    if pod is None:
        return _create(seen, sink)
    if pod.terminating:
        return _let_go(seen, pod)
    if loss := loss_of(seen, pod):
        return (*_remove(pod, loss.why, loss.unreachable), *_elsewhere(seen, sink, pod, loss))
    if pod.digests != sink_digests(sink, certificate_for(seen)) and not pod.has_finished:
        return _remove(pod, "the sink was changed, or its certificate", force=False)
    return ()


def _let_go(seen: Observed, pod: Pod) -> tuple[Intent, ...]:
    """Deletes the pod by force if its node is gone: then no kubelet will ever confirm the deletion."""
    node = seen.node(pod.node) if pod.node and seen.nodes else None
    stranded = bool(seen.nodes) and pod.node is not None and (node is None or not node.ready)
    return _remove(pod, f"its node {pod.node} is not there to let it go", force=True) if stranded else ()


def _elsewhere(seen: Observed, sink: Sink, pod: Pod, loss: Loss) -> tuple[Intent, ...]:
    """Makes the sink's pod on another node, at once: the scheduler may still think that this node is well,
    and later no observation shows that it does not answer."""
    return (
        _create(seen, sink, frozenset({pod.node})) if loss.suspect and loss.unreachable and pod.node else ()
    )


def _create(seen: Observed, sink: Sink, avoid: frozenset[str] = frozenset()) -> tuple[Intent, ...]:
    name = names.sink(seen.name, sink.name)
    key = f"sink.{sink.name}"
    life = (seen.run or Run()).next.get(key, 1)
    why = f"{name} is made for sink {sink.name}, which reads {sink.input}"
    return (
        Record({f"next.{key}": str(life + 1)}, f"number {life} is given to a pod of sink {sink.name}"),
        CreateSink(
            name,
            sink.name,
            life,
            avoid,
            sink_digests(sink, certificate_for(seen)),
            seen.revision,
            certificate_for(seen),
            why,
        ),
        Emit(Severity.NORMAL, Reason.SINK_CREATED, why),
    )


def _remove(pod: Pod, why: str, force: bool) -> tuple[Intent, ...]:
    sentence = f"{pod.name} is removed, to be made again: {why}"
    return DeletePod(pod.name, force, sentence), Emit(Severity.NORMAL, Reason.SINK_REMOVED, sentence)
