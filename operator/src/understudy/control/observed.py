"""Everything that a decision may depend on, as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from understudy.control import names
from understudy.control.revision import NO_DIGESTS, Digests, revision_of
from understudy.control.times import millis
from understudy.model.branches import in_use
from understudy.model.job import StreamJob
from understudy.model.plan import SubjobPlan
from understudy.model.refusal import Refusal
from understudy.model.status import Role
from understudy.protocol.statuspage import InstancePage, SinkPage, StatusPage


class Phase(StrEnum):
    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    UNKNOWN = "Unknown"


class Spread(StrEnum):
    """How an instance keeps away from the node of its peer."""

    REQUIRED = "required"
    PREFERRED = "preferred"


@dataclass(frozen=True, slots=True)
class Death:
    """The end of a container that was started again."""

    why: str
    """In Kubernetes' words: `OOMKilled`, `Error: …`."""
    at_ms: int | None = None
    out_of_memory: bool = False
    """Whether the kernel killed it because of its memory limit."""


@dataclass(frozen=True, slots=True)
class Pod:
    name: str
    part: str
    """The subjob or sink that it belongs to."""
    role: Role | None
    """From its label; None if the label has another value."""
    phase: Phase
    created_ms: int
    node: str | None = None
    ip: str | None = None
    ready: bool = False
    terminating: bool = False
    restarts: int = 0
    digests: Digests = NO_DIGESTS
    revision: str = ""
    spread: Spread = Spread.PREFERRED
    trouble: str | None = None
    """What keeps it from running, in Kubernetes' words: `ImagePullBackOff: …`, `OOMKilled`."""
    unschedulable: str | None = None
    """Why the scheduler found no node."""
    certificate: int = 0
    uid: str = ""
    """Tells this pod from another of the same name."""
    evicted: bool = False
    """Whether it is being evicted: its node is emptied, or an autoscaler wants it on another node."""
    death: Death | None = None
    """How its container ended last."""
    memory_limit: str = ""
    """Of its container, as Kubernetes writes it; empty: none."""

    @property
    def is_sink(self) -> bool:
        return self.role is Role.SINK

    @property
    def has_finished(self) -> bool:
        """Whether it ended by itself. A pod that is being deleted was asked to stop, whatever its exit
        code."""
        return self.phase is Phase.SUCCEEDED and not self.terminating


@dataclass(frozen=True, slots=True)
class Trial:
    """A pod that waits for room and does nothing."""

    name: str
    subjob: str
    asks: str
    """Another one for another request."""
    runs: bool = False
    terminating: bool = False


@dataclass(frozen=True, slots=True)
class Lease:
    name: str
    job: str
    """The job that it belongs to: names of two jobs can meet."""
    subjob: str
    holder: str | None = None
    epoch: int = 0
    successor: str | None = None
    """The instance that its holder should move to."""


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    ready: bool = True
    schedulable: bool = True
    cordoned: bool = False
    """Whether new pods are kept away from the node, because it is to be emptied."""


@dataclass(frozen=True, slots=True)
class Order:
    """A move that was asked for on the StreamJob."""

    node: str | None = None
    """The node to move to; None: to the standby."""
    by: str = ""
    """The Migration that gave the order."""


@dataclass(frozen=True, slots=True)
class Move:
    """A move under way."""

    source: str
    target: str
    why: str
    at_ms: int
    by: str = ""
    from_node: str = ""
    resource: bool = False
    """Whether an overload caused the move."""
    ordered: bool = False
    """Whether the move was ordered from outside: then it is wanted whichever instance leads."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The last move of a subjob, and what it cost."""

    by: str
    source: str
    target: str
    why: str
    at_ms: int
    ended_ms: int
    from_node: str = ""
    pause_ms: int | None = None
    """For how long nothing was processed; None: unknown."""
    bytes: int | None = None
    lost: int | None = None
    failure: str | None = None
    """Why the move did not take place; None if it did."""
    resource: bool = False

    @property
    def pause_seconds(self) -> float | None:
        return self.pause_ms / 1000 if self.pause_ms is not None else None

    def sentence(self, subjob: str) -> str:
        if self.failure is not None:
            return f"{subjob} did not move from {self.source}: {self.failure}"
        pause = f", with a pause of {self.pause_seconds:.2f} s" if self.pause_seconds is not None else ""
        return f"{subjob} has moved from {self.source} to {self.target}{pause}"


@dataclass(frozen=True, slots=True)
class Seen:
    """The newest status page of a pod, and when it answered with it."""

    page: StatusPage
    at_ms: int
    silent: bool = False
    """Whether the pod did not answer the newest question. `at_ms` is then the time of the first question
    without an answer."""


@dataclass(frozen=True, slots=True)
class Retired:
    """A pod that is removed on purpose."""

    uid: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """What the operator has recorded (ConfigMap `JOB-run`), so that it survives the operator and the
    status."""

    start_ms: int | None = None
    completed_ms: int | None = None
    revision: str = ""
    """The manifest that was accepted last."""
    generation: int = 0
    """The generation of the spec that it came from: what was accepted once stays so when the operator is
    upgraded."""
    next: Mapping[str, int] = field(default_factory=dict)
    """Subjob → the number of its next instance; written before the pod is made, so that no number is used
    twice. For a sink, as `sink.NAME`, of its next pod."""
    made_ms: Mapping[str, int] = field(default_factory=dict)
    """Subjob → when its newest instance was made."""
    failed: Mapping[str, int] = field(default_factory=dict)
    """Subjobs that no node could take and whose alternative runs → the generation of the spec when they
    failed."""
    processes: Mapping[str, int] = field(default_factory=dict)
    """Subjob → the epoch after which its failure process was run."""
    moves: Mapping[str, Move] = field(default_factory=dict)
    """Subjob → its move that is under way; recorded before the move changes anything."""
    moved: Mapping[str, Moved] = field(default_factory=dict)
    """Subjob → its last completed or failed move."""
    certificate: int = 0
    """The number of the certificate that new pods get; 0: the job has none."""
    certificate_until_ms: int = 0
    certificate_from: int = 1
    """Certificates before this one were removed."""
    retired: Mapping[str, Retired] = field(default_factory=dict)
    """Pods that are removed on purpose; recorded before they are removed."""
    kills: Mapping[str, str] = field(default_factory=dict)
    """Subjob → how often it was OOM-killed since an instance last caught up, and where (`control.kills`)."""


@dataclass(frozen=True, slots=True)
class Access:
    """The account that the job's pods use, as far as it exists."""

    account: bool = False
    leases: frozenset[str] | None = None
    """The Leases that the Role names; None without a Role."""
    executors: bool = False
    """Whether it lets drivers make pods for executors."""
    bound: bool = False


class Placement(StrEnum):
    """How the node of a new standby is chosen, among those that can take it."""

    LATENCY = "latency"
    RANDOM = "random"
    SCHEDULER = "scheduler"


@dataclass(frozen=True, slots=True)
class Safeguards:
    """What protects a job's pods."""

    budgets: frozenset[str] | None = None
    """PodDisruptionBudgets that exist; None if the operator must not make any."""
    policy: bool | None = None
    """Whether the NetworkPolicy exists with its present content; None if the operator must not make one."""
    tls: bool = False
    """Whether new jobs get certificates."""
    certificate_ms: int = 30 * 86_400_000
    """How long a new certificate lives."""


@dataclass(frozen=True, slots=True)
class IncidentSeen:
    name: str
    created_ms: int
    spec: Mapping[str, Any]
    status: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Observed:
    now_ms: int
    name: str
    namespace: str
    generation: int
    created_ms: int
    wanted: StreamJob | tuple[Refusal, ...]
    """The job that the spec asks for now, or why it is refused."""
    running: StreamJob | None = None
    """The job of the revision that was accepted last."""
    plans: Mapping[str, SubjobPlan] = field(default_factory=dict)
    """The plans of the job that should run."""
    run: Run | None = None
    deleted: bool = False
    remains: tuple[str, ...] = ()
    """Objects of an earlier job of the same name that still exist."""
    pods: tuple[Pod, ...] = ()
    trials: tuple[Trial, ...] = ()
    leases: tuple[Lease, ...] = ()
    services: frozenset[str] = frozenset()
    manifests: frozenset[str] = frozenset()
    """Revisions whose ConfigMap exists."""
    access: Access = Access()
    safeguards: Safeguards = Safeguards()
    nodes: tuple[Node, ...] = ()
    """Empty if the operator may not read nodes."""
    placement: Placement = Placement.LATENCY
    distances: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """Between nodes, in milliseconds, as far as pods have measured them."""
    pages: Mapping[str, Seen] = field(default_factory=dict)
    """Pod → its page."""
    elsewhere: Mapping[str, tuple[Seen, ...]] = field(default_factory=dict)
    """Node → the pages of other jobs' pods there."""
    orders: Mapping[str, Order] = field(default_factory=dict)
    """Subjob → the order to move it, from the annotations of the StreamJob."""
    incidents: tuple[IncidentSeen, ...] = ()
    status: Mapping[str, Any] = field(default_factory=dict)
    """The present status."""
    jobs: int = 1
    """How many jobs the operator looks at."""

    @property
    def refusals(self) -> tuple[Refusal, ...]:
        return () if isinstance(self.wanted, StreamJob) else self.wanted

    @property
    def declared(self) -> StreamJob | None:
        """The job that the spec asks for, or the one that was accepted before if the spec is refused."""
        return self.wanted if isinstance(self.wanted, StreamJob) else self.running

    @property
    def failed(self) -> Mapping[str, int]:
        return self.run.failed if self.run else {}

    @property
    def job(self) -> StreamJob | None:
        """The job that should run: the declared job, with alternatives in place of failed subjobs."""
        return in_use(self.declared, self.failed) if self.declared else None

    @property
    def revision(self) -> str:
        return revision_of(self.declared, self.failed) if self.declared else ""

    @property
    def started(self) -> bool:
        return self.run is not None and self.run.start_ms is not None

    @property
    def completed(self) -> bool:
        return self.run is not None and self.run.completed_ms is not None

    def condition(self, kind: str) -> Mapping[str, Any] | None:
        """A condition of the present status."""
        return next((c for c in self.status.get("conditions") or () if c.get("type") == kind), None)

    def status_since(self, kind: str, status: str) -> int | None:
        """Since when the condition has had this status; None if it has another."""
        found = self.condition(kind)
        return millis(found.get("lastTransitionTime")) if found and found.get("status") == status else None

    def before(self, subjob: str) -> Mapping[str, Any]:
        """What the present status says about a subjob."""
        return next((s for s in self.status.get("subjobs") or () if s.get("name") == subjob), {})

    def lease(self, subjob: str) -> Lease | None:
        name = names.lease(self.name, subjob)
        return next((lease for lease in self.leases if lease.name == name and lease.job == self.name), None)

    def pod(self, name: str | None) -> Pod | None:
        return next((pod for pod in self.pods if pod.name == name), None)

    def instances(self, subjob: str) -> tuple[Pod, ...]:
        """Oldest first."""
        found = (pod for pod in self.pods if pod.part == subjob and not pod.is_sink)
        return tuple(sorted(found, key=lambda pod: names.number_of(pod.name)))

    def sink_pod(self, sink: str) -> Pod | None:
        return next((pod for pod in self.pods if pod.part == sink and pod.is_sink), None)

    def node(self, name: str) -> Node | None:
        return next((node for node in self.nodes if node.name == name), None)

    def incident(self, name: str) -> IncidentSeen | None:
        return next((incident for incident in self.incidents if incident.name == name), None)

    def has_told(self, subjob: str, epoch: int) -> bool:
        """Whether the status shows the take-over that began this epoch as the last one."""
        return (self.before(subjob).get("lastFailover") or {}).get("epoch") == epoch

    def silent_ms(self, pod: str) -> int | None:
        """Milliseconds since the pod's page last answered, or since it fell silent. None if it has never
        answered."""
        seen = self.pages.get(pod)
        return self.now_ms - seen.at_ms if seen else None

    def instance_page(self, pod: str | None) -> InstancePage | None:
        seen = self.pages.get(pod or "")
        return seen.page if seen and isinstance(seen.page, InstancePage) else None

    def sink_page(self, pod: str) -> SinkPage | None:
        seen = self.pages.get(pod)
        return seen.page if seen and isinstance(seen.page, SinkPage) else None
