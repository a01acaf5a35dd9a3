"""A cluster as a value: what intents do to it, and what kubelets, scheduler and processes do by themselves.

Instances follow the real rules of the Lease: whoever is ready and finds it free, or held by a
pod that is gone, takes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, assert_never

from understudy.control import intents as do
from understudy.control import names
from understudy.control.admission import plans_of
from understudy.control.decide import decide
from understudy.control.intents import Intent
from understudy.control.observed import (
    Access,
    Death,
    IncidentSeen,
    Lease,
    Node,
    Observed,
    Order,
    Phase,
    Pod,
    Safeguards,
    Seen,
    Spread,
    Trial,
)
from understudy.control.revision import revision_of
from understudy.control.run_record import read_record
from understudy.model.branches import in_use
from understudy.model.ha import Ha
from understudy.model.job import StreamJob
from understudy.model.plan import SubjobPlan
from understudy.model.refusal import Refusal
from understudy.model.status import Role
from understudy.protocol.statuspage import InstancePage, SinkPage, from_json

STEP_MS = 1_000
READY_MS = 8_000


@dataclass
class World:
    wanted: StreamJob | tuple[Refusal, ...]
    name: str = "demo"
    now_ms: int = 1_800_000_000_000
    generation: int = 1
    nodes: list[Node] = field(default_factory=lambda: [Node("n1"), Node("n2"), Node("n3")])
    pods: dict[str, Pod] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    services: set[str] = field(default_factory=set)
    jobs: dict[str, StreamJob] = field(default_factory=dict)
    access: Access = field(default_factory=Access)
    safeguards: Safeguards = field(default_factory=lambda: Safeguards(frozenset(), False, True))
    certificates: set[int] = field(default_factory=set)
    entries: dict[str, str] | None = None
    incidents: dict[str, IncidentSeen] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)
    orders: dict[str, Order] = field(default_factory=dict)
    departures: dict[str, dict[str, Any]] = field(default_factory=dict)
    overloads: dict[str, str] = field(default_factory=dict)
    full: set[str] = field(default_factory=set)
    behind: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Sink → tuples and milliseconds that it is behind, as the primary of its producer says."""
    """Subjobs whose output queue has no room."""
    stalled: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, Any] = field(default_factory=dict)
    """What every instance says of its inputs."""

    """Pod → why its engine, or its disk, stands still."""
    pages: dict[str, Seen] = field(default_factory=dict)
    elsewhere: dict[str, Seen] = field(default_factory=dict)
    """Node → the page of another job's pod there."""
    taken: dict[str, dict[str, Any]] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    told: dict[str, Ha] = field(default_factory=dict)
    processes: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    no_room_for: set[str] = field(default_factory=set)
    """Subjobs that fit on no node; who stands in for one does."""
    trials: dict[str, Trial] = field(default_factory=dict)
    avoided: dict[str, frozenset[str]] = field(default_factory=dict)
    """Trial → nodes that it keeps away from."""
    history: list[Intent] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    lives: dict[str, int] = field(default_factory=dict)
    """Sink → the number of its newest pod."""
    made: int = 0
    """Pods so far."""
    created_ms: int = 0
    flowing: bool = False
    _plans: tuple[StreamJob, Mapping[str, SubjobPlan]] | None = None

    def __post_init__(self) -> None:
        self.created_ms = self.now_ms

    # ---- observe

    def observe(self) -> Observed:
        run = read_record(self.entries) if self.entries is not None else None
        return Observed(
            now_ms=self.now_ms,
            name=self.name,
            namespace="apps",
            generation=self.generation,
            created_ms=self.created_ms,
            wanted=self.wanted,
            plans=self._planned(),
            running=self.jobs.get(run.revision) if run else None,
            run=run,
            pods=tuple(self.pods.values()),
            trials=tuple(self.trials.values()),
            leases=tuple(self.leases.values()),
            services=frozenset(self.services),
            manifests=frozenset(self.jobs),
            access=self.access,
            safeguards=self.safeguards,
            nodes=tuple(self.nodes),
            pages=dict(self.pages),
            elsewhere={node: (seen,) for node, seen in self.elsewhere.items()},
            orders=dict(self.orders),
            incidents=tuple(self.incidents.values()),
            status=self.status,
        )

    def _planned(self) -> Mapping[str, SubjobPlan]:
        if not isinstance(self.wanted, StreamJob):
            return {}
        if self._plans is None or self._plans[0] is not self.wanted:
            self._plans = (self.wanted, plans_of(in_use(self.wanted, self.failed)))
        return self._plans[1]

    @property
    def failed(self) -> Mapping[str, int]:
        return read_record(self.entries or {}).failed

    # ---- act

    def apply(self, plan: Iterable[Intent]) -> None:
        for intent in plan:
            self.history.append(intent)
            self._apply(intent)

    def _apply(self, intent: Intent) -> None:
        match intent:
            case do.EnsureServiceAccount():
                self.access = replace(self.access, account=True)
            case do.EnsureRole():
                self.access = replace(self.access, leases=intent.leases, executors=intent.executors)
            case do.EnsureRoleBinding():
                self.access = replace(self.access, bound=True)
            case do.EnsureManifest():
                assert isinstance(self.wanted, StreamJob)
                assert intent.revision == revision_of(self.wanted, self.failed)
                self.jobs[intent.revision] = self.wanted
            case do.EnsureService():
                self.services.add(names.service(self.name, intent.subjob))
            case do.EnsureBudget():
                self._guard(
                    budgets=(self.safeguards.budgets or frozenset())
                    | {names.budget(self.name, intent.subjob)}
                )
            case do.EnsureNetworkPolicy():
                self._guard(policy=True)
            case do.IssueCertificate():
                self.certificates.add(intent.number)
            case do.EnsureLease():
                name = names.lease(self.name, intent.subjob)
                self.leases.setdefault(
                    name, Lease(name, self.name, intent.subjob, intent.holder, intent.epoch)
                )
            case do.NameSuccessor():
                name = names.lease(self.name, intent.subjob)
                self.leases[name] = replace(self.leases[name], successor=intent.instance)
            case do.WithdrawSuccessor():
                name = names.lease(self.name, intent.subjob)
                if self.leases[name].successor == intent.instance:
                    self.leases[name] = replace(self.leases[name], successor=None)
            case do.DropOrder():
                self.orders.pop(intent.subjob, None)
            case do.Record():
                self.entries = {
                    k: v for k, v in {**(self.entries or {}), **intent.entries}.items() if v is not None
                }
            case do.CreateInstance():
                self._create_instance(intent)
            case do.CreateTrial():
                assert intent.name not in self.trials, f"{intent.name} exists"
                self.trials[intent.name] = Trial(intent.name, intent.subjob, intent.asks)
                self.avoided[intent.name] = intent.avoid
            case do.ChangeInstance():
                self.told[intent.pod] = intent.ha
            case do.RunProcess():
                self.processes[intent.name] = intent.template
            case do.CreateSink():
                assert intent.life > self.lives.get(intent.sink, 0), (
                    f"life {intent.life} of {intent.sink} is not new"
                )
                self.lives[intent.sink] = intent.life
                self._create(Pod(intent.name, intent.sink, Role.SINK, Phase.PENDING, self.now_ms), intent)
            case do.DeletePod():
                self._delete(intent)
            case do.LabelPod():
                self.pods[intent.name] = replace(self.pods[intent.name], role=intent.role)
            case do.Remove():
                self._remove(intent)
            case do.RecordIncident():
                kept = self.incidents.get(intent.name)
                made = kept.created_ms if kept else self.now_ms
                self.incidents[intent.name] = IncidentSeen(intent.name, made, intent.spec, intent.status)
            case do.Emit():
                pass
            case do.PatchStatus():
                self.status = dict(intent.status)
            case _:
                assert_never(intent)

    def _guard(self, **changes: Any) -> None:
        self.safeguards = replace(self.safeguards, **changes)

    def _create_instance(self, intent: do.CreateInstance) -> None:
        assert intent.name not in self.used, f"{intent.name} was used before"
        assert self.entries is not None
        assert intent.revision in self.jobs, "a pod without its manifest"
        assert names.lease(self.name, intent.subjob) in self.leases, "a pod without its Lease"
        self.used.append(intent.name)
        pod = Pod(intent.name, intent.subjob, intent.role, Phase.PENDING, self.now_ms, spread=intent.spread)
        subjob = in_use(self.jobs[intent.revision], self.failed).subjob(intent.subjob)
        assert subjob is not None
        self.told[intent.name] = subjob.ha
        self._create(pod, intent)

    def _create(self, pod: Pod, intent: do.CreateInstance | do.CreateSink) -> None:
        assert pod.name not in self.pods, f"{pod.name} exists"
        assert not intent.certificate or intent.certificate in self.certificates, (
            "a pod without its certificate"
        )
        self.silent.discard(pod.name)
        self.made += 1
        self.pods[pod.name] = replace(
            pod,
            uid=f"{self.made:08x}-0000",
            digests=intent.digests,
            revision=intent.revision,
            certificate=intent.certificate,
            node=self._schedule(pod, intent.avoid),
        )

    def _schedule(self, pod: Pod, avoid: frozenset[str]) -> str | None:
        if pod.part in self.no_room_for and pod.part not in self.failed:
            return None
        usable = [n.name for n in self.nodes if n.ready and n.schedulable and n.name not in avoid]
        peers = {p.node for p in self.pods.values() if p.part == pod.part and not p.is_sink}
        apart = [name for name in usable if name not in peers]
        if pod.spread is Spread.REQUIRED and not pod.is_sink:
            usable = apart
        crowd = {name: sum(p.node == name for p in self.pods.values()) for name in usable}
        return min(apart or usable, key=lambda name: (crowd[name], name), default=None)

    def _delete(self, intent: do.DeletePod) -> None:
        if self.trials.pop(intent.name, None):
            return
        pod = self.pods[intent.name]
        up = pod.node is None or any(n.name == pod.node and n.ready for n in self.nodes)
        if up or intent.force:
            self.kill(pod.name)
        else:
            self.pods[pod.name] = replace(pod, terminating=True)

    def _remove(self, intent: do.Remove) -> None:
        match intent.kind:
            case do.Kind.SERVICE:
                self.services.remove(intent.name)
            case do.Kind.LEASE:
                del self.leases[intent.name]
            case do.Kind.MANIFEST:
                del self.jobs[intent.name.rpartition("-")[2]]
            case do.Kind.CERTIFICATE:
                self.certificates.remove(names.number_of(intent.name))
            case do.Kind.BUDGET:
                self._guard(budgets=(self.safeguards.budgets or frozenset()) - {intent.name})
            case do.Kind.INCIDENT:
                del self.incidents[intent.name]

    # ---- what happens by itself

    def kill(self, pod: str) -> None:
        del self.pods[pod]
        self.pages.pop(pod, None)

    def crash(self, pod: str, why: str = "OOMKilled") -> None:
        """Its container dies and is started again where it was; nobody has heard of that yet."""
        died = self.pods[pod]
        death = Death(why, self.now_ms, out_of_memory=why == "OOMKilled")
        self.pods[pod] = replace(died, restarts=died.restarts + 1, death=death, created_ms=self.now_ms)

    def lose_node(self, name: str) -> None:
        self.nodes = [replace(n, ready=False) if n.name == name else n for n in self.nodes]
        self.silent |= {pod.name for pod in self.pods.values() if pod.node == name}

    def finish_sinks(self) -> None:
        for pod in [p for p in self.pods.values() if p.is_sink]:
            self.pods[pod.name] = replace(pod, phase=Phase.SUCCEEDED)

    def tick(self, ms: int = STEP_MS) -> None:
        self.now_ms += ms
        for pod in list(self.pods.values()):
            if pod.node is None:
                self._no_node(pod)
            elif pod.phase is Phase.PENDING and pod.trouble is None:
                self.pods[pod.name] = replace(pod, phase=Phase.RUNNING, ip=f"10.0.0.{len(self.pods)}")
        self.trials = {
            name: replace(trial, runs=self._has_room(trial)) for name, trial in self.trials.items()
        }
        self._leases()
        self._pages()

    def _has_room(self, trial: Trial) -> bool:
        """Once it runs it keeps its place."""
        like = Pod(trial.name, trial.subjob, None, Phase.PENDING, self.now_ms)
        room = self._schedule(like, self.avoided[trial.name]) is not None
        return trial.runs or (trial.subjob not in self.no_room_for and room)

    def _no_node(self, pod: Pod) -> None:
        node = self._schedule(pod, frozenset())
        self.pods[pod.name] = replace(
            pod, node=node, unschedulable=None if node else "0/3 nodes are available"
        )

    def answering(self, pod: Pod) -> bool:
        return pod.phase is Phase.RUNNING and not pod.terminating and pod.name not in self.silent

    def ready(self, pod: Pod) -> bool:
        return self.answering(pod) and self.now_ms - pod.created_ms >= (1_000 if pod.is_sink else READY_MS)

    def _leases(self) -> None:
        for lease in list(self.leases.values()):
            holder = self.pods.get(lease.holder or "")
            if holder and self.answering(holder):
                self._hand_over(lease)
                continue
            candidates = [
                p for p in self.pods.values() if p.part == lease.subjob and not p.is_sink and self.ready(p)
            ]
            if candidates:
                won = candidates[0].name
                self.leases[lease.name] = replace(lease, holder=won, epoch=lease.epoch + 1, successor=None)
                if lease.holder is not None:
                    self.taken[won] = take_over(lease.holder, self.now_ms)

    def _hand_over(self, lease: Lease) -> None:
        """A primary moves to the successor that its Lease names, if that one is ready and alone with it."""
        target, others = self.pods.get(lease.successor or ""), self.live(lease.subjob)
        if lease.holder is None or target is None or not self.ready(target) or len(others) > 2:
            return
        at = self.now_ms
        self.leases[lease.name] = replace(lease, holder=target.name, epoch=lease.epoch + 1, successor=None)
        self.taken[target.name] = {**take_over(lease.holder, at), "cause": "it hands over", "planned": True}
        self.departures[lease.holder] = {"to": target.name, "pausedMs": at, "leftMs": at, "bytes": 42}

    def _pages(self) -> None:
        for pod in self.pods.values():
            if not self.answering(pod):
                self._note_silence(pod)
                continue
            page = from_json(self._sink_page(pod) if pod.is_sink else self._instance_page(pod))
            assert isinstance(page, InstancePage | SinkPage)
            self.pages[pod.name] = Seen(page, self.now_ms)

    def _note_silence(self, pod: Pod) -> None:
        seen = self.pages.get(pod.name)
        if seen is not None and not seen.silent:
            self.pages[pod.name] = Seen(seen.page, self.now_ms, silent=True)

    def _sink_page(self, pod: Pod) -> dict[str, Any]:
        tuples = self.now_ms // 10 if self.flowing else 0
        return {
            "kind": "sink",
            "sink": pod.part,
            "state": self._state(pod),
            "tuples": tuples,
            "next": tuples,
            "stalled": self.stalled.get(pod.name),
        }

    def _state(self, pod: Pod) -> str:
        return "stalled" if pod.name in self.stalled else "ready" if self.ready(pod) else "starting"

    def _instance_page(self, pod: Pod) -> dict[str, Any]:
        name = names.lease(self.name, pod.part)
        lease = self.leases.get(name, Lease(name, self.name, pod.part))
        leads = lease.holder == pod.name
        others = [
            p for p in self.pods.values() if p.part == pod.part and p.name != pod.name and not p.is_sink
        ]
        ha = self.told.get(pod.name)
        secondary = next((p.name for p in others if self.ready(p)), None) if leads else None
        return {
            "kind": "subjob",
            "mode": str(ha.mode) if ha else None,
            "settings": ha.digest if ha else None,
            "instance": pod.name,
            "role": "primary" if leads else "standby",
            "epoch": lease.epoch,
            "state": self._state(pod),
            "engine": {"state": "stalled", "why": self.stalled[pod.name]}
            if pod.name in self.stalled
            else None,
            "protected": secondary is not None,
            "secondary": secondary,
            "takeover": self.taken.get(pod.name) if leads else None,
            "departure": self.departures.get(pod.name),
            "overload": self.overloads.get(pod.name) if leads else None,
            "outputs": self._outputs(pod.part, leads),
            "inputs": dict(self.inputs),
        }

    def _outputs(self, subjob: str, leads: bool) -> dict[str, Any]:
        if subjob in self.full:
            return {subjob: {"trimmed": 0, "next": 9, "full": True, "consumers": {"out": {"released": 0}}}}
        lags = {f"sink/{s}": {"released": 0, "lag": n, "lagMs": ms} for s, (n, ms) in self.behind.items()}
        mine = subjob == "double" and leads and bool(lags)
        return {subjob: {"trimmed": 0, "next": 9, "consumers": lags}} if mine else {}

    # ---- the loop

    def reconcile(self, cut: int | None = None) -> tuple[Intent, ...]:
        plan = decide(self.observe())
        self.apply(plan[:cut])
        return plan

    def run_for(self, seconds: int) -> World:
        for _ in range(seconds):
            self.tick()
            self.reconcile()
        return self

    def edit(self, wanted: StreamJob | tuple[Refusal, ...]) -> World:
        self.wanted, self.generation = wanted, self.generation + 1
        return self

    def fork(self) -> World:
        """Another world with the same past. Everything in the containers is frozen."""
        other = copy(self)
        vars(other).update({k: copy(v) for k, v in vars(self).items() if isinstance(v, list | dict | set)})
        return other

    # ---- questions

    def live(self, subjob: str) -> list[Pod]:
        return [p for p in self.pods.values() if p.part == subjob and not p.is_sink and not p.terminating]

    def primary(self, subjob: str) -> str:
        holder = self.leases[names.lease(self.name, subjob)].holder
        assert holder is not None
        return holder

    def standby(self, subjob: str) -> str:
        return next(p.name for p in self.live(subjob) if p.name != self.primary(subjob))

    def condition(self, kind: str) -> dict[str, Any]:
        found: dict[str, Any] = next(c for c in self.status["conditions"] if c["type"] == kind)
        return found

    def is_true(self, kind: str) -> bool:
        return bool(self.condition(kind)["status"] == "True")

    def reasons(self) -> list[str]:
        return [str(intent.reason) for intent in self.history if isinstance(intent, do.Emit)]

    def subjob(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = next(s for s in self.status["subjobs"] if s["name"] == name)
        return found


def take_over(gone: str, at: int) -> dict[str, Any]:
    steps = ("detectedMs", "leaseMs", "promotedMs", "restoredMs", "firstOutputMs", "caughtUpMs")
    times = {step: at + 100 * place for place, step in enumerate(steps)}
    return {
        "from": gone,
        "cause": "its connection closed: the process is dead",
        "replayed": 7,
        "lost": 0,
        "heardMs": at - 300,
        "stoppedMs": at - 300,
        "recoveryMs": 300 + times["firstOutputMs"] - at,
        **times,
    }
