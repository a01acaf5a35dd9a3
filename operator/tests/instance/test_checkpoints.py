from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.streams.rows import rows, seqs
from understudy.engine.state import InboxState, LogState
from understudy.instance.checkpointformat import Unpacking, letters_of
from understudy.instance.checkpoints import QUEUE, Message, Shelf, to_ship
from understudy.protocol.checkpoint import Checkpoint, ElementState
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.protocol.peermessage import Piece, Shipped
from understudy.protocol.savepoints import Savepoint, Tree
from understudy.protocol.selection import UNKNOWN
from understudy.protocol.watermarks import Step
from understudy.streams.spill import Spill

IN = Stream("in")
NOTHING: frozenset[Stream] = frozenset()
LAST = Shipped(epoch=Epoch(1))
STATE = InboxState(9, (9,), (5,), (UNKNOWN,), LogState(2, (1,), UNKNOWN, bytes(range(256))), clock=7)


def checkpoint(number: int, tail: tuple[int, int], held: tuple[int, int]) -> Checkpoint:
    state = ElementState({IN: Seq(tail[1])}, {IN: Seq(tail[0])}, Range(Seq(held[0]), Seq(held[1])))
    return Checkpoint(Epoch(1), number, {"e": state})


def message(now: Checkpoint, base: Checkpoint | None) -> Message:
    shipped = {(p.element, p.name): rows(r.start, r.stop) for p, r in to_ship(now, base, NOTHING) if len(r)}
    return Message(now, {"e": STATE}, shipped)


def test_a_first_checkpoint_ships_everything_and_the_next_only_what_was_added() -> None:
    first, second = checkpoint(1, (0, 100), (0, 10)), checkpoint(2, (50, 120), (4, 12))
    assert {len(r) for _, r in to_ship(first, None, NOTHING)} == {100, 10}
    assert {p.name: (r.start, r.stop) for p, r in to_ship(second, first, NOTHING)} == {
        IN: (100, 120),
        QUEUE: (10, 12),
    }


@pytest.fixture(params=[1 << 20, 100], ids=["in memory", "on disk"])
def shelf(request: pytest.FixtureRequest, tmp_path: Path) -> Shelf:
    return Shelf(Spill(tmp_path, request.param))


def test_the_shelf_holds_exactly_what_the_newest_checkpoint_names(shelf: Shelf) -> None:
    first, second = checkpoint(1, (0, 100), (0, 10)), checkpoint(2, (50, 120), (4, 12))
    shelf.put(message(first, None), NOTHING)
    shelf.put(message(second, first), NOTHING)
    assert seqs(shelf.rows("e", IN)) == list(range(50, 120))
    assert seqs(shelf.rows("e", QUEUE)) == list(range(4, 12))


def test_what_a_later_checkpoint_has_left_far_behind_is_forgotten(shelf: Shelf) -> None:
    first, second = checkpoint(1, (0, 10), (0, 10)), checkpoint(2, (50, 60), (40, 40))
    shelf.put(message(first, None), NOTHING)
    shelf.put(message(second, first), NOTHING)
    assert seqs(shelf.rows("e", IN)) == list(range(50, 60))
    assert shelf.rows("e", QUEUE) is None


def test_a_checkpoint_shipped_again_in_full_does_not_double_rows(shelf: Shelf) -> None:
    first, second = checkpoint(1, (0, 100), (0, 10)), checkpoint(2, (50, 120), (4, 12))
    shelf.put(message(first, None), NOTHING)
    shelf.put(message(second, None), NOTHING)
    assert seqs(shelf.rows("e", IN)) == list(range(50, 120))
    assert seqs(shelf.rows("e", QUEUE)) == list(range(4, 12))


def test_a_temporary_backup_leaves_the_permanent_one_as_it_is(shelf: Shelf) -> None:
    first, second = checkpoint(1, (0, 100), (0, 10)), checkpoint(2, (50, 120), (4, 12))
    shelf.put(message(first, None), NOTHING)
    temporary = shelf.with_(message(second, first), NOTHING)
    assert seqs(shelf.rows("e", QUEUE)) == list(range(10))
    assert seqs(temporary.rows("e", QUEUE)) == list(range(4, 12))


def test_many_rows_travel_in_several_letters(tmp_path: Path) -> None:
    sent = message(checkpoint(1, (0, 1_000), (0, 5)), None)
    letters = list(letters_of(sent, LAST, most=5_000))
    assert len(letters) > 2
    assert all(sum(map(len, blobs)) < 12_000 for _, blobs in letters)
    unpacking = Unpacking(Spill(tmp_path, 5_000))
    *ahead, (last, blobs) = letters
    for said, piece in ahead:
        assert isinstance(said, Piece)
        unpacking.add(said, piece)
    assert last is LAST
    got = unpacking.finish(blobs)
    assert isinstance(got, Message)
    assert {k: seqs(t) for k, t in got.rows.items()} == {
        ("e", IN): list(range(1_000)),
        ("e", QUEUE): list(range(5)),
    }


def test_tails_of_sources_are_not_shipped() -> None:
    assert [p.name for p, _ in to_ship(checkpoint(1, (0, 9), (0, 1)), None, frozenset({IN}))] == [QUEUE]


def test_a_message_survives_the_wire(tmp_path: Path) -> None:
    child = Tree(Savepoint({IN: Seq(2)}, {IN: Seq(3)}, Seq(9)))
    tree = Tree(Savepoint({IN: Seq(5)}, {IN: Seq(9)}, Seq(1)), {IN: {Consumer("next"): child}})
    behind = Step(Seq(5), Seq(9), {IN: Seq(1)}, {IN: Seq(2)}, {IN: Seq(3)})
    mark = Step(Seq(1), Seq(4), {IN: Seq(5)}, {IN: Seq(7)}, {IN: Seq(9)}, {IN: behind})
    trees = {Stream("e"): {Consumer("down"): tree}}
    whole = replace(checkpoint(3, (5, 9), (1, 4)), marks={IN: mark}, trees=trees, steps={IN: (mark,)})
    sent = message(replace(whole, extended={IN: Seq(12)}), None)
    ((_, blobs),) = letters_of(sent, LAST)
    got = Unpacking(Spill(tmp_path, 1 << 20)).finish(blobs)
    assert isinstance(got, Message)
    assert got.inboxes == sent.inboxes
    assert got.checkpoint == sent.checkpoint
    assert {k: t.to_pylist() for k, t in got.rows.items()} == {k: t.to_pylist() for k, t in sent.rows.items()}
