"""What processes say to each other, between versions."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocol.drawing import SCALARS, TEXT, drawn
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.protocol.peermessage import (
    Ack,
    Age,
    Batch,
    Beat,
    HandOver,
    KeepAlive,
    PeerMessage,
    Ping,
    Pong,
    Trimming,
    from_bytes,
    size_of_ack,
    to_bytes,
)
from understudy.protocol.savepoints import Savepoint, Tree
from understudy.protocol.versioned import NotUnderstood
from understudy.protocol.watermarks import Step

MARKS = st.dictionaries(TEXT, st.integers(0, 2**53), max_size=2)
STEPS = st.recursive(
    st.builds(Step, SCALARS[int], SCALARS[int], MARKS, MARKS, MARKS),
    lambda behind: st.builds(
        Step, SCALARS[int], SCALARS[int], MARKS, MARKS, MARKS, st.dictionaries(TEXT, behind, max_size=1)
    ),
    max_leaves=3,
)
SAVEPOINTS = st.builds(Savepoint, MARKS, MARKS, SCALARS[int])
TREES = st.recursive(
    st.builds(Tree, SAVEPOINTS),
    lambda below: st.builds(
        Tree, SAVEPOINTS, st.dictionaries(TEXT, st.dictionaries(TEXT, below, max_size=1), max_size=1)
    ),
    max_leaves=3,
)
RANGES = st.builds(lambda a, b: Range(Seq(min(a, b)), Seq(max(a, b))), SCALARS[int], SCALARS[int])
MADE = {**SCALARS, Step: STEPS, Tree: TREES, Range: RANGES, Any: TEXT | st.integers(0, 9)}


@pytest.mark.parametrize("kind", get_args(PeerMessage), ids=lambda kind: kind.__name__)
def test_a_message_is_read_as_it_was_written(kind: type[PeerMessage]) -> None:
    @settings(max_examples=10, deadline=None)
    @given(drawn(kind, MADE))
    def is_the_same(message: PeerMessage) -> None:
        assert from_bytes(to_bytes(message)) == message

    is_the_same()


def changed(message: PeerMessage, **fields: object) -> bytes:
    return json.dumps({**json.loads(to_bytes(message)), **fields}).encode()


def test_fields_that_a_later_minor_version_adds_are_ignored() -> None:
    beat = KeepAlive(epoch=Epoch(3), positions={Stream("ecg"): Seq(7)})
    assert from_bytes(changed(beat, version="1.4", mood="fine")) == beat
    tree = Tree(Savepoint({}, {}, Seq(1)))
    word = Trimming(epoch=Epoch(1), high={}, trees={Stream("s"): {Consumer("c"): tree}})
    raw = json.loads(to_bytes(word))
    raw["trees"]["s"]["c"]["root"]["new"] = 1
    assert from_bytes(json.dumps(raw).encode()) == word


def test_what_an_earlier_version_did_not_write_has_its_default() -> None:
    assert from_bytes(b'{"kind": "batch", "version": "1.0", "epoch": 1, "next": 5}') == Batch(
        epoch=Epoch(1), next=Seq(5)
    )
    assert from_bytes(b'{"kind": "beat", "version": "1.0"}') == Beat()


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (changed(Ping(), version="2.0"), "has version 2.0, and this process understands version 1"),
        (changed(Ping(), kind="sing"), "is of the unknown kind 'sing'"),
        (changed(Pong(Epoch(1)), epoch="soon"), "has a wrong value in epoch: "),
        (changed(Trimming(epoch=Epoch(1), high={}), high=3), "has a wrong value in high: "),
        (b'{"kind": "batch", "version": "1.0", "epoch": 1}', "has a wrong value in next: Field required"),
        (b"", "is not JSON: "),
        (b"nonsense", "is not JSON: "),
    ],
)
def test_a_message_that_is_not_understood_is_refused_with_a_sentence(raw: bytes, why: str) -> None:
    found = from_bytes(raw)
    assert isinstance(found, NotUnderstood)
    assert found.why.startswith(f"the message {why}")


def test_what_has_its_default_costs_no_bytes() -> None:
    said = json.loads(to_bytes(KeepAlive(epoch=Epoch(3))))
    assert said == {"kind": "keepAlive", "version": "1.0", "epoch": 3}
    ack = Ack(stream=Stream("beats"), consumer=Consumer("c"), levels=((0, Seq(3)),), ages=(Age(1, 20),))
    assert json.loads(to_bytes(ack))["ages"] == [{"epoch": 1, "ms": 20}]


def test_an_ack_is_as_large_as_its_tree() -> None:
    leaf = Tree(Savepoint({Stream("s"): Seq(1)}, {Stream("s"): Seq(2)}, Seq(3)))
    tree = Tree(leaf.root, {Stream("s"): {Consumer("c"): leaf}})
    sizes = [size_of_ack([(1, 5)], each) for each in (None, leaf, tree)]
    assert sizes == sorted(set(sizes))


def test_a_hand_over_gives_the_lease() -> None:
    lease = HandOver(epoch=Epoch(4), holder="a-0", address="h:1", successor="a-1").lease
    assert (lease.holder, lease.address, lease.epoch, lease.successor) == ("a-0", "h:1", 4, "a-1")
