"""Rows as values that can be compared: what a sink wrote against what it should have written.

Numbers computed in another order differ in their last bits (a sum of doubles is not associative), so two rows
are alike if everything but their doubles is equal and the doubles are close.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

Row = Mapping[str, Any]
RELATIVE, ABSOLUTE = 1e-9, 1e-12
DOUBLE = "\0double"  # stands for any double; no text of a tuple begins so


class Torn(ValueError):
    """A sink's file holds something that is not one of its lines; the message says where."""


def rows_of(table: pa.Table) -> list[Row]:
    """Tuples as a sink writes them."""
    from understudy.sinks.jsonl import lines

    return [json.loads(line) for line in bytes(lines(table)).splitlines()]


def read_sink(folder: Path) -> list[dict[str, Any]]:
    """The tuples of a sink, in the order in which they were written."""
    return [
        _parse(line, path, number) for path in sorted(folder.glob("*.jsonl")) for number, line in _lines(path)
    ]


def _lines(path: Path) -> Iterable[tuple[int, str]]:
    return enumerate(path.read_text().splitlines(), 1)


def _parse(line: str, path: Path, number: int) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or not isinstance(found.get("_seq"), int):
        raise Torn(f"line {number} of {path.name} is not a tuple with a _seq")
    return found


def alike(expected: Sequence[Row], observed: Sequence[Row]) -> tuple[list[int], list[int]]:
    """Both as numbers: rows that are alike have the same one. `_seq` does not count."""
    numbers: dict[str, int] = {}
    left = [numbers.setdefault(_exact(row), len(numbers)) for row in expected]
    close = _Close(zip(expected, left, strict=True))
    return left, [_number(row, numbers, close) for row in observed]


def _number(row: Row, numbers: dict[str, int], close: _Close) -> int:
    key = _exact(row)
    if key not in numbers:
        near = close.find(row)
        numbers[key] = len(numbers) if near is None else near
    return numbers[key]


class _Close:
    """Finds the row that differs only in the last bits of its doubles."""

    def __init__(self, rows: Iterable[tuple[Row, int]]) -> None:
        self._by_rest: dict[str, dict[int, list[float]]] = defaultdict(dict)
        for row, number in rows:
            self._by_rest[_rest(row)][number] = _doubles(row)

    def find(self, row: Row) -> int | None:
        wanted = _doubles(row)
        candidates = self._by_rest.get(_rest(row), {})
        return next((n for n, doubles in candidates.items() if _near(doubles, wanted)), None)


def _near(one: list[float], other: list[float]) -> bool:
    return all(
        math.isclose(a, b, rel_tol=RELATIVE, abs_tol=ABSOLUTE) for a, b in zip(one, other, strict=True)
    )


def _exact(row: Row) -> str:
    return json.dumps({k: v for k, v in row.items() if k != "_seq"}, sort_keys=True)


def _rest(row: Row) -> str:
    return _exact({k: DOUBLE if isinstance(v, float) else v for k, v in row.items()})


def _doubles(row: Row) -> list[float]:
    return [v for _, v in sorted(row.items()) if isinstance(v, float)]
