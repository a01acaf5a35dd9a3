"""Which processes a job needs, and in which order they are started."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from understudy.control.giving_up import means_of
from understudy.model.job import StreamJob
from understudy.model.network import in_order
from understudy.protocol.failures import Means


class Kind(StrEnum):
    SUBJOB = "subjob"
    SINK = "sink"


@dataclass(frozen=True, slots=True)
class Process:
    """One process, once: a replacement has the next number."""

    kind: Kind
    owner: str
    number: int

    @property
    def name(self) -> str:
        """The name by which it announces itself."""
        return f"sink-{self.owner}" if self.kind is Kind.SINK else f"{self.owner}-{self.number}"


@dataclass(frozen=True, slots=True)
class Members:
    sinks: tuple[str, ...]
    subjobs: tuple[str, ...]
    """Each after those whose streams it reads."""
    instances: dict[str, int]
    """How many instances a subjob should have: with a standby two."""
    settings: dict[str, str]
    """The digest of how each subjob is to be kept alive."""
    means: dict[str, Means]
    """What there is to do when a subjob has failed for good. There is no other machine."""
    since: dict[str, int] = field(default_factory=dict)
    """Of subjobs that another stands in for: the number of its first process."""
    memory: dict[str, str] = field(default_factory=dict)
    """What each subjob declares; a process here has no limit of its own but the machine's."""

    @classmethod
    def of(cls, job: StreamJob) -> Members:
        return cls(
            sinks=tuple(s.name for s in job.sinks),
            subjobs=tuple(s.name for s in in_order(job)),
            instances={s.name: s.ha.instances for s in job.subjobs},
            settings={s.name: s.ha.digest for s in job.subjobs},
            means={s.name: means_of(s) for s in job.subjobs},
            memory={s.name: s.spark.driver.memory for s in job.subjobs},
        )

    def order(self) -> list[tuple[Kind, str, int]]:
        """Who must live, most urgent first, as (kind, owner, how many): sinks, a primary each, then the
        standbys."""
        ranks = range(1, 1 + max(self.instances.values(), default=0))
        instances = [
            (Kind.SUBJOB, s, rank) for rank in ranks for s in self.subjobs if self.instances[s] >= rank
        ]
        return [*((Kind.SINK, s, 1) for s in self.sinks), *instances]
