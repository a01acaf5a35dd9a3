"""Watermarks and savepoint trees that neighbours have reported."""

from __future__ import annotations

from understudy.modes.neighbours import Neighbours
from understudy.protocol.ids import Consumer, Seq, Stream
from understudy.protocol.ledger import Ledger, Wiring
from understudy.protocol.savepoints import Savepoint, Tree
from understudy.protocol.watermarks import Step

UP, SIDE, OUT, NEXT = Stream("up"), Stream("side"), Stream("job"), Consumer("next")
LEDGER = Ledger.empty(Wiring({"job": (UP, SIDE)}, {"job": (NEXT,)}))


def step(first: int, stop: int) -> Step:
    return Step(Seq(first), Seq(stop), {}, {}, {})


def tree(following: int) -> Tree:
    return Tree(Savepoint({}, {}, Seq(following)))


def test_a_stream_without_watermarks_names_no_step() -> None:
    assert Neighbours().mark_of(UP, Seq(5)) is None


def test_the_step_before_a_position_is_named_and_inputs_without_one_are_left_out() -> None:
    found = Neighbours()
    found.marked(UP, step(0, 3))
    found.marked(UP, step(3, 6))
    found.marked(SIDE, step(0, 3))
    assert found.mark_of(UP, Seq(4)) == step(3, 6)
    assert found.marks_at(LEDGER.moved(UP, Seq(6))) == {UP: step(3, 6)}


def test_an_older_tree_does_not_replace_a_newer_one() -> None:
    found = Neighbours()
    for following, kept in ((5, 5), (3, 5), (8, 8)):
        found.acked_with(OUT, NEXT, tree(following))
        assert found.tree_of(OUT, NEXT) == tree(kept)
