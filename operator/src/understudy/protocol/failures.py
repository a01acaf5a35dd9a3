"""Classes of failures, how each is recognised, and what is done about it (Brettlecker §3.2, §4.1, §4.2).

A service (network, provider or operator) that is silent has failed *temporarily*: the output queues of its
upstream buffer, and send again when it is back. After the timeout, or without room for more tuples, the
failure is *permanent*. A *resource* failure (memory, computation, bandwidth) is noticed by the affected side
itself: its backlog keeps growing. What follows depends on the phase of the job's life:

| failure   | activation         | running                 | deactivation                                |
|-----------|--------------------|-------------------------|---------------------------------------------|
| temporary | buffer             | buffer                  | buffer                                      |
| permanent | activate elsewhere | migrate from the backup | the same while tuples are owed; then nothing |
| resource  | activate elsewhere | migrate with live state | nothing: it is about to end                 |

If no node can take the operator, the alternative branch is used; if none is declared, the failure process;
otherwise the failure is only reported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from understudy.protocol.ids import Millis
from understudy.protocol.timer import due


class Phase(Enum):
    """The life of a stream process (Brettlecker §2)."""

    ACTIVATION = "activation"
    RUNNING = "running"
    DEACTIVATION = "deactivation"


class Resource(Enum):
    MEMORY = "memory"
    COMPUTATION = "computation"
    BANDWIDTH = "bandwidth"


# --- what failed


@dataclass(frozen=True, slots=True)
class Temporary:
    why: str


@dataclass(frozen=True, slots=True)
class Permanent:
    why: str


@dataclass(frozen=True, slots=True)
class Overload:
    resource: Resource
    why: str


Failure = Temporary | Permanent | Overload


@dataclass(frozen=True, slots=True)
class ServiceWatch:
    """What an upstream knows of a service from its acks. Silence counts only while tuples wait for the
    service."""

    suspect: int  # milliseconds of silence after which it counts as failed
    timeout: int  # milliseconds after which it is permanent
    room: int  # tuples that can be buffered in the meantime
    heard: Millis

    def acked(self, now: Millis) -> ServiceWatch:
        return replace(self, heard=now)

    def classify(self, now: Millis, waiting: int) -> Temporary | Permanent | None:
        silent = now - self.heard
        if waiting == 0 or silent <= self.suspect:
            return None
        if silent > self.timeout:
            return Permanent(f"no ack for {silent} ms, more than the timeout of {self.timeout} ms")
        if waiting > self.room:
            return Permanent(f"no ack for {silent} ms, and no room for more than {self.room} tuples")
        return Temporary(f"no ack for {silent} ms")


@dataclass(frozen=True, slots=True)
class LoadWatch:
    """What a provider knows of its own load. Overload: a backlog above the limit that has grown in each of
    `rounds` looks."""

    limit: int
    rounds: int
    interval: int  # milliseconds between looks
    unit: str = "tuples"
    backlog: int = 0
    grown: int = 0
    looked: Millis | None = None

    def look(self, now: Millis, backlog: int) -> tuple[LoadWatch, Overload | None]:
        if not due(self.looked, now, self.interval):
            return self, None
        if backlog <= self.limit or backlog <= self.backlog:
            return replace(self, backlog=backlog, grown=0, looked=now), None
        if self.grown + 1 < self.rounds:
            return replace(self, backlog=backlog, grown=self.grown + 1, looked=now), None
        grown = f"has grown {self.rounds} times in a row"
        why = f"the backlog of {backlog} {self.unit} is above {self.limit} and {grown}"
        return replace(self, backlog=backlog, grown=0, looked=now), Overload(Resource.COMPUTATION, why)


@dataclass(frozen=True, slots=True)
class ShareWatch:
    """Overload of a resource: its share, in percent, is above the limit in each of `rounds` looks."""

    resource: Resource
    what: str
    limit: int
    rounds: int
    above: int = 0

    def look(self, percent: float) -> tuple[ShareWatch, Overload | None]:
        if percent <= self.limit:
            return replace(self, above=0), None
        if self.above + 1 < self.rounds:
            return replace(self, above=self.above + 1), None
        why = f"{self.what} {percent:.0f} %, more than {self.limit} %, {self.rounds} times in a row"
        return replace(self, above=0), Overload(self.resource, why)


# --- what is done


@dataclass(frozen=True, slots=True)
class Buffer:
    why: str


@dataclass(frozen=True, slots=True)
class ActivateElsewhere:
    node: str
    why: str


@dataclass(frozen=True, slots=True)
class MigrateFromBackup:
    node: str
    why: str


@dataclass(frozen=True, slots=True)
class MigrateLive:
    node: str
    why: str


@dataclass(frozen=True, slots=True)
class AlternativeBranch:
    subjob: str
    why: str


@dataclass(frozen=True, slots=True)
class FailureProcess:
    why: str


@dataclass(frozen=True, slots=True)
class Report:
    """Nothing can be done, or nothing has to be done."""

    why: str


Handling = (
    Buffer | ActivateElsewhere | MigrateFromBackup | MigrateLive | AlternativeBranch | FailureProcess | Report
)


@dataclass(frozen=True, slots=True)
class Means:
    """What is available to handle a failure."""

    node: str | None  # a suitable node, if there is one
    alternative: str | None = None
    process: bool = False


def handle(failure: Failure, phase: Phase, owes: bool, means: Means) -> Handling:
    """The table above. `owes`: the operator has tuples that its consumers have not received."""
    if isinstance(failure, Temporary):
        return Buffer(f"{failure.why}: upstream keeps what it needs")
    if phase is Phase.DEACTIVATION and (isinstance(failure, Overload) or not owes):
        return Report(f"{failure.why}, but the job is ending and nothing is owed")
    if means.node is None:
        return _without_a_node(failure, means)
    if phase is Phase.ACTIVATION:
        return ActivateElsewhere(means.node, f"{failure.why}: it had not begun")
    if isinstance(failure, Overload):
        return MigrateLive(means.node, failure.why)
    return MigrateFromBackup(means.node, failure.why)


def _without_a_node(failure: Permanent | Overload, means: Means) -> Handling:
    if isinstance(failure, Overload):
        return Report(f"{failure.why}; no other node can take it")
    if means.alternative is not None:
        return AlternativeBranch(means.alternative, f"{failure.why}; no node can take it")
    if means.process:
        return FailureProcess(f"{failure.why}; no node can take it, and there is no alternative branch")
    return Report(f"{failure.why}; no node can take it, no alternative and no process is declared")
