"""Between the elements of a subjob: what one has made waits in its queue until the next has room for it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from understudy.engine.inbox import Inbox
from understudy.engine.lane import WIRE, InputKind, InputSpec
from understudy.instance.context import Context
from understudy.instance.shell import Shell
from understudy.local.surroundings import LocalSurroundings
from understudy.model.elements import elements_of
from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.modes.build import instance_of
from understudy.protocol import events as on
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Epoch
from understudy.sources.reading import Sources
from understudy.streams.spill import Spill
from understudy.streams.store import Store

PAYLOAD = pa.schema([("n", pa.int64())])
JOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: inner}
spec:
  sources: [{name: numbers, generator: {rate: 100, fields: {n: "_seq"}}}]
  subjobs:
    - name: whole
      inputs: [numbers]
      elements:
        - {name: first, inputs: [numbers], operators: [{filter: {where: "n >= 0"}}]}
        - {name: second, inputs: [first], operators: [{filter: {where: "n >= 0"}}]}
      ha: {mode: amnesia}
  sinks: [{name: end, input: whole, files: {path: out}}]
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    job = load(JOB)
    assert isinstance(job, StreamJob)
    (subjob,) = job.subjobs
    source = InputSpec("numbers", InputKind.GENERATOR, PAYLOAD, 100, (("n", "_seq"),), ordered=True)
    elements = elements_of(subjob)
    specs = {"numbers": source, **{e.name: InputSpec(e.name, InputKind.STREAM, PAYLOAD) for e in elements}}
    inboxes = {e.name: Inbox(e, [specs[i] for i in e.inputs], max_waiting=10) for e in elements}
    schema = pa.schema([*WIRE, *PAYLOAD])
    stores = {e.name: Store(schema, tmp_path / e.name, 1 << 20, 1 << 20) for e in elements}
    core = instance_of(job, subjob, "whole-0")
    surroundings = LocalSurroundings(tmp_path / "surroundings")
    context = Context(job, subjob, core, surroundings, "here:1", inboxes, stores, Spill(tmp_path, 1 << 20))
    found = Shell(context, Sources.of(job, subjob, {"numbers": PAYLOAD}, tmp_path, surroundings))
    found.post(on.LeaseWon(LeaseRecord("whole-0", "here:1", Epoch(1))))
    return found


def process(shell: Shell, element: str, after: int) -> int:
    """One micro-batch of an element; returns how many rows it had."""
    inbox = shell.context.inboxes[element]
    plan = inbox.cut(after, timeout=0)
    assert plan is not None
    inbox.begin(plan.number)
    rows = inbox.rows(plan.number, 0)
    made = pa.table({"_ts": rows["_ts"], "n": rows["_seq"]})
    shell.outputs.on_output(element, plan, made)
    return int(rows.num_rows)


def test_an_element_takes_what_it_has_room_for_and_the_rest_later(shell: Shell) -> None:
    first, second = list(shell.context.inboxes)
    shell.context.inboxes[first].advance("numbers", 25)
    assert process(shell, first, 0) == 25
    taken = []
    for number in range(3):
        taken.append(process(shell, second, number))
        shell.outputs.feed_owed()
    assert taken == [10, 10, 5]
    assert shell.context.inboxes[second].idle
    rows = shell.context.stores[second].rows(0, 100)
    assert rows["n"].to_pylist() == list(range(25))
