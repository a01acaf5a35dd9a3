"""The engine without Spark: an inbox's plans computed in plain Python, to try many histories quickly."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import pyarrow as pa

from understudy.engine.inbox import Inbox
from understudy.engine.lane import InputKind, InputSpec
from understudy.engine.plan import BatchPlan, Choice
from understudy.model.elements import Element
from understudy.protocol.selection import UNKNOWN, CountWindow, EachRow, TimeWindow, Within, rule_of
from understudy_lab.verify.lists import Row

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
    """Per result: its event time and the (input, seq) pairs that it is made of."""
    parts = [_rows(inbox.rows(plan.number, part)) for part in range(len(plan.parts))]
    match rule_of(inbox.element.operators):
        case EachRow():
            return [(r["_ts"], r["id"]) for r in sorted(chain.from_iterable(parts), key=lambda r: r["_pos"])]
        case CountWindow(size, slide):
            first, times = inbox.window_times(plan.number)
            found = [_counted(rows, size, slide) for rows in parts]
            results = dict(sorted((k, ids) for windows in found for k, ids in windows.items()))
            return [(_known(times[k - first]), *ids) for k, ids in results.items()]
        case TimeWindow(size, slide, lateness):
            closed = [window for rows in parts for window in _timed(rows, size, slide, lateness).items()]
            return [(k * slide + size, *ids) for k, ids in sorted(closed)]
        case Within(reach):
            pairs = sorted(_pairs(list(chain.from_iterable(parts)), reach))
            return [(ts, left, right) for _, _, ts, left, right in pairs]


def _known(time: Any) -> int | None:
    return None if time == UNKNOWN else int(time)


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    for name in table.column_names:
        if pa.types.is_timestamp(table.schema.field(name).type):
            table = table.set_column(table.schema.get_field_index(name), name, table[name].cast(pa.int64()))
    rows = [{"_pos": row["_seq"], "_in": 0} | row for row in table.to_pylist()]
    return [row | {"id": (row["_in"], row["_seq"])} for row in rows]


def _counted(rows: list[dict[str, Any]], size: int, slide: int) -> dict[int, list[Any]]:
    windows: dict[int, list[Any]] = {}
    for row in rows:
        for k in range(max(0, (row["_pos"] - size) // slide + 1), row["_pos"] // slide + 1):
            if row["_open"] < k * slide + size <= row["_shut"]:
                windows.setdefault(k, []).append(row["id"])
    return windows


def _timed(rows: list[dict[str, Any]], size: int, slide: int, lateness: int) -> dict[int, list[Any]]:
    windows: dict[int, list[Any]] = {}
    for row in rows:
        if row["_ts"] is None or row["_ts"] < 0:
            continue
        for k in range(max(0, (row["_ts"] - size) // slide + 1), row["_ts"] // slide + 1):
            due = k * slide + size + lateness
            if row["_open"] < due <= row["_shut"] and (row["_wm"] is None or row["_wm"] < due):
                windows.setdefault(k, []).append(row["id"])
    return windows


def _pairs(rows: list[dict[str, Any]], reach: int) -> list[Any]:
    found = []
    for left in (r for r in rows if r["_in"] == 0 and r["_ts"] is not None):
        for right in (r for r in rows if r["_in"] == 1 and r["_ts"] is not None):
            earlier, later = sorted((left, right), key=lambda r: r["_pos"])
            passed = later["_wm"] is not None and later["_wm"] > earlier["_ts"] + reach
            if later["_new"] and abs(left["_ts"] - right["_ts"]) <= reach and not passed:
                ts = max(left["_ts"], right["_ts"])
                found.append((later["_pos"], earlier["_pos"], ts, left["id"], right["id"]))
    return found


# --- histories


def spec_of(name: str, ordered: bool = False) -> InputSpec:
    return InputSpec(name, InputKind.STREAM, pa.schema([("x", pa.int64())]), ordered=ordered)


class Player:
    """Offers tuples to an inbox in pieces, runs plans in between, and now and then starts over from a
    state."""

    def __init__(
        self, chain: Element, streams: Mapping[str, Sequence[Row]], seed: int, ordered: bool = False
    ) -> None:
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
            self._chain, self._specs, max_rows=pick(1, 40), parallelism=pick(1, 3), part_rows=pick(1, 10)
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
        self.results += compute(self.inbox, plan)
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
