"""Whether every loss was reported. Where more fails than a mode survives, tuples may be lost, but not
silently.

What is missing is told row by row, from one subjob to the next: a reader must have got what is made of each
row that some life of its producer took. If not, the producer has reported that input as lost (by its seqs),
or the reader so many tuples of the stream, or the control plane says that nobody runs one of them as it was.
Of a source, the reader itself has reported just what it did not get.

That can be told where rows are made one by one, and of windows at the end of a subjob: each row lies in one.
It can't behind random choices, and for joins and windows in the middle of a subjob.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from understudy_lab.simulation.operators import Aggregate, Operator, Row, Union, Zip, made_alone, rowwise
from understudy_lab.simulation.specs import Job, SubjobSpec

Rows = Mapping[str, Any]  # stream: what must be on it without failures; None where that can't be told
Elements = Sequence[tuple[str, Operator, tuple[str, ...]]]


class Losses:
    def __init__(self, job: Job) -> None:
        self._maker = job.maker
        self._edges = [(spec.name, stream) for spec in job.subjobs for stream in spec.inputs] + list(
            job.sinks.items()
        )
        self._got: dict[tuple[str, str], dict[Row, list[int]]] = defaultdict(
            dict
        )  # by any life, newest last: its seqs
        self._by_replaced: dict[tuple[str, str], set[Row]] = defaultdict(
            set
        )  # by lives only that had been replaced
        self._over: dict[tuple[str, str], set[Row]] = defaultdict(
            set
        )  # taken of a life that left nothing behind
        self._reported: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._left: dict[
            str, int
        ] = {}  # stream: the epoch before which its producer's lives left nothing behind
        self._told: set[str] = set()  # subjobs that nobody runs as they were, which the control plane said

    # --- what is seen

    def took(
        self, reader: str, stream: str, start: int, rows: Iterable[Row | None], epoch: int, *, replaced: bool
    ) -> None:
        """`replaced`: another led already in the reader's place. What it takes is not lost without a word to
        it, but nobody has to get what is made of that. `epoch`: of the producer."""
        if epoch < self._left.get(stream, 0):
            self._over[reader, stream].update(row for row in rows if row is not None)
        got, by_replaced = self._got[reader, stream], self._by_replaced[reader, stream]
        for seq, row in enumerate(rows, start):
            if row is None:
                continue
            if not replaced:
                by_replaced.discard(row)
            elif row not in got:
                by_replaced.add(row)
            got[row] = [*got.pop(row, ()), seq]

    def reported(self, reader: str, stream: str, start: int, stop: int) -> None:
        self._reported[reader, stream].update(range(start, stop))

    def begun_anew(self, stream: str, epoch: int) -> None:
        """Its producer has no memory: a reader that needs again what an earlier life sent, or still sends, is
        as badly off as with that life."""
        self._left[stream] = max(epoch, self._left.get(stream, 0))
        for edge in self._edges:
            if edge[1] == stream:
                self._over[edge].update(self._got[edge])

    def told(self, subjob: str) -> None:
        self._told.add(subjob)

    # --- the verdict

    def _spread(self) -> None:
        """What was made of what is over, or of what its maker reported as lost, can't be made again either:
        who needs it again is told of it by that report."""
        for stream, spec in self._maker.items():
            gone = [(s, row) for s in spec.inputs for row in self._gone(spec.name, s)]
            made = {m for s, row in gone for m in _through(spec.elements, s, row)} if _simple(spec) else set()
            within = 0 if _simple(spec) else _lineage(row for _, row in gone)
            if within and spec.promise == "rollback":
                within = -1  # what is left falls into other pairs and windows
            for edge in (e for e in self._edges if e[1] == stream):
                self._over[edge] |= made | {row for row in self._got[edge] if row[1] & within}

    def _gone(self, reader: str, stream: str) -> set[Row]:
        said = self._reported[reader, stream]
        return self._over[reader, stream] | {
            r for r, seqs in self._got[reader, stream].items() if said & {*seqs}
        }

    def silent(self, rows: Rows, ended: set[str]) -> Iterator[str]:
        """What is missing without a word. `ended`: who has read its inputs to their end."""
        self._spread()
        for reader, stream in self._edges:
            missing = self._missing(reader, stream, rows) if reader in ended else []
            said = self._said(reader, stream)
            if len(missing) > said:
                yield f"{reader} lacks {len(missing)} rows of {stream} ({missing[0]}, …), and {said} were reported"

    def unfounded(self, sound: Callable[[str, str, int], bool]) -> Iterator[str]:
        """Losses that were reported where none can have been."""
        for (reader, stream), seqs in self._reported.items():
            if seqs and sound(reader, stream, max(seqs)):
                yield f"{reader} reported {stream}[{min(seqs)}] and {len(seqs) - 1} more as lost, and nothing was"

    def reports(self, rows: Rows) -> tuple[int, int]:
        """How many inputs a loss was reported of; and of how many in vain, as far as that can be told."""
        found = [edge for edge, seqs in self._reported.items() if seqs]
        return len(found), sum(self._in_vain(reader, stream, rows) for reader, stream in found)

    def _in_vain(self, reader: str, stream: str, rows: Rows) -> bool:
        """Whether the reader has all that must be on the stream, and its own readers what is made of it."""
        if rows.get(stream) is None or set(rows[stream]) - self._got[reader, stream].keys():
            return False
        made_of_it = [
            edge for edge in self._edges if edge[1] in self._maker and self._maker[edge[1]].name == reader
        ]
        return not any(self._missing(*edge, rows, believing=False) for edge in made_of_it)

    # --- what is missing

    def _said(self, reader: str, stream: str) -> int:
        """How many rows the reader's report speaks of: a window is made of several."""
        spec = self._maker.get(stream)
        last = spec.elements[-1][1] if spec is not None else None
        return len(self._reported[reader, stream]) * (last.window if isinstance(last, Aggregate) else 1)

    def _missing(self, reader: str, stream: str, rows: Rows, *, believing: bool = True) -> list[Row]:
        """`believing`: without what the stream's producer has reported as lost."""
        spec, got = self._maker.get(stream), self._got[reader, stream]
        if spec is None:
            said = self._reported[reader, stream]
            return [row for seq, row in enumerate(rows[stream]) if row not in got and seq not in said]
        if (
            spec.promise == "gap"
            or {spec.name, reader} & self._told
            or any(rows[s] is None for s in spec.inputs)
        ):
            return []  # what a life without memory had taken but not passed on is not counted (Hwang §4)
        *before, (_, last, _) = spec.elements
        if not all(_one_by_one(op) for _, op, _ in before):
            return []
        if isinstance(last, Aggregate):
            chosen = any(isinstance(op, Union) for _, op, _ in before)
            return _in_no_window(last, self._made(spec, before, rows, believing), got, chosen)
        made = self._made(spec, spec.elements, rows, believing) if _one_by_one(last) else []
        return [row for row in made if row not in got]

    def _made(self, spec: SubjobSpec, elements: Elements, rows: Rows, believing: bool) -> list[Row]:
        """What elements make of the input that the subjob took, in the order of the stream where that is
        known, else in that in which it was taken last (who begins anew may number from zero again); a zip
        takes alternately."""
        taken: list[tuple[int, str, Row]] = []
        for stream in spec.inputs:
            needed = set(rows[stream]) - self._over[spec.name, stream] - self._by_replaced[spec.name, stream]
            lost = self._reported[spec.name, stream] if believing else set()
            got = self._got[spec.name, stream].items()
            taken += [
                (seqs[-1], stream, row) for row, seqs in got if row in needed and not lost.intersection(seqs)
            ]
        if len(spec.inputs) > 1:
            taken.sort(key=lambda found: (found[0], spec.inputs.index(found[1])))
        elif isinstance(
            exact := rows[spec.inputs[0]], list
        ):  # a life that was replaced may have taken some last
            place = {row: n for n, row in enumerate(exact)}
            taken.sort(key=lambda found: place[found[2]])
        return [made for _, stream, row in taken for made in _through(elements, stream, row)]


def _in_no_window(windows: Aggregate, made: list[Row], got: Iterable[Row], chosen: bool) -> list[Row]:
    """The last rows may fill none. `chosen`: which are the last is the choice of a union, so it may be
    any."""
    seen = _lineage(got)
    spare = windows.window - 1
    if chosen:
        return [row for row in made if row[1] & ~seen][spare:]
    return [row for row in made[: max(0, len(made) - spare)] if row[1] & ~seen]


def _lineage(rows: Iterable[Row]) -> int:
    """What is behind any of them: no window and no pair of which one is missing can be made again."""
    found = 0
    for row in rows:
        found |= row[1]
    return found


def _through(elements: Elements, stream: str, row: Row) -> list[Row]:
    """What row-wise elements make of a row."""
    flow, last = {stream: [row]}, stream
    for last, op, inputs in elements:
        each = ((i, r) for i, s in enumerate(inputs) for r in flow.get(s, ()))
        flow[last] = [m for i, r in each for m in made_alone(op, r, i)]
    return flow[last]


def _simple(spec: SubjobSpec) -> bool:
    return all(_one_by_one(op) for _, op, _ in spec.elements)


def _one_by_one(op: Operator) -> bool:
    """A zip, too, makes one row of each."""
    return rowwise(op) or type(op) is Zip
