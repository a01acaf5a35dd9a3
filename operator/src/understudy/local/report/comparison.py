"""The checker: what a sink received (O) against an execution without failure (E). Pure.

Hwang §3.1, Figure 2, by the differences when O and E are matched tuple by tuple:

| recovery   | lost | what else O holds | |
|------------|------|-------------------|-|
| precise    | 0    | nothing           | O = E |
| repeating  | 0    | identical repeats | without them O = E |
| convergent | 0    | other tuples      | without them O = E, and O ends as E does |
| divergent  | ≥ 0  | other tuples or order than E has | never identical again, but no less of it |
| gap        | > 0  | anything          | |

If O has another tuple in the place of a tuple of E, the other tuple was either computed from less input (a
gap) or is as good (divergent). The end of the stream shows which: after a gap O becomes identical to E again,
after divergent recovery it never does.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import assert_never

from understudy.model.guarantees import Recovery
from understudy.model.ha import Guarantee


def guaranteed(recovery: Recovery) -> Guarantee:
    """The strongest guarantee that a recovery of this type keeps."""
    match recovery:
        case Recovery.PRECISE:
            return Guarantee.PRECISE
        case Recovery.REPEATING | Recovery.CONVERGENT | Recovery.DIVERGENT:
            return Guarantee.ROLLBACK
        case Recovery.GAP:
            return Guarantee.GAP
        case _:
            assert_never(recovery)


def keeps(recovery: Recovery, promised: Guarantee) -> bool:
    return guaranteed(recovery).strength >= promised.strength


@dataclass(frozen=True, slots=True)
class Comparison:
    tuples: int
    """Tuples that the sink received."""
    expected: int
    """Tuples of an execution without failure."""
    lost: int
    """Tuples of E without a tuple of O in their place."""
    duplicated: int
    """Tuples of O beyond those of E; after rollback recovery also duplicates that differ."""
    foreign: int
    """Tuples of O that equal no tuple of E."""
    reordered: int
    """Tuples of O that are in E, but not in E's order."""
    recovery: Recovery
    surplus: tuple[int, ...] = ()
    """Places in O of duplicated and foreign tuples."""
    holes: tuple[tuple[int, int], ...] = ()
    """Pairs (place in O, how many tuples of E are lost right before it)."""


def compare(expected: Sequence[Hashable], observed: Sequence[Hashable], open_end: bool = False) -> Comparison:
    """Matches O with E. With an open end (a run that was stopped) tuples of E after the last tuple of O are
    not lost."""
    if open_end:
        expected = expected[: _reach(expected, observed)]
    places = _match(expected, observed)
    matched = [p for p in places if p is not None]
    surplus = tuple(at for at, p in enumerate(places) if p is None)
    known = set(expected)
    foreign = sum(observed[at] not in known for at in surplus)
    missing = len(expected) - len(matched)
    reordered = len(matched) - _longest_ordered(matched)
    recovery = _classify(_ends_alike(expected, observed), missing, len(surplus), foreign, reordered)
    gap = recovery is Recovery.GAP
    return Comparison(
        tuples=len(observed),
        expected=len(expected),
        lost=missing if gap else 0,
        duplicated=len(surplus) - (foreign if gap else missing),
        foreign=foreign,
        reordered=reordered,
        recovery=recovery,
        surplus=surplus,
        holes=_holes(places, len(expected)) if gap else (),
    )


def _holes(places: Sequence[int | None], length: int) -> tuple[tuple[int, int], ...]:
    """For each run of unmatched places of E: before which tuple of O they are missing, and how many."""
    matched = sorted((place, at) for at, place in enumerate(places) if place is not None)
    ends = [(-1, -1), *matched, (length, len(places))]
    return tuple(
        (at, place - before - 1) for (before, _), (place, at) in pairwise(ends) if place - before > 1
    )


def _ends_alike(expected: Sequence[Hashable], observed: Sequence[Hashable]) -> bool:
    return bool(expected) and bool(observed) and expected[-1] == observed[-1]


def _classify(ends_alike: bool, missing: int, surplus: int, foreign: int, reordered: int) -> Recovery:
    if missing:
        replaced = foreign >= missing and not ends_alike
        return Recovery.DIVERGENT if replaced else Recovery.GAP
    if reordered:
        return Recovery.DIVERGENT
    if foreign:
        return Recovery.CONVERGENT if ends_alike else Recovery.DIVERGENT
    return Recovery.REPEATING if surplus else Recovery.PRECISE


# --- matching


def _match(expected: Sequence[Hashable], observed: Sequence[Hashable]) -> list[int | None]:
    """For each tuple of O its place in E, each place once; None for a surplus tuple.

    Equal beginnings and ends are matched directly, so that of several equal tuples around a fault the right
    ones are found. In between, the n-th of equal tuples matches the n-th.
    """
    head = _common(expected, observed)
    tail = _common(expected[head:][::-1], observed[head:][::-1])
    free: dict[Hashable, deque[int]] = defaultdict(deque)
    for place in range(head, len(expected) - tail):
        free[expected[place]].append(place)
    middle = observed[head : len(observed) - tail]
    between = [free[value].popleft() if free.get(value) else None for value in middle]
    return [*range(head), *between, *range(len(expected) - tail, len(expected))]


def _common(one: Sequence[Hashable], other: Sequence[Hashable]) -> int:
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _longest_ordered(places: Sequence[int]) -> int:
    """Length of the longest increasing subsequence: the tuples that are in order."""
    ends: list[int] = []
    for place in places:
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
    return len(ends)


def _reach(expected: Sequence[Hashable], observed: Sequence[Hashable]) -> int:
    """How far into E the tuples of O reach."""
    left = Counter(observed)
    reach = 0
    for place, value in enumerate(expected, 1):
        if left[value] > 0:
            left[value] -= 1
            reach = place
    return reach


# --- numbering


def misnumbered(seqs: Sequence[int]) -> str | None:
    """Why these are not the seqs of a sink (from 0 or 1 on, without holes, each once); None if they are."""
    if not seqs:
        return None
    if seqs[0] not in (0, 1):
        return f"its first tuple has _seq {seqs[0]}; it should be 0"
    for before, after in pairwise(seqs):
        if after != before + 1:
            return f"_seq {before} is followed by {after}"
    return None
