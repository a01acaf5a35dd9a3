"""Queries that leave something to chance, each with what it makes of its inputs in a given order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.local.jobs import job
from understudy.model.job import StreamJob
from understudy_lab.verify.plain import operators as oracle
from understudy_lab.verify.plain.operators import Row
from understudy_lab.verify.variants import without_last_operator

Merged = Sequence[tuple[int, Row]]
STREAMS = ("a", "b")
SECOND = 1_000_000

HEAD = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: chance}
spec:
  sources:
    - {name: a, SOURCE_A}
    - {name: b, SOURCE_B}
  subjobs:
    - {name: made, inputs: INPUTS, operators: OPERATORS}
  sinks: [{name: alerts, input: made, files: {path: out}}]
"""
GENERATOR = 'generator: {rate: 10, limit: LIMIT, fields: {k: "_seq % 3", v: "(_seq * 7 + SIDE) % 1000"}}'
FILES = 'files: {path: rows, format: jsonl, schema: "k int, v int, at timestamp", eventTime: at}'


@dataclass(frozen=True)
class Shape:
    name: str
    operators: str
    made_of: Callable[[Merged, Random], list[Row]]
    """What comes of the inputs in this order, with these draws; None draws nothing."""
    inside: Callable[[Merged, Random], list[Row]] | None = None
    """What goes into windows."""
    source: str = GENERATOR
    several: bool = True

    def job(self) -> StreamJob:
        inputs = "[a, b]" if self.several else "[a]"
        text = HEAD.replace("INPUTS", inputs).replace("OPERATORS", self.operators)
        for side, name in enumerate(STREAMS):
            source = self.source.replace("LIMIT", str(self.length)).replace("SIDE", str(side))
            text = text.replace(f"SOURCE_{name.upper()}", source)
        return job(text)

    @property
    def length(self) -> int:
        """Of each input."""
        return 120 if self.several else 600

    def inputs(self) -> list[list[Row]]:
        late = self.source == FILES
        made = [
            [
                Row(
                    n,
                    oracle.ORIGIN + (n - (9 if late and n % 5 == side else 0)) * SECOND // 10,
                    columns(n, side),
                )
                for n in range(self.length)
            ]
            for side in range(2)
        ]
        return made if self.several else made[:1]

    def reference(self, job: StreamJob, stream: str, ahead: str | None = None, /) -> list[dict[str, Any]]:
        merged = oracle.merged_by_event_time(self.inputs())
        if ahead is not None:
            merged.sort(key=lambda pair: pair[0] != STREAMS.index(ahead))
        before = job == without_last_operator(self.job(), stream) and self.inside is not None
        make = self.inside if before and self.inside else self.made_of
        return lines(make(merged, TakesAll()))

    def execution(self, random: Random) -> list[dict[str, Any]]:
        """One of those without failures: now the one, now the other input is ahead."""
        left, merged = [list(rows) for rows in self.inputs()], []
        while any(left):
            side = random.choice([n for n, rows in enumerate(left) if rows])
            burst = random.randint(1, 20)
            merged += [(side, row) for row in left[side][:burst]]
            del left[side][:burst]
        return lines(self.made_of(merged, random))


class TakesAll(Random):
    def random(self) -> float:
        return 0.0


def columns(n: int, side: int) -> dict[str, Any]:
    return {"k": n % 3, "v": (n * 7 + side) % 1000}


def lines(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [{**row.columns, "_seq": seq} for seq, row in enumerate(rows)]


# --- what each operator does


def union(merged: Merged, _: Random) -> list[Row]:
    return oracle.union(merged, ["k", "v"])


def placed(merged: Merged, random: Random) -> list[Row]:
    return oracle.mapped(union(merged, random), lambda row: {"n": row.seq, "v": row.columns["v"]})


def join(merged: Merged, _: Random) -> list[Row]:
    return oracle.joined(
        merged,
        lambda left, right: left.columns["k"] == right.columns["k"],
        SECOND // 2,
        lambda left, right: {"v": left.columns["v"], "w": right.columns["v"]},
    )


def sample(merged: Merged, random: Random) -> list[Row]:
    return [row for row in union(merged, random) if random.random() < 0.5]


def odd(merged: Merged, random: Random) -> list[Row]:
    return oracle.filtered(union(merged, random), lambda row: row.columns["v"] % 2 == 1)


def total(rows: list[Row]) -> dict[str, Any]:
    return {"n": len(rows), "s": sum(row.columns["v"] for row in rows)}


def windows(
    kept: Callable[[Merged, Random], list[Row]], by: list[str]
) -> Callable[[Merged, Random], list[Row]]:
    def make(merged: Merged, random: Random) -> list[Row]:
        return oracle.count_windows(union(merged, random), kept(merged, random), 20, 20, by, total)

    return make


def sampled_windows(merged: Merged, random: Random) -> list[Row]:
    drawn = oracle.renumbered(sample(merged, random))
    return oracle.count_windows(drawn, drawn, 20, 20, [], total)


def time_windows(merged: Merged, random: Random) -> list[Row]:
    rows = union(merged, random)
    return oracle.time_windows(rows, rows, SECOND, SECOND, 0, [], total)


# --- the queries

SELECT = 'select: {n: "count(*)", s: "sum(v)"}'
COUNTED = f"aggregate: {{window: {{on: _seq, size: 20}}, {SELECT}}}"
GROUPED = f"aggregate: {{window: {{on: _seq, size: 20}}, groupBy: [k], {SELECT}}}"
TIMED = f"aggregate: {{window: {{on: ts, size: 1s}}, {SELECT}}}"
SAMPLE = "sample: {fraction: 0.5}"
JOIN = '[{join: {with: b, on: "a.k = b.k", within: 500ms, select: {v: a.v, w: b.v}}}]'

UNION = Shape("union", "[{union: {}}]", union)
JOINED = Shape("join", JOIN, join)
LATE_JOIN = Shape("join of late tuples", JOIN, join, source=FILES)
WINDOWS = Shape("windows", f"[{{union: {{}}}}, {{{COUNTED}}}]", windows(union, []))
GROUPS = Shape("grouped windows", f"[{{union: {{}}}}, {{{GROUPED}}}]", windows(union, ["k"]))
FILTERED = Shape(
    "filtered windows",
    f"[{{union: {{}}}}, {{filter: {{where: 'v % 2 = 1'}}}}, {{{GROUPED}}}]",
    windows(odd, ["k"]),
    inside=odd,
)
SECONDS = Shape("windows of a second", f"[{{union: {{}}}}, {{{TIMED}}}]", time_windows)
PLACED = Shape("places", '[{union: {}}, {map: {select: {n: "_seq", v: v}}}]', placed)
SAMPLED = Shape("sample", f"[{{{SAMPLE}}}]", sample, several=False)
DRAWN = Shape(
    "drawn windows", f"[{{{SAMPLE}}}, {{{COUNTED}}}]", windows(sample, []), inside=sample, several=False
)
SHAPES = (UNION, JOINED, LATE_JOIN, WINDOWS, GROUPS, FILTERED, SECONDS, PLACED, SAMPLED, DRAWN)
