"""A checkpoint's bytes, between versions."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.protocol.drawing import SCALARS, TEXT, drawn
from tests.protocol.test_peermessage import MADE
from understudy.engine.state import InboxState, LogState
from understudy.instance.checkpointformat import Header, Unpacking, header_from_bytes, header_to_bytes
from understudy.protocol.checkpoint import Checkpoint, ElementState
from understudy.protocol.ids import Consumer, Epoch, Range, Seq, Stream
from understudy.protocol.savepoints import Savepoint, Tree
from understudy.protocol.versioned import NotUnderstood
from understudy.streams.spill import Spill

IN, OUT = Stream("ecg"), Stream("beats")
STATE = ElementState({IN: Seq(9)}, {IN: Seq(5)}, Range(Seq(1), Seq(4)))
TREES = {OUT: {Consumer("next"): Tree(Savepoint({OUT: Seq(2)}, {OUT: Seq(3)}, Seq(9)))}}
INBOX = InboxState(9, (9,), (5,), (7,))
HEADER = Header(
    Checkpoint(Epoch(2), 17, {"beats": STATE}, trees=TREES), {"beats": INBOX}, (("beats", "queue"),)
)


@settings(max_examples=40, deadline=None)
@given(drawn(Header, {**MADE, bytes: st.binary(max_size=8)}))
def test_a_header_is_read_as_it_was_written(header: Header) -> None:
    assert header_from_bytes(header_to_bytes(header)) == header


@given(st.binary(max_size=64), SCALARS[int], TEXT)
@settings(max_examples=20, deadline=None)
def test_the_order_of_several_inputs_travels_whole(order: bytes, base: int, name: str) -> None:
    state = InboxState(3, (1, 2), (0, 0), (0, 0), LogState(base, (0, 1), 5, order), clock=4)
    found = header_from_bytes(header_to_bytes(Header(Checkpoint(Epoch(1), 1, {}), {name: state}, ())))
    assert isinstance(found, Header)
    assert found.inboxes == {name: state}


def raw_of(header: Header) -> Any:
    return json.loads(zlib.decompress(header_to_bytes(header)))


def bytes_of(raw: Any) -> bytes:
    return zlib.compress(json.dumps(raw).encode())


def test_fields_that_a_later_minor_version_adds_are_ignored() -> None:
    raw = raw_of(HEADER)
    raw["version"], raw["new"], raw["checkpoint"]["new"] = "1.3", 1, 2
    raw["checkpoint"]["elements"]["beats"]["new"] = raw["inboxes"]["beats"]["new"] = [3]
    assert header_from_bytes(bytes_of(raw)) == HEADER


def test_what_an_earlier_version_did_not_write_has_its_default() -> None:
    raw = raw_of(HEADER)
    assert {"steps", "log", "extended", "shifts"} & raw["checkpoint"].keys() == set()
    del raw["checkpoint"]["trees"]
    found = header_from_bytes(bytes_of(raw))
    assert isinstance(found, Header)
    assert found.checkpoint == Checkpoint(Epoch(2), 17, {"beats": STATE})


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (bytes_of({**raw_of(HEADER), "version": "2.0"}), "has version 2.0, and this process understands"),
        (bytes_of({**raw_of(HEADER), "parts": 3}), "has a wrong value in parts: "),
        (
            bytes_of({**raw_of(HEADER), "inboxes": {"beats": {"position": 1}}}),
            "has a wrong value in inboxes.beats.seqs: ",
        ),
        (b"nonsense", "is not compressed as it should be: "),
    ],
)
def test_a_checkpoint_that_is_not_understood_is_refused_with_a_sentence(
    raw: bytes, why: str, tmp_path: Path
) -> None:
    found = Unpacking(Spill(tmp_path, 1 << 20)).finish([raw])
    assert isinstance(found, NotUnderstood)
    assert found.why.startswith(f"the checkpoint {why}")


def test_an_order_that_is_no_longer_whole_is_refused() -> None:
    log = LogState(0, (0, 1), 5, b"\x00\x01")
    raw = raw_of(Header(Checkpoint(Epoch(1), 1, {}), {"e": InboxState(1, (1,), (1,), (1,), log)}, ()))
    for order in ("###", "AAAA"):
        raw["inboxes"]["e"]["log"]["order"] = order
        assert isinstance(header_from_bytes(bytes_of(raw)), NotUnderstood)
