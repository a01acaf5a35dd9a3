"""What a run observes of its job: processes, their status pages, Leases, and the faults made so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from understudy.local.run.fault_plan import Fault
from understudy.local.run.members import Kind, Process
from understudy.modes.build import sink_consumer
from understudy.protocol.statuspage import InstancePage, Lag, SinkPage, State, StatusPage


@dataclass(frozen=True, slots=True)
class Seen:
    """What is known of one process."""

    process: Process
    age_ms: int
    exit_code: int | None
    hurt: bool
    page: StatusPage | None
    """None before it answers."""
    ready_ms: int | None = None
    """How long ago it was ready for the first time."""
    silent_ms: int = 0
    """How long ago it answered a request for its page."""

    @property
    def alive(self) -> bool:
        return self.exit_code is None

    @property
    def instance(self) -> InstancePage:
        """The page of an instance; an empty page before it answers."""
        return self.page if isinstance(self.page, InstancePage) else InstancePage()

    @property
    def sink(self) -> SinkPage:
        """The page of a sink; an empty page before it answers."""
        return self.page if isinstance(self.page, SinkPage) else SinkPage()

    @property
    def state(self) -> State:
        return self.page.state if self.page is not None else State.STARTING

    @property
    def ready(self) -> bool:
        return self.alive and self.state.serves

    @property
    def was_ready(self) -> bool:
        return self.ready_ms is not None


@dataclass(frozen=True, slots=True)
class Done:
    """A fault that was carried out."""

    fault: Fault
    victim: Process
    at_ms: int
    """Wall clock."""
    had_standby: bool = False


@dataclass(frozen=True, slots=True)
class Observed:
    now_ms: int
    started_ms: int | None
    seen: tuple[Seen, ...]
    holders: Mapping[str, str]
    """The instance that holds each subjob's Lease."""
    done: tuple[Done, ...] = ()
    resumed: frozenset[Done] = frozenset()
    asked_to_stop: bool = False
    told: frozenset[tuple[Process, str]] = frozenset()
    """The settings that each process has received."""
    killed: frozenset[Process] = frozenset()
    """Processes that were killed because they had stalled. A process that waits for a disk ends only when the
    disk works again."""
    successors: Mapping[str, str] = field(default_factory=dict)
    """The instance that each subjob's Lease names as the target of a move."""
    under_way: frozenset[str] = frozenset()
    """Subjobs that are about to move."""
    moving: frozenset[Process] = frozenset()
    """Source and target of every move that is not over, and the targets of failed moves."""

    def of(self, kind: Kind, owner: str) -> list[Seen]:
        return [s for s in self.seen if s.process.kind is kind and s.process.owner == owner]

    def living(self, kind: Kind, owner: str) -> list[Seen]:
        return [s for s in self.of(kind, owner) if s.alive]

    def primary(self, subjob: str) -> Seen | None:
        holder = self.holders.get(subjob)
        return next((s for s in self.living(Kind.SUBJOB, subjob) if s.process.name == holder), None)

    def standby(self, subjob: str) -> Seen | None:
        holder = self.holders.get(subjob)
        return next((s for s in self.living(Kind.SUBJOB, subjob) if s.process.name != holder), None)

    def protected(self, subjob: str) -> bool:
        """Whether its primary reports that another instance could take over now."""
        primary = self.primary(subjob)
        return primary is not None and primary.instance.protected

    def lag(self, sink: str) -> Lag | None:
        """How far a sink is behind, as its producer's primary reports it: a sink that hangs reports
        nothing."""
        for primary in (found for subjob in self.holders if (found := self.primary(subjob))):
            for queue in primary.instance.outputs.values():
                if (consumer := queue.consumers.get(sink_consumer(sink))) is not None:
                    return consumer.lag
        return None

    def covered(self, process: Process) -> bool:
        """Whether another instance of the subjob could take over from it at once."""
        return any(s.ready and s.process != process for s in self.of(process.kind, process.owner))
