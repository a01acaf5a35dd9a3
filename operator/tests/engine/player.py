"""Random histories of an inbox, whose plans are computed without Spark to try many of them quickly."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from understudy.engine.inbox import Inbox
from understudy.engine.lane import InputKind, InputSpec
from understudy.engine.plan import BatchPlan, Choice
from understudy.model.elements import Element
from understudy_lab.verify.plain.operators import Row

from .computing import INPUT, folds_of, results_of
from .rig import sent, table_of

Result = tuple[Any, ...]
ROW_WISE = [{"filter": {"where": "true"}}]
UNION: list[dict[str, Any]] = [{"union": {}}]
JOIN = [{"join": {"with": "b", "on": "true", "within": "10ms"}}]


def count_window(size: int, slide: int) -> list[dict[str, Any]]:
    return [
        {"aggregate": {"window": {"on": "_seq", "size": size, "slide": slide}, "select": {"n": "count(*)"}}}
    ]


def time_window(size: int, slide: int, lateness: int) -> list[dict[str, Any]]:
    spans = {"size": f"{size}ms", "slide": f"{slide}ms", "lateness": f"{lateness}ms"}
    return [{"aggregate": {"window": {"on": "ts", **spans}, "select": {"n": "count(*)"}}}]


def compute(inbox: Inbox, plan: BatchPlan) -> list[Result]:
    """Per result: its event time and the (input, seq) pairs that it is made of; with panes, a tuple of such
    pairs for each partial."""
    if inbox.in_panes:
        found = folds_of(inbox, plan)
        return [(ts, *(tuple(divmod(n, INPUT) for n in ids) for ids in partials)) for ts, partials in found]
    return [(ts, *((row["_in"], row["_seq"]) for row in rows)) for ts, rows in results_of(inbox, plan)]


# --- histories


def spec_of(name: str, ordered: bool = False) -> InputSpec:
    return InputSpec(name, InputKind.STREAM, pa.schema([("x", pa.int64())]), ordered=ordered)


class Player:
    """Offers tuples to an inbox in pieces, runs plans in between, and now and then starts over from a
    state."""

    def __init__(
        self,
        chain: Element,
        streams: Mapping[str, Sequence[Row]],
        seed: int,
        ordered: bool = False,
        block: int | None = None,
    ) -> None:
        self._block, self.ahead = block, 0
        self._chain, self._streams, self._random = chain, streams, random.Random(seed)
        self._specs = [spec_of(name, ordered) for name in chain.inputs]
        self.results: list[Result] = []
        self.progress: list[tuple[int, int]] = []
        self.arrivals: list[tuple[int, int]] = []
        self.choices: list[Choice] = []
        self.inbox = self._fresh()

    def _fresh(self) -> Inbox:
        pick = self._random.randint
        return Inbox(
            self._chain,
            self._specs,
            max_rows=pick(1, 40),
            parallelism=pick(1, 3),
            part_rows=pick(1, 10),
            block=self._block,
        )

    def play(self) -> list[Result]:
        moves = ["offer", "offer", "run", "run", "restore", "restore empty"]
        while not self.inbox.finished:
            match self._random.choice(moves):
                case "offer":
                    self._offer()
                case "run":
                    self._run()
                case "restore":
                    self._restore(tails=True)
                case "restore empty":
                    self._restore(tails=False)
        return self.results

    def _offer(self) -> None:
        for name, rows in self._streams.items():
            spec = spec_of(name)
            start = self.inbox.wanted(name)
            stop = min(len(rows), start + self._random.randint(0, 25))
            if start < stop:
                self.inbox.offer(name, table_of(spec, rows[start:stop]))
            if stop == len(rows):
                self.inbox.end(name, len(rows))

    def _run(self) -> None:
        after = self.inbox.last_done
        plan = self.inbox.cut(after, timeout=0)
        if plan is None:
            return
        assert self.inbox.cut(after, timeout=0) == plan, "asking again gives the same plan"
        self.inbox.begin(plan.number)
        made = compute(self.inbox, plan)
        self.results += made
        if plan.ahead:
            self.ahead += 1
            assert not made
            self.inbox.done(plan.number)
            return
        self.arrivals += [(run.place, seq) for run in plan.runs for seq in range(run.start, run.stop)]
        self.choices.append(plan.choice())
        position = self.inbox.done(plan.number)
        assert position.merged == plan.stop
        if position.progress is not None:
            self.progress.append((len(self.results), position.progress))

    def _restore(self, *, tails: bool) -> None:
        state = sent(self.inbox.state())
        rows = {name: self.inbox.tail(name) for name in self._streams} if tails else {}
        self.inbox = self._fresh()
        self.inbox.restore(state, rows)


def numbered(times: Sequence[int | None], place: int) -> list[Row]:
    return [Row(seq, ts, {"x": place}) for seq, ts in enumerate(times)]


def ids(rows: Sequence[Row], place: int = 0) -> list[Any]:
    return [(place, row.seq) for row in rows]
