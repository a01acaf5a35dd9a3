"""The measurements' own arithmetic, without measuring anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from understudy.local.report.arrivals import Arrival, ArrivalWatch
from understudy.local.report.fault_effects import Incident
from understudy.local.report.move_costs import Migration
from understudy.local.run.fault_plan import Fault, Target
from understudy.local.run.members import Kind, Process
from understudy.local.run.observed import Done, Observed, Seen
from understudy.model.ha import Heartbeat, Mode, Strategy
from understudy.model.job import StreamJob
from understudy.model.validate import check
from understudy.protocol.statuspage import InstancePage, State, TakeOver
from understudy_lab.bench import jobs, move_costs, page, sink_memory
from understudy_lab.bench.overhead import Overhead, Steady
from understudy_lab.bench.recovery_times import Kills, Recovery, gaps
from understudy_lab.bench.silence import FOR_GOOD_MS, Silence, SilenceEach, allowed_ms
from understudy_lab.bench.throughput import Throughput
from understudy_lab.bench.watching import Failed, KillEach, detections, growth
from understudy_lab.commands.bench import MEASUREMENTS


@pytest.mark.parametrize(
    "job",
    [
        jobs.two_subjobs(500, Mode.PASSIVE_STANDBY),
        jobs.one_subjob(500),
        jobs.one_subjob(500, Mode.SAVEPOINT),
        jobs.four_by_two(500, Strategy.SWEEPING),
        jobs.rows(10**7, 10**6, 2),
        jobs.passed_on(20_000, 10**6, Mode.SAVEPOINT, sink_memory.QUEUE),
    ],
)
def test_the_jobs_are_accepted(job: StreamJob) -> None:
    assert check(job) == ()


# --- when the silence ended


STEADY = list(range(0, 40_000, 100))


def test_the_gap_that_a_fault_leaves_counts_beyond_the_steady_one() -> None:
    times = [*STEADY, *range(40_700, 80_000, 100)]
    found = gaps(times, [40_000])
    assert (found.steady_ms, found.silence, found.excess) == (100, (700,), (700,))


def test_tuples_that_were_under_way_at_the_fault_do_not_end_the_silence() -> None:
    times = [*STEADY, 40_050, 40_900, *range(41_000, 80_000, 100)]
    assert gaps(times, [40_000]).silence == (900,)


def test_a_longer_gap_that_begins_later_does_not_end_the_silence() -> None:
    times = [*STEADY, *range(40_000, 43_000, 100), *range(43_120, 80_000, 100)]
    assert gaps(times, [40_050]).silence == (50,)


def test_a_pause_long_after_the_fault_is_not_caused_by_it() -> None:
    times = [*STEADY, *range(40_000, 60_000, 100), *range(70_000, 90_000, 100)]
    assert gaps(times, [40_000]).excess == (0,)


def test_a_fault_without_an_effect_on_the_output_gives_no_gap() -> None:
    assert gaps(list(range(0, 80_000, 100)), [40_050]).excess == (0,)


def test_arrivals_are_counted_by_whole_lines(tmp_path: Path) -> None:
    watch, file = ArrivalWatch(tmp_path), tmp_path / "part-00000.jsonl"
    watch.look(1)
    file.write_text("{}\n{}\n{")
    watch.look(2)
    watch.look(3)
    file.write_text("{}\n{}\n{}\n")
    watch.look(4)
    assert watch.arrivals == [Arrival(2, 2), Arrival(4, 3)]


# --- the nemesis


def subjob(name: str, number: int = 0, protected: bool = True, take_over: TakeOver | None = None) -> Seen:
    page = InstancePage(state=State.READY, protected=protected, take_over=take_over)
    return Seen(Process(Kind.SUBJOB, name, number), 60_000, None, False, page, ready_ms=60_000)


QUIET = Observed(100_000, 10_000, (subjob("a"), subjob("b")), {"a": "a-0", "b": "b-0"})
NEMESIS = KillEach(("a", "b"), kills=3, quiet_ms=5_000)
DONE = Done(Fault("a", Target.PRIMARY, 0), Process(Kind.SUBJOB, "a", 0), 80_000)


def victims(observed: Observed) -> list[str]:
    return [hurt.victim.name for hurt in NEMESIS.strike(observed)]


def test_primaries_are_killed_in_turn() -> None:
    assert victims(QUIET) == ["a-0"]
    assert victims(replace(QUIET, done=(DONE,))) == ["b-0"]


def test_no_instance_is_killed_before_all_subjobs_are_protected_and_quiet() -> None:
    assert victims(replace(QUIET, started_ms=None)) == []
    assert victims(replace(QUIET, now_ms=12_000)) == []
    assert victims(replace(QUIET, done=(replace(DONE, at_ms=97_000),))) == []
    assert victims(replace(QUIET, seen=(subjob("a"), subjob("b", protected=False)))) == []
    assert victims(replace(QUIET, seen=(subjob("a"), replace(subjob("b"), ready_ms=1_000)))) == []


def test_a_subjob_without_a_standby_is_killed_when_it_is_ready() -> None:
    bare = replace(QUIET, seen=(subjob("a", protected=False), subjob("b")))
    assert victims(bare) == []
    assert [hurt.victim.name for hurt in replace(NEMESIS, alone=frozenset("a")).strike(bare)] == ["a-0"]


def test_the_recovery_benchmark_ends_when_the_last_replacement_has_caught_up() -> None:
    done = replace(QUIET, done=(DONE, DONE, DONE))
    assert not NEMESIS.satisfied(QUIET)
    assert not NEMESIS.satisfied(done)
    assert victims(done) == []
    assert NEMESIS.satisfied(
        replace(done, seen=(subjob("a", take_over=TakeOver(caught_up=81_000)), subjob("b")))
    )


# --- silence


SILENT = Done(Fault("a", Target.PRIMARY, 0, stop_ms=FOR_GOOD_MS), Process(Kind.SUBJOB, "a", 0), 90_000)
ENDED = Done(Fault("a", Target.STANDBY, 0), Process(Kind.SUBJOB, "a", 0), 93_000)


def silenced(observed: Observed) -> list[tuple[str, bool]]:
    hurt = SilenceEach(NEMESIS).strike(observed)
    return [(each.victim.name, each.fault.stop_ms is not None) for each in hurt]


def test_a_primary_is_stopped_for_good_and_killed_when_it_was_silent_for_a_while() -> None:
    assert silenced(QUIET) == [("a-0", True)]
    assert silenced(replace(QUIET, now_ms=92_999, done=(SILENT,))) == []
    assert silenced(replace(QUIET, now_ms=93_000, done=(SILENT,))) == [("a-0", False)]
    assert silenced(replace(QUIET, now_ms=93_500, done=(SILENT, ENDED))) == []
    assert silenced(replace(QUIET, done=(SILENT, ENDED))) == [("b-0", True)]


def test_the_silence_benchmark_ends_when_the_last_stopped_primary_is_dead_and_replaced() -> None:
    caught_up = replace(QUIET, seen=(subjob("a", take_over=TakeOver(caught_up=91_000)), subjob("b")))
    nemesis = SilenceEach(KillEach(("a", "b"), kills=1, quiet_ms=5_000))
    assert not nemesis.satisfied(replace(caught_up, done=(SILENT,)))
    assert nemesis.satisfied(replace(caught_up, done=(SILENT, ENDED)))


def test_silence_may_last_one_interval_more_than_the_keep_alives_that_may_be_missed() -> None:
    assert allowed_ms(Heartbeat()) == 400
    assert Silence({Mode.SAVEPOINT: (300, 400, 900)}, 400).met
    assert not Silence({Mode.SAVEPOINT: (300, 401, 402)}, 400).met
    text = page.silence_text(Silence({Mode.SAVEPOINT: (300, 400, 900)}, 400))
    assert "| savepoint | 400 ms | 300 ms | 900 ms | 400 ms |" in text


def test_a_loss_that_was_not_detected_is_not_counted() -> None:
    noticed = Incident("a", "savepoint", "primary killed (SIGKILL)", "a-0", "primary", 1_000, detected_ms=0)
    assert detections([noticed, replace(noticed, detected_ms=12)]) == (0, 12)
    with pytest.raises(Failed, match="and nobody noticed"):
        detections([noticed, replace(noticed, detected_ms=None)])


# --- moves


MOVE = Migration(
    "beats", "savepoint", "planned", "beats-0", "beats-2", 0, restored_ms=80, paused_ms=30, moved_bytes=9
)


def test_a_move_costs_its_pause_and_what_is_sent() -> None:
    found = move_costs.moves_of([MOVE, replace(MOVE, paused_ms=None)], 2)
    assert found == move_costs.Moves(pauses=(50, 0), moved=(9, 9))
    text = page.moving_text(move_costs.Moving({Mode.SAVEPOINT: found}))
    assert "| savepoint | 25 ms | 0 ms | 50 ms | 9 |" in text


def test_a_move_that_did_not_take_place_is_not_counted() -> None:
    with pytest.raises(Failed, match="1 of 2 moves took place; beats-0 to beats-2: it is gone"):
        move_costs.moves_of([MOVE, replace(MOVE, restored_ms=None, failure="it is gone")], 2)


def test_moving_ends_when_every_target_was_started_and_no_move_is_under_way() -> None:
    nemesis = move_costs.UntilMoved(2)
    seen = tuple(subjob("beats", number) for number in range(4))
    assert not nemesis.satisfied(replace(QUIET, seen=seen[:3]))
    assert not nemesis.satisfied(replace(QUIET, seen=seen, moving=frozenset({seen[3].process})))
    assert nemesis.satisfied(replace(QUIET, seen=seen))


# --- figures


def test_the_warm_up_does_not_count() -> None:
    points = [(0.0, 0), (10_000.0, 250), (11_000.0, 500), (12_000.0, 1_000)]
    assert growth(points, least=250) == 375


def recovery(excess: int, plain: int) -> Recovery:
    kills = Kills(silence=(excess,), excess=(excess,), steady_ms=100, detected=(10,))
    return Recovery({Mode.PASSIVE_STANDBY: kills}, Kills((plain,), (plain,), 100))


def test_targets() -> None:
    assert recovery(500, 10_000).met
    assert not recovery(4_000, 10_000).met
    assert Overhead(Steady(70, 10), 50, Steady(100, 10), Steady(90, 10)).met
    assert not Overhead(Steady(71, 10), 50, Steady(100, 10), Steady(90, 10)).met
    others = {"upstreamBackup": 800.0, "savepoint": 800.0, "passiveStandby, sweeping": 730.0}
    assert Throughput({"amnesia": 800.0, **others}, 1_000.0, 10).met
    assert not Throughput({"amnesia": 790.0, **others}, 1_000.0, 10).met
    assert not Throughput({"amnesia": 900.0, **others}, 1_000.0, 10).met


def test_the_page_keeps_everything_but_what_stands_between_the_markers(tmp_path: Path) -> None:
    file = tmp_path / "benchmarks.md"
    file.write_text("# Top\n<!-- bench:recovery -->\nold\n<!-- /bench:recovery -->\nbottom\n")
    page.put(file, "recovery", page.recovery_text(recovery(400, 10_000)))
    text = file.read_text()
    assert text.startswith("# Top\n<!-- bench:recovery -->\n| excess")
    assert text.endswith("<!-- /bench:recovery -->\nbottom\n")
    assert "old" not in text
    assert "0.040 (at most 0.125)" in text
    assert "PySpark" in page.where_and_when()


def test_a_page_without_markers_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "benchmarks.md"
    file.write_text("# Top\n")
    with pytest.raises(ValueError, match="bench:recovery"):
        page.put(file, "recovery", "x")


def test_the_docs_have_a_place_for_each_benchmark() -> None:
    text = (Path(__file__).parents[3] / "docs" / "benchmarks.md").read_text()
    for name in MEASUREMENTS:
        assert f"<!-- bench:{name} -->" in text
        assert f"<!-- /bench:{name} -->" in text


# --- a dead sink


def absence(**changes: Any) -> sink_memory.Absence:
    queues, before, most = {"made-0": 900, "passed-1": 1_000}, {"made-0": 50 << 20}, {"made-0": 70 << 20}
    found = sink_memory.Absence(1_000, queues, ("made", "passed"), before, most, 360, True)
    return replace(found, **changes)


def test_a_queue_beyond_its_bound_or_a_tuple_that_is_missing_misses_the_target() -> None:
    def met(**changes: Any) -> bool:
        return sink_memory.Memory({Mode.SAVEPOINT: absence(**changes)}, 360).met

    assert met()
    assert not met(queues={"made-0": 1_001})
    assert not met(precise=False)
    assert not met(arrived=359)


def test_the_memory_table_names_the_waiting_process_and_the_cost() -> None:
    text = page.memory_text(sink_memory.Memory({Mode.SAVEPOINT: absence()}, 360))
    assert "| savepoint | 0.0 of 0 MiB | made, passed | 70 MiB | 20 MiB | 360 of 360, precise |" in text
