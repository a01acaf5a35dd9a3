"""The procedure of a planned move, row by row."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from understudy.control.planned_move import (
    BEGINNINGS,
    FIGURES_MS,
    MOVES,
    Beginning,
    Fail,
    Finding,
    Finish,
    Follow,
    MakeTarget,
    MoveTo,
    MoveView,
    Name,
    Phase,
    Refuse,
    Retire,
    Standby,
    Step,
    Where,
    Withdraw,
    begin,
    finding_of,
    next_steps,
    phase_of,
)
from understudy.protocol.move_limits import LIMIT_MS, too_late

COLD = MoveView(
    now_ms=10_000,
    began_ms=10_000,
    source="s-0",
    target="s-2",
    why="planned",
    ordered=True,
    holder="s-0",
    successor=None,
    living=("s-0", "s-1", "s-2"),
    warm=False,
    told=False,
    arrived_ms=10_000,
)
CROWDED = replace(COLD, warm=True)
ALONE = replace(CROWDED, living=("s-0", "s-2"))
NAMED = replace(ALONE, successor="s-2")
LOST = replace(NAMED, living=("s-0", "s-1"))
LATE = replace(NAMED, now_ms=10_000 + LIMIT_MS)
TAKEN = replace(NAMED, holder="s-2", successor=None)
REPLACED = replace(COLD, holder="s-1")
UNORDERED = replace(REPLACED, ordered=False)


@pytest.mark.parametrize(
    ("view", "steps"),
    [
        (COLD, ()),
        (CROWDED, (Retire("s-1", "s-2 takes its place"),)),
        (ALONE, (Name("s-0", "s-2", "s-0 is to hand over to it: planned"),)),
        (NAMED, ()),
        (LOST, (Withdraw("s-2", "s-2 is lost"),)),
        (replace(LOST, successor=None), (Fail("s-2 is lost"),)),
        (LATE, (Withdraw("s-2", too_late()),)),
        (replace(LATE, now_ms=LATE.now_ms - 1), ()),
        (replace(LATE, successor=None), (Fail(too_late()),)),
        (REPLACED, (Follow("s-1", "it leads instead of s-0"),)),
        (replace(CROWDED, living=("s-1", "s-2")), ()),
        (replace(CROWDED, holder=None), ()),
        (replace(REPLACED, living=("s-0", "s-2")), ()),
        (UNORDERED, (Fail("s-1 took over meanwhile"),)),
        (replace(UNORDERED, successor="s-2"), (Withdraw("s-2", "s-1 took over meanwhile"),)),
        (TAKEN, ()),
        (replace(TAKEN, told=True), (Finish(),)),
        (replace(TAKEN, now_ms=10_000 + FIGURES_MS), (Finish(),)),
        (replace(TAKEN, told=True, now_ms=10_000 + 2 * LIMIT_MS), (Finish(),)),
        (replace(TAKEN, told=True, living=("s-0",)), (Finish(),)),
    ],
)
def test_each_step_follows_from_what_is_seen(view: MoveView, steps: tuple[Step, ...]) -> None:
    assert next_steps(view) == steps


def views() -> list[MoveView]:
    """All that can be seen of a move, as far as it makes a difference."""
    instances = (None, "s-0", "s-1", "s-2")
    living = (("s-0", "s-1", "s-2"), ("s-0", "s-2"), ("s-0", "s-1"), ("s-1", "s-2"), ("s-2",), ())
    times = (10_000, 10_000 + FIGURES_MS, 10_000 + LIMIT_MS)
    truths = (False, True)
    return [
        replace(COLD, holder=a, successor=b, living=c, now_ms=d, ordered=e, warm=f, told=g)
        for a, b, c, d, e, f, g in product(instances, instances, living, times, truths, truths, truths)
    ]


def test_the_table_has_a_row_for_all_that_can_be_seen_and_no_other() -> None:
    assert {(phase_of(view), finding_of(view)) for view in views()} == set(MOVES)


def test_what_the_lease_still_names_has_never_failed() -> None:
    for view in views():
        if view.successor == view.target and view.holder != view.target:
            assert not any(isinstance(step, Fail | Finish) for step in next_steps(view))


def test_no_standby_is_retired_while_nobody_leads() -> None:
    for view in views():
        if view.holder not in view.living:
            assert not any(isinstance(step, Retire) for step in next_steps(view))


def test_the_lease_names_a_target_only_when_it_is_the_only_standby() -> None:
    named = [view for view in views() if any(isinstance(step, Name) for step in next_steps(view))]
    assert named
    assert all(view.warm and not view.others and phase_of(view) is Phase.PREPARING for view in named)


@pytest.mark.parametrize(
    ("where", "ready", "warming", "beginning"),
    [
        (Where.STANDBY, ["s-1"], ["s-1"], MoveTo("s-1")),
        (Where.STANDBY, [], ["s-1"], Refuse("no standby is ready to take over")),
        (Where.STANDBY, [], [], Refuse("no standby is ready to take over")),
        (Where.ANYWHERE, ["s-2"], ["s-1", "s-2"], MoveTo("s-2")),
        (Where.ANYWHERE, [], ["s-1"], MoveTo("s-1")),
        (Where.ANYWHERE, [], [], MakeTarget()),
        (Where.NEW, ["s-1"], ["s-1"], MakeTarget()),
    ],
)
def test_where_a_move_may_go_decides_who_is_its_target(
    where: Where, ready: list[str], warming: list[str], beginning: Beginning
) -> None:
    assert begin(where, ready, warming) == beginning


def test_every_move_has_a_beginning() -> None:
    assert set(BEGINNINGS) == set(product(Where, Standby))
    assert {finding for _, finding in MOVES} == set(Finding)
