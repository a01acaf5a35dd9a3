"""What a drill is made of: a job, how long it runs, and what is done to it meanwhile."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from understudy.local.run.fault_plan import Fault, parse_kill, parse_stop
from understudy.local.sink_guarantees import path_of
from understudy.model.job import StreamJob
from understudy.model.load import load

SOURCES = """
  sources:
    - {name: odd, generator: {rate: 60, fields: {k: "_seq * 2 + 1", g: "_seq % 3"}}}
    - {name: even, generator: {rate: 40, fields: {k: "_seq * 2", g: "_seq % 2"}}}
"""
COUNT = (
    '{aggregate: {window: {on: _seq, size: 6, slide: 3}, groupBy: [g], select: {n: "count(*)", k: "max(k)"}}}'
)
FILTER = '{filter: {where: "k >= 0"}}'
UNION = "{union: {}}"
MARKED = '{python: {function: "marks:marked", deterministic: true}}'
MODULE = """
from pyspark.sql import functions as F

mark = F.udf(lambda k: k + 1, "bigint")


def marked(rows):
    return rows.where("k % 7 <> 0").withColumn("k", mark("k"))
"""
"""What is in `marks.py`, beside every manifest."""


@dataclass(frozen=True)
class Programme:
    name: str
    spec: str
    seconds: int
    kills: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()

    @property
    def manifest(self) -> str:
        head = f"apiVersion: understudy.dev/v1alpha1\nkind: StreamJob\nmetadata: {{name: {self.name}}}\nspec:"
        return head + SOURCES + self.spec

    @property
    def options(self) -> list[str]:
        kills = [word for kill in self.kills for word in ("--kill", kill)]
        stops = [word for stop in self.stops for word in ("--stop", stop)]
        return ["--duration", f"{self.seconds}s", *kills, *stops]

    @property
    def digest(self) -> str:
        """Another one where anything of it is another: a result tells of the programme as it was."""
        return hashlib.sha256("\n".join([self.manifest, MODULE, *self.options]).encode()).hexdigest()[:16]

    @property
    def job(self) -> StreamJob:
        found = load(self.manifest)
        assert isinstance(found, StreamJob), found
        return found

    def faults(self, seed: int) -> list[Fault]:
        """In the order of their moments; one that waits for its victim may come later."""
        random, job = Random(seed), self.job
        found = [
            *(parse_kill(k, job, random) for k in self.kills),
            *(parse_stop(s, job, random) for s in self.stops),
        ]
        refused = [each for each in found if isinstance(each, str)]
        assert not refused, refused
        return sorted((each for each in found if isinstance(each, Fault)), key=lambda fault: fault.at_ms)

    def kept(self, sinks: Mapping[str, bool]) -> dict[str, bool]:
        """Whether the promises of all sinks behind each subjob were kept."""
        job = self.job
        behind = {s.name: {each.name for each in path_of(job, s.input)} for s in job.sinks}
        return {
            s.name: all(kept for sink, kept in sinks.items() if s.name in behind[sink]) for s in job.subjobs
        }
