"""A source that can't give a tail at once is read from its beginning; a tail that is gone is a loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from tests.streams.rows import rows
from understudy.engine.inbox import Inbox
from understudy.engine.lane import WIRE, InputKind, InputSpec
from understudy.engine.state import InboxState
from understudy.instance.context import Context
from understudy.instance.shell import Shell
from understudy.local.surroundings import LocalSurroundings
from understudy.model.elements import elements_of
from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.modes.build import instance_of
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Epoch, Range, Seq, Stream, WallMillis
from understudy.protocol.selection import UNKNOWN
from understudy.sources.port import News, Reader
from understudy.sources.reading import Sources
from understudy.streams.spill import Spill
from understudy.streams.store import Store

PAYLOAD = pa.schema([("v", pa.int64())])
JOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: tails}
spec:
  sources: [{name: numbers, kafka: {bootstrapServers: "k:9092", topic: t, schema: "v bigint"}}]
  subjobs:
    - name: sums
      inputs: [numbers]
      operators: [{aggregate: {window: {on: _seq, size: 20, slide: 10}, select: {n: "count(*)"}}}]
  sinks: [{name: end, input: sums, files: {path: out}}]
"""


class Broker(Reader):
    """Gives three tuples at a time; those before `oldest` are gone."""

    def __init__(self, oldest: int) -> None:
        self._oldest, self.next = oldest, 0
        self.begun: list[Seq | None] = []

    def begin(self, start: Seq | None, elapsed_ms: int) -> Seq | None:
        self.begun.append(start)
        self.next = start or 0
        return start

    def poll(self, elapsed_ms: int) -> News:
        first = self.next
        if first < self._oldest:
            self.next = self._oldest
            return News(Seq(self.next), rows(0, 0), skipped=Range(Seq(first), Seq(self.next)))
        self.next += 3
        return News(Seq(self.next), rows(first, self.next))

    def rows(self, wanted: Range) -> None:
        return None

    def close(self) -> None:
        """Nothing is open."""


Restore = Callable[[Broker], tuple[Shell, Sources]]


@pytest.fixture
def restored(tmp_path: Path) -> Restore:
    """An instance that leads at tuple 30, of whose windows the tail begins with tuple 20."""

    def make(broker: Broker) -> tuple[Shell, Sources]:
        job = load(JOB)
        assert isinstance(job, StreamJob)
        (subjob,) = job.subjobs
        (element,) = elements_of(subjob)
        inbox = Inbox(element, [InputSpec("numbers", InputKind.STREAM, PAYLOAD)])
        store = Store(pa.schema([*WIRE, ("n", pa.int64())]), tmp_path / "queue", 1 << 20, 1 << 20)
        core = instance_of(job, subjob, "sums-0")
        surroundings = LocalSurroundings(tmp_path / "surroundings")
        context = Context(
            job,
            subjob,
            core,
            surroundings,
            "here:1",
            {"sums": inbox},
            {"sums": store},
            Spill(tmp_path, 1 << 20),
        )
        sources = Sources({"numbers": broker})
        shell = Shell(context, sources)
        shell.post(on.LeaseWon(LeaseRecord("sums-0", "here:1", Epoch(1))))
        sources.stop()
        inbox.restore(InboxState(30, (30,), (20,), (UNKNOWN,)), {})
        sources.start_ms = WallMillis(0)
        shell.inputs.read(do.ReadInput(Stream("numbers"), Seq(30)))
        return shell, sources

    return make


def test_reading_begins_with_the_tail_that_is_lacking(restored: Restore) -> None:
    broker = Broker(oldest=0)
    shell, sources = restored(broker)
    for _ in range(8):
        sources.poll()
    assert broker.begun[-1] == 20
    inbox = shell.context.inboxes["sums"]
    assert inbox.wanted("numbers") == 44
    plan = inbox.cut(0, timeout=0)
    assert plan is not None
    assert (plan.start, plan.stop) == (30, 40)
    assert shell.context.story.losses == []


def test_a_part_of_the_tail_that_is_gone_is_reported_and_the_rest_goes_on(restored: Restore) -> None:
    broker = Broker(oldest=25)
    shell, sources = restored(broker)
    for _ in range(10):
        sources.poll()
    assert shell.context.story.losses == [("numbers", 20, 25)]
    inbox = shell.context.inboxes["sums"]
    assert inbox.wanted("numbers") == broker.next
    assert inbox.position.seqs["numbers"] == 30
