"""Status pages between processes of different versions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from tests.protocol.drawing import drawn
from understudy.protocol.statuspage import (
    Activity,
    Consumer,
    Engine,
    Input,
    InstancePage,
    Lag,
    Loss,
    Queue,
    Role,
    SinkPage,
    State,
    StatusPage,
    TakeOver,
    from_bytes,
    from_json,
    to_bytes,
    to_json,
)
from understudy.protocol.versioned import NotUnderstood

FULL = InstancePage(
    job="two",
    subjob="beats",
    instance="beats-1",
    role=Role.PRIMARY,
    epoch=2,
    state=State.READY,
    inputs={"ecg": Input(1_200, 1_250)},
    outputs={"beats": Queue(80, 113, 5_120, consumers={"sink/alerts": Consumer(110, 80, 3, 240)})},
    engine=Engine(Activity.STALLED, "the JVM did not answer for 3.1 s", since_ms=5, timeout_ms=3_000),
    take_over=TakeOver(gone="beats-0", cause="it was silent", heard=1, recovery_ms=310, replayed=40),
    losses=(Loss("ecg", 100, 160),),
    latencies={"10.191.2.7": 0.41},
)


@settings(max_examples=40, deadline=None)
@given(drawn(StatusPage))
def test_a_page_is_read_as_it_was_written(page: StatusPage) -> None:
    assert from_bytes(to_bytes(page)) == page


def test_the_json_is_the_documented_one() -> None:
    raw = to_json(FULL)
    assert (raw["kind"], raw["version"], raw["role"], raw["state"]) == ("subjob", "1.0", "primary", "ready")
    assert raw["inputs"] == {"ecg": {"position": 1_200, "available": 1_250, "bad": 0, "fault": None}}
    assert raw["outputs"]["beats"]["consumers"] == {
        "sink/alerts": {"received": 110, "released": 80, "lag": 3, "lagMs": 240}
    }
    assert (raw["takeover"]["from"], raw["takeover"]["heardMs"], raw["takeover"]["leaseMs"]) == (
        "beats-0",
        1,
        None,
    )
    assert raw["losses"] == [{"stream": "ecg", "from": 100, "to": 160}]
    assert raw["engine"]["timeoutMs"] == 3_000
    assert {"onDisk", "full", "ended"} <= raw["outputs"]["beats"].keys()


def _with_unknown_fields(value: Any) -> Any:
    """As a later minor version may write it: more fields, however deep."""
    if isinstance(value, dict):
        return {**{k: _with_unknown_fields(v) for k, v in value.items()}, "new": {"deep": [1]}}
    return [_with_unknown_fields(each) for each in value] if isinstance(value, list) else value


def test_fields_that_a_later_minor_version_adds_are_ignored() -> None:
    raw = to_json(FULL) | {"version": "1.7", "new": 1}
    for part in ("takeover", "engine", "sent", "batches"):
        raw[part] = _with_unknown_fields(raw[part])
    raw["outputs"]["beats"]["new"] = raw["outputs"]["beats"]["consumers"]["sink/alerts"]["new"] = 1
    assert from_json(raw) == FULL


@pytest.mark.parametrize("kind", ["subjob", "sink"])
def test_what_an_earlier_version_did_not_write_has_its_default(kind: str) -> None:
    page = from_json({"kind": kind, "version": "1.0"})
    assert page == (InstancePage() if kind == "subjob" else SinkPage())
    assert from_json({"kind": kind}) == page, "pages from before versions were written"
    queue = from_json({"kind": "subjob", "outputs": {"beats": {"next": 7, "consumers": {"a": {}}}}})
    assert isinstance(queue, InstancePage)
    assert queue.outputs == {"beats": Queue(next=7, consumers={"a": Consumer()})}
    assert queue.outputs["beats"].consumers["a"].lag is None


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b'{"kind": "subjob", "version": "2.0"}', "has version 2.0, and this process understands version 1"),
        (b'{"kind": "sink", "version": 2}', "has version 2, and this process understands version 1"),
        (b'{"kind": "operator"}', "is of the unknown kind 'operator'"),
        (b'{"kind": "subjob", "takeover": {"heardMs": "soon"}}', "has a wrong value in takeover.heardMs: "),
        (b'{"kind": "subjob", "state": "dancing"}', "has a wrong value in state: "),
        (b"[1]", "is not a JSON object"),
        (b"<html>", "is not JSON: "),
        (b"\xff\xfe\x00", "is not JSON: "),
    ],
)
def test_a_page_that_is_not_understood_is_refused_with_a_sentence(raw: bytes, why: str) -> None:
    found = from_bytes(raw)
    assert isinstance(found, NotUnderstood)
    assert found.why.startswith(f"the status page {why}")


def test_questions_about_a_page_have_answers_on_it() -> None:
    assert (FULL.leads, FULL.lost, FULL.place) == (True, 60, {"ecg": (1_200, 1_250)})
    assert (FULL.stalled, FULL.engine_timeout_ms) == ("the JVM did not answer for 3.1 s", 3_000)
    assert FULL.outputs["beats"].consumers["sink/alerts"].lag == Lag(3, 240)
    assert FULL.outputs["beats"].slowest == "sink/alerts"
    assert (InstancePage().stalled, InstancePage().engine_timeout_ms) == (None, 0)
