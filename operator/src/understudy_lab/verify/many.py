"""A run of a query with many results, held to what all of them have in common. Pure.

| left to chance | what must hold |
|---|---|
| the order | the tuples of the reference, each as often |
| which tuples come | some of the reference's, in its order, and not fewer than draws can leave |
| what comes too late | at least what comes whichever input is far ahead, at most what comes if none is |
| what is in windows | the reference's windows, in order; each group once; all tuples counted, if they count |
| which windows are empty | see `sparse` |
| what is in tuples | as many as the reference has |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, log, sqrt
from typing import Final

from understudy.local.report.comparison import Comparison, compare
from understudy.model.guarantees import Recovery
from understudy.model.operators import Aggregate
from understudy_lab.verify.chance import Chance
from understudy_lab.verify.folding import Folded, extent, fold
from understudy_lab.verify.rows import Row, alike
from understudy_lab.verify.sparse import compare_sparse

UNLIKELY: Final = 1e-12


@dataclass(frozen=True, slots=True)
class References:
    most: Sequence[Row]
    """The inputs in the order of event time, everything drawn: no execution gives more."""
    ahead: Sequence[Sequence[Row]] = ()
    """With one or another input far ahead, where that makes tuples come too late."""
    inside: int = 0
    """How many tuples go into windows, where some are left out before."""


def one_of_many(
    references: References, observed: Sequence[Row], chance: Chance, declared: int = 0, open_end: bool = False
) -> Comparison | None:
    """None where tuples tell nothing; then only what processes declared lost is known to be lost."""
    found = _compare(references, observed, chance, open_end)
    if declared:
        return replace(
            found, recovery=Recovery.GAP, lost=max(declared, found.lost), duplicated=0, surplus=(), holes=()
        )
    return None if chance.content and not chance.share else found


def _compare(references: References, observed: Sequence[Row], chance: Chance, open_end: bool) -> Comparison:
    if chance.content:
        return _by_number(len(references.most), len(observed), chance, open_end)
    if chance.windows is None:
        expected, seen = _nearest(references, observed)
        return _excused(compare(expected, seen, open_end), chance, lags=open_end and chance.paired)
    if chance.sparse:
        fewest = least(references.inside, chance.share)
        return compare_sparse(fewest, references.inside, observed, chance.windows, open_end)
    return _by_window(
        references, fold(observed, chance.windows, chance.late), chance, chance.windows, open_end
    )


def _excused(found: Comparison, chance: Chance, lags: bool) -> Comparison:
    """What differs from the reference only by chance is no fault, nor what a stopped run was still to
    make."""
    matched = found.tuples - len(found.surplus)
    lost = 0 if lags else max(0, least(found.expected, chance.share) - matched)
    reordered = 0 if chance.order else found.reordered
    recovery = _recovery(lost, len(found.surplus), found.foreign, reordered)
    holes = found.holes if lost and chance.share == 1 else ()
    duplicated = len(found.surplus) - (found.foreign if lost else 0)
    return replace(
        found, recovery=recovery, lost=lost, duplicated=duplicated, reordered=reordered, holes=holes
    )


def _recovery(lost: int, surplus: int, foreign: int, reordered: int) -> Recovery:
    if lost:
        return Recovery.GAP
    if foreign or reordered:
        return Recovery.DIVERGENT
    return Recovery.REPEATING if surplus else Recovery.PRECISE


def least(count: int, share: float) -> int:
    """How many of so many draws succeed at least, but for once in a million million times (Hoeffding's
    bound)."""
    if share == 1:
        return count
    return max(0, ceil(count * share - sqrt(count * log(1 / UNLIKELY) / 2)))


# --- what may come too late


def _nearest(references: References, observed: Sequence[Row]) -> tuple[list[int], list[int]]:
    """Of all that an execution may give, what is nearest to what came; and what came. Both as numbers."""
    rows = _widest(references)
    most, seen = alike(rows, observed)
    if not references.ahead:
        return most, seen
    certain = Counter(most)
    for ahead in references.ahead:
        certain &= Counter(alike(rows, ahead)[1])
    wanted = certain | Counter(seen)
    return [value for value in most if _take(wanted, value)], seen


def _widest(references: References) -> list[Row]:
    rows = list(references.most)
    for ahead in references.ahead:
        known, others = alike(rows, ahead)
        left = Counter(known)
        rows += [row for row, value in zip(ahead, others, strict=True) if not _take(left, value)]
    return rows


def _take(left: Counter[int], value: int) -> bool:
    left[value] -= 1
    return left[value] >= 0


# --- what is not sure in tuples


def _by_window(
    references: References, observed: Folded, chance: Chance, windows: Aggregate, open_end: bool
) -> Comparison:
    most, *ahead = (fold(rows, windows, chance.late).rows for rows in (references.most, *references.ahead))
    if chance.share < 1:  # fewer tuples fill fewer windows, and those are the first ones
        most = most[: max(len(observed.rows), _least_windows(len(most), chance.share, windows))]
    came = observed.rows[:-1] if open_end else observed.rows  # the last may have been cut short
    expected, seen = _nearest(References(most, ahead), came)
    return observed.unfold(compare(expected, seen, open_end))


def _least_windows(count: int, share: float, windows: Aggregate) -> int:
    size, slide = extent(windows)
    tuples = least(size + (count - 1) * slide, share) if count else 0
    return (tuples - size) // slide + 1 if tuples >= size else 0


def _by_number(most: int, came: int, chance: Chance, open_end: bool) -> Comparison:
    lost = 0 if open_end else max(0, least(most, chance.share) - came)
    surplus = max(0, came - most)
    recovery = Recovery.GAP if lost else Recovery.DIVERGENT if surplus else Recovery.PRECISE
    return Comparison(came, most, lost, surplus, foreign=0, reordered=0, recovery=recovery)
