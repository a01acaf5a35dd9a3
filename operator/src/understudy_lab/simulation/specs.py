"""What a simulated job is: sources, subjobs, sinks. Values only: nothing here runs."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from understudy_lab.simulation.made_up_operators import Operator, Row
from understudy_lab.simulation.world import MS

Elements = tuple[tuple[str, Operator, tuple[str, ...]], ...]
Build = Callable[..., Any]
"""Makes the core of an instance of its name, wiring and detector."""


@dataclass(frozen=True)
class SubjobSpec:
    """A subjob: its elements in order (the last one's stream leaves it), and how an instance of its mode is
    made."""

    name: str
    elements: Elements
    build: Build
    family: str = "lease"  # lease | replica | savepoint | sink
    mode: str = ""
    promise: str = "precise"  # precise | rollback | gap
    replicas: int = 2
    side_by_side: bool = False
    """Whether all instances serve at once, though one of them holds the Lease (replica backup)."""
    alternative: Elements | None = None
    """The alternative branch: elements that make the same stream with less accuracy, on the upstream's
    machine."""
    process: bool = False
    """Whether a failure process is declared."""
    logged: bool = False
    """Whether its standby has a log of its steps (upstream backup with determinants)."""
    inputs: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        own = {n for n, _, _ in self.elements}
        found = dict.fromkeys(s for _, _, ins in self.elements for s in ins if s not in own)
        object.__setattr__(self, "inputs", tuple(found))

    @property
    def stream(self) -> str:
        """What leaves it."""
        return self.elements[-1][0]

    @property
    def arbitrary(self) -> bool:
        return any(op.arbitrary for _, op, _ in self.elements)

    @property
    def holds_back(self) -> bool:
        """Whether it sends nothing of which its standby does not have the choices."""
        return self.arbitrary and self.promise == "precise"

    @property
    def passive(self) -> bool:
        return self.mode.startswith("passiveStandby")


@dataclass(frozen=True)
class SourceSpec:
    name: str
    rows: tuple[Row, ...]
    every: int  # microseconds between tuples (or batches)
    burst: int = 1
    phase: int = 0

    @property
    def lasts(self) -> int:
        return self.phase + len(self.rows) * self.every // self.burst


@dataclass
class Job:
    sources: list[SourceSpec] = field(default_factory=list)
    subjobs: list[SubjobSpec] = field(default_factory=list)
    sinks: dict[str, str] = field(default_factory=dict)

    @cached_property
    def maker(self) -> dict[str, SubjobSpec]:
        """Who makes a stream that is no source, once the job is whole."""
        return {spec.stream: spec for spec in self.subjobs}

    def behind(self, stream: str, subjobs: Collection[str]) -> bool:
        """Whether one of these subjobs is before this stream."""
        spec = self.maker.get(stream)
        return spec is not None and (
            spec.name in subjobs or any(self.behind(s, subjobs) for s in spec.inputs)
        )

    def describe(self) -> str:
        lines = [
            f"source {s.name}: {len(s.rows)} tuples, {s.burst} every {s.every / MS:g} ms"
            for s in self.sources
        ]
        for spec in self.subjobs:
            ops = " → ".join(f"{type(op).__name__}({', '.join(ins)})" for _, op, ins in spec.elements)
            lines.append(f"subjob {spec.name}: {spec.mode}, {spec.promise}: {ops}")
        return "\n".join(lines + [f"sink {k}: {v}" for k, v in self.sinks.items()])
