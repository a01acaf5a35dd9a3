"""Whether rows can come of other rows, for operators whose choices nobody foretells. Each check says what is
wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from understudy_lab.simulation.made_up_operators import (
    Aggregate,
    Join,
    RandomFilter,
    Row,
    made_alone,
    reference,
    rowwise,
)
from understudy_lab.simulation.specs import SubjobSpec

Known = Mapping[str, Any]  # stream: its rows; in order where that can be told; None where nothing can be told


def wrong_choice(spec: SubjobSpec, inputs: list[list[Row]], made: Sequence[Any], whole: bool) -> str | None:
    """What an arbitrary subjob chose must be a choice that it has. `whole`: its stream was read to the
    end."""
    if len(spec.elements) == 1:
        return _wrong_order(spec, inputs, made, whole)
    return (_wrong_chain if len(spec.elements[-1][2]) == 1 else _wrong_shared)(spec, inputs, made, whole)


def _wrong_order(spec: SubjobSpec, inputs: list[list[Row]], made: Sequence[Any], whole: bool) -> str | None:
    """A union interleaves its inputs; a random filter leaves some out. Each row once, in order."""
    (_, op, _) = spec.elements[0]
    places: dict[Row, tuple[int, int]] = {}
    for i, rows in enumerate(inputs):
        for seq, row in enumerate(rows):
            (image,) = made_alone(op, row)
            if image in places:
                return _wrong_rows(spec, inputs, made, whole)
            places[image] = (i, seq)
    at = [-1] * len(inputs)
    for seq, row in enumerate(made):
        if row not in places:
            return f"{spec.name}[{seq}] comes from nowhere"
        i, place = places[row]
        if place <= at[i] or (op.arity == 2 and place != at[i] + 1):
            return f"{spec.name}[{seq}] is out of order, repeated, or follows a loss"
        at[i] = place
    if whole and op.arity == 2 and any(at[i] != len(rows) - 1 for i, rows in enumerate(inputs)):
        return f"{spec.name} did not pass on all of its input"
    return None


def _wrong_rows(spec: SubjobSpec, inputs: list[list[Row]], made: Sequence[Any], whole: bool) -> str | None:
    """As above, where the inputs share rows and places can't be told apart."""
    op = spec.elements[0][1]
    wanted = Counter(image for rows in inputs for row in rows for image in made_alone(op, row))
    got = Counter(made)
    if got - wanted or (whole and op.arity == 2 and wanted - got):
        return f"{spec.name} did not pass on each row of its input once"
    return None


def _wrong_chain(spec: SubjobSpec, inputs: list[list[Row]], made: Sequence[Any], whole: bool) -> str | None:
    """As above, where another element follows: rows that look at one row each come once; windows are as many
    as the rows make. That a seq names one tuple is asked elsewhere."""
    (_, first, _), (_, last, _) = spec.elements
    images = [image for rows in inputs for row in rows for image in made_alone(first, row)]
    found = None
    if isinstance(last, Aggregate):
        most = max(0, (len(images) - last.window) // last.advance + 1)
        if len({r[1] for r in images if r[1].bit_count() == 1}) == len(images):  # rows can be told apart
            found = _wrong_windows(spec, last, made)
    else:
        wanted = Counter(r for row in images for r in made_alone(last, row))
        most = wanted.total()
        if Counter(made) - wanted:
            found = f"{spec.name} made rows that come of no row of its input, or more than once"
    if len(made) > most or (whole and first.arity == 2 and len(made) < most):
        found = found or f"{spec.name} made {len(made)} rows; its input makes {most}"
    return found


def _wrong_shared(spec: SubjobSpec, inputs: list[list[Row]], made: Sequence[Any], whole: bool) -> str | None:
    """As above, where the other element reads what the first one makes and its input, too: each row of both
    once. What a join makes of a choice can't be told."""
    (_, first, _), (_, last, _) = spec.elements
    if isinstance(last, Join):
        return None
    alone = (image for rows in inputs for row in rows for image in made_alone(first, row))
    inner = list(alone) if first.arbitrary else reference(first, inputs)
    wanted = Counter(
        m for i, rows in enumerate((inputs[0], inner)) for row in rows for m in made_alone(last, row, i)
    )
    got = Counter(made)
    if got - wanted or (whole and not isinstance(first, RandomFilter) and wanted - got):
        return f"{spec.name} did not pass on each row of its inputs once"
    return None


def _wrong_windows(spec: SubjobSpec, windows: Aggregate, made: Sequence[Any]) -> str | None:
    """Windows over one stream: each has as many rows as it should, and shares as many with the next."""
    shared = max(0, windows.window - windows.advance)
    for seq, (row, following) in enumerate(zip_longest(made, made[1:])):
        met = (row[1] & following[1]).bit_count() if following is not None else shared
        if row[1].bit_count() != windows.window or met != shared:
            return f"{spec.name}[{seq}] is no window over the same stream as the next"
    return None


def rows_of(spec: SubjobSpec, known: Known) -> set[Row] | None:
    """What must be among the output, if that can be told."""
    if any(known[s] is None for s in spec.inputs):
        return None
    inner = dict(known)
    for name, op, ins in spec.elements:
        if rowwise(op):
            inner[name] = {
                made for i, s in enumerate(ins) for row in inner[s] for made in made_alone(op, row, i)
            }
        elif all(isinstance(inner[s], list) for s in ins) and not op.arbitrary:
            inner[name] = reference(op, [inner[s] for s in ins])
        else:
            return None
    return set(inner[spec.stream])


def in_no_window(spec: SubjobSpec, known: Known, made: Iterable[Row | None]) -> str | None:
    """Which windows there are can't be told; but each row lies in one, except the last ones that fill
    none."""
    inner = dict(known)
    for name, op, ins in spec.elements[:-1]:
        inner[name] = reference(op, [inner[s] for s in ins])
    _, windows, (between,) = spec.elements[-1]
    assert isinstance(windows, Aggregate)
    seen = 0
    for row in made:
        seen |= row[1] if row is not None else 0
    rows = inner[between]
    missing = [
        seq for seq, row in enumerate(rows[: max(0, len(rows) - windows.window + 1)]) if row[1] & ~seen
    ]
    return (
        f"{spec.name}: {between}[{missing[0]}] and {len(missing) - 1} more are in no window"
        if missing
        else None
    )
