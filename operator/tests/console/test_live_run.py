"""What a supervisor observes, as the console sees it."""

from __future__ import annotations

from dataclasses import replace

from tests.console.runs import START, pages, record, telemonitoring
from understudy.console.board import Board
from understudy.console.live_run import LOOK_MS, SILENT_MS, LiveRun, seen_of
from understudy.console.look import view_of
from understudy.console.seen import JobSeen, plans_of
from understudy.console.view import ConsoleView, Part, Safety, from_bytes
from understudy.local.run.members import Kind, Process
from understudy.local.run.observed import Observed, Seen
from understudy.protocol.statuspage import SinkPage

JOB = telemonitoring()


def process(name: str) -> Process:
    owner, _, number = name.rpartition("-")
    return Process(Kind.SINK, number, 0) if owner == "sink" else Process(Kind.SUBJOB, owner, int(number))


def observed(silent: str = "") -> Observed:
    """At 30 s: beats-0 is dead, beats-1 holds the Lease."""
    return Observed(
        now_ms=START + 30_000,
        started_ms=START,
        seen=tuple(
            Seen(
                *(process(name), 60_000, -9 if name == "beats-0" else None, name == "beats-0", page),
                silent_ms=SILENT_MS if name == silent else 200,
            )
            for name, page in pages().items()
        ),
        holders={"beats": "beats-1", "pressures": "pressures-0", "correlate": "correlate-0"},
    )


def seen(looked: Observed) -> JobSeen:
    return seen_of(replace(record(), ended_ms=None), looked, plans_of(JOB), {})


def test_the_holder_of_the_lease_is_the_primary_and_a_dead_process_is_gone() -> None:
    parts = {p.name: p.part for p in seen(observed()).processes}
    assert parts["beats-0"] is Part.GONE
    assert parts["beats-1"] is Part.PRIMARY
    assert parts["beats-2"] is Part.STANDBY
    assert parts["sink-alerts"] is Part.SINK
    assert view_of(seen(observed())).verdict.safety is Safety.SAFE


def test_a_process_that_does_not_answer_is_not_believed_to_serve() -> None:
    found = view_of(seen(observed(silent="correlate-0"))).verdict
    assert (found.safety, found.why) == (
        Safety.DOWN,
        "no primary serves correlate: it has not answered for 3 s",
    )


def test_a_sink_that_has_written_everything_and_ended_is_not_gone() -> None:
    looked = observed()
    ended = tuple(replace(s, exit_code=0) if isinstance(s.page, SinkPage) else s for s in looked.seen)
    assert view_of(seen(replace(looked, seen=ended))).verdict.safety is Safety.SAFE


def test_a_run_is_looked_at_four_times_a_second() -> None:
    board = Board()
    live = LiveRun(board)
    live.watch(observed(), {"alerts": 1})
    assert not board.newest()  # it follows nothing yet
    live.follow(replace(record(), ended_ms=None))
    numbers = []
    for ms in range(0, 2 * LOOK_MS, 20):
        live.watch(replace(observed(), now_ms=START + 30_000 + ms), {"alerts": 1_600 + ms})
        numbers.append(board.after(0, 0)[0])
    assert numbers[-1] == 2
    view = from_bytes(board.newest())
    assert isinstance(view, ConsoleView)
    assert sum(view.sinks[0].counts) == 1_600 + 260


def test_a_run_that_has_just_ended_is_over_and_not_judged_yet() -> None:
    board, followed = Board(), replace(record(), ended_ms=None)
    live = LiveRun(board)
    live.follow(followed)
    live.watch(observed(), {"alerts": 1_600})
    followed.ended_ms = START + 41_000
    live.end()
    view = from_bytes(board.newest())
    assert isinstance(view, ConsoleView)
    assert (view.verdict.safety, view.ended_ms) == (Safety.OVER, START + 41_000)
