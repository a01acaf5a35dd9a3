"""Whether every loss was reported. If more fails than a mode survives, tuples may be lost, but not silently.

The check goes row by row, from one subjob to the next. A reader must have received the results of each row
that some life of its producer took. Otherwise one of these must hold: the producer reported that input as
lost (by its seqs), the reader reported as many tuples of the stream as lost, or the control plane announced
that one of the two subjobs does not run as it did. Of a source, a reader reports exactly the seqs that it did
not receive.

This is possible where each row is made of one row, and for windows at the end of a subjob: each row lies in
one of them. It is not possible after random choices, or for joins and for windows in the middle of a subjob.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from understudy_lab.simulation.made_up_operators import (
    Aggregate,
    Operator,
    Row,
    Union,
    Zip,
    made_alone,
    rowwise,
)
from understudy_lab.simulation.specs import Job, SubjobSpec

Rows = Mapping[str, Any]  # stream: its rows without failures; None if they are not known
Elements = Sequence[tuple[str, Operator, tuple[str, ...]]]


class Losses:
    def __init__(self, job: Job) -> None:
        self._maker = job.maker
        self._edges = [(spec.name, stream) for spec in job.subjobs for stream in spec.inputs] + list(
            job.sinks.items()
        )
        # The first three are by (reader, stream).
        # Each row that any life received, the newest last, and the seqs that it had.
        self._got: dict[tuple[str, str], dict[Row, list[int]]] = defaultdict(dict)
        # Rows that only lives received which had already been replaced.
        self._by_replaced: dict[tuple[str, str], set[Row]] = defaultdict(set)
        # Rows that cannot be made again: the life that sent them left no state.
        self._over: dict[tuple[str, str], set[Row]] = defaultdict(set)
        self._reported: dict[tuple[str, str], set[int]] = defaultdict(set)
        self._left: dict[str, int] = {}  # stream: its producer's lives before this epoch left no state
        self._announced: set[str] = set()  # subjobs that do not run as they did, by the control plane's word

    # --- what is seen

    def took(
        self, reader: str, stream: str, start: int, rows: Iterable[Row | None], epoch: int, *, replaced: bool
    ) -> None:
        """`replaced`: another life had already replaced the reader. The rows that it takes are not lost to
        it, but their results need not reach any reader. `epoch`: that of the producer."""
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

    def started_empty(self, stream: str, epoch: int) -> None:
        """The stream's producer started without state in this epoch. A reader that needs a tuple of an
        earlier life again cannot get it, even if that life still sends."""
        self._left[stream] = max(epoch, self._left.get(stream, 0))
        for edge in self._edges:
            if edge[1] == stream:
                self._over[edge].update(self._got[edge])

    def announced(self, subjob: str) -> None:
        self._announced.add(subjob)

    # --- the verdict

    def _spread(self) -> None:
        """The results of rows that cannot be made again, or that were reported as lost, cannot be made again
        either. That first report covers them."""
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
        """Rows that are missing and were not reported. `ended`: the readers that have read all of their
        inputs."""
        self._spread()
        for reader, stream in self._edges:
            missing = self._missing(reader, stream, rows) if reader in ended else []
            said = self._said(reader, stream)
            if len(missing) > said:
                lacks = f"{reader} lacks {len(missing)} rows of {stream} ({missing[0]}, …)"
                yield f"{lacks}, but only {said} were reported as lost"

    def unfounded(self, sound: Callable[[str, str, int], bool]) -> Iterator[str]:
        """Reported losses of streams that cannot have lost anything."""
        for (reader, stream), seqs in self._reported.items():
            if seqs and sound(reader, stream, max(seqs)):
                which = f"{stream}[{min(seqs)}] and {len(seqs) - 1} more"
                yield f"{reader} reported {which} as lost, but nothing was lost"

    def reports(self, rows: Rows) -> tuple[int, int]:
        """The number of inputs with a reported loss, and of those among them that lack nothing, if known."""
        found = [edge for edge, seqs in self._reported.items() if seqs]
        return len(found), sum(self._lacks_nothing(reader, stream, rows) for reader, stream in found)

    def _lacks_nothing(self, reader: str, stream: str, rows: Rows) -> bool:
        """Whether the reader has every row of the stream, and its own readers have the results of these."""
        if rows.get(stream) is None or set(rows[stream]) - self._got[reader, stream].keys():
            return False
        made_of_it = [
            edge for edge in self._edges if edge[1] in self._maker and self._maker[edge[1]].name == reader
        ]
        return not any(self._missing(*edge, rows, believing=False) for edge in made_of_it)

    # --- what is missing

    def _said(self, reader: str, stream: str) -> int:
        """The number of rows that the reader's report covers: a lost window stands for several."""
        spec = self._maker.get(stream)
        last = spec.elements[-1][1] if spec is not None else None
        return len(self._reported[reader, stream]) * (last.window if isinstance(last, Aggregate) else 1)

    def _missing(self, reader: str, stream: str, rows: Rows, *, believing: bool = True) -> list[Row]:
        """Rows that the reader should have received. `believing`: leave out the results of input that the
        stream's producer has reported as lost."""
        spec, got = self._maker.get(stream), self._got[reader, stream]
        if spec is None:
            said = self._reported[reader, stream]
            return [row for seq, row in enumerate(rows[stream]) if row not in got and seq not in said]
        if (
            spec.promise == "gap"
            or {spec.name, reader} & self._announced
            or any(rows[s] is None for s in spec.inputs)
        ):
            return []  # tuples that a life without state had taken but not passed on don't count (Hwang §4)
        *before, (_, last, _) = spec.elements
        if not all(_one_by_one(op) for _, op, _ in before):
            return []
        if isinstance(last, Aggregate):
            chosen = any(isinstance(op, Union) for _, op, _ in before)
            return _in_no_window(last, self._made(spec, before, rows, believing), got, chosen)
        made = self._made(spec, spec.elements, rows, believing) if _one_by_one(last) else []
        return [row for row in made if row not in got]

    def _made(self, spec: SubjobSpec, elements: Elements, rows: Rows, believing: bool) -> list[Row]:
        """The results of the input that the subjob took: in the order of the stream if that is known,
        otherwise in the order in which it was taken last (after a restart from nothing, seqs may begin at
        zero again). A zip takes its inputs in turns."""
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
        elif isinstance(exact := rows[spec.inputs[0]], list):
            # a life that was replaced may have taken some of them last
            place = {row: n for n, row in enumerate(exact)}
            taken.sort(key=lambda found: place[found[2]])
        return [made for _, stream, row in taken for made in _through(elements, stream, row)]


def _in_no_window(windows: Aggregate, made: list[Row], got: Iterable[Row], chosen: bool) -> list[Row]:
    """Rows that lie in no window that was received. The last rows may not fill a window; `chosen`: a union
    chooses which rows are the last, so any row may be."""
    seen = _lineage(got)
    spare = windows.window - 1
    if chosen:
        return [row for row in made if row[1] & ~seen][spare:]
    return [row for row in made[: max(0, len(made) - spare)] if row[1] & ~seen]


def _lineage(rows: Iterable[Row]) -> int:
    """All source tuples that these rows came from: a window or pair that needs a missing one cannot be made
    again."""
    found = 0
    for row in rows:
        found |= row[1]
    return found


def _through(elements: Elements, stream: str, row: Row) -> list[Row]:
    """The results of row-wise elements for one row."""
    flow, last = {stream: [row]}, stream
    for last, op, inputs in elements:
        each = ((i, r) for i, s in enumerate(inputs) for r in flow.get(s, ()))
        flow[last] = [m for i, r in each for m in made_alone(op, r, i)]
    return flow[last]


def _simple(spec: SubjobSpec) -> bool:
    return all(_one_by_one(op) for _, op, _ in spec.elements)


def _one_by_one(op: Operator) -> bool:
    """Whether each result comes from one row. That of a zip does, too."""
    return rowwise(op) or type(op) is Zip
