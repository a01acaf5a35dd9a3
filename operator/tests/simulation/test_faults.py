"""Exploration of faults, and whether it would notice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.simulation.mistakes import BY_TIME_OR_CAUSE, MISTAKES, Mistake
from understudy_lab.exploration.explore import explore, first_caught
from understudy_lab.exploration.fault import Fault
from understudy_lab.exploration.faults import run
from understudy_lab.simulation.world import MS

SEEDS = int(os.environ.get("UNDERSTUDY_SEEDS", "2000" if os.environ.get("CI") else "200"))
PARTS = 4
WITHIN = 500  # seeds
EXCUSED = (
    5961,
    9240,
    12098,
    13547,
    16644,
    18553,
    82770,
)  # what waits for a neighbour that acks no more or that nobody runs
# divergent windows, a consumer that has forgotten what it had or is replaced too soon, a fenced standby
BEYOND = (
    *(6810, 12328, 12633, 23085),
    *(70846, 76148, 88138),
)
SILENT = (  # what a restarted life made of the rest was taken for known, …
    *(629, 814, 956, 1008, 1291, 1301, 1872),
    *(11525, 16801, 17967, 44802, 58477),
)
SILENT_IN_UPSTREAM_BACKUP = (96, 192, 280, 430, 42459)  # neighbours fail together; with a log, and without
COUNTED_BY_NOBODY = (414, 2743)  # a consumer failed after its amnesiac producer


@pytest.mark.parametrize("part", range(PARTS))
def test_no_promise_is_broken(part: int) -> None:
    report = explore(part * SEEDS // PARTS, SEEDS // PARTS)
    assert not report.failures, report.text()


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.says)
def test_a_mistake_is_caught_within_500_seeds(mistake: Mistake) -> None:
    """Where it was caught before is tried first; the sound core has nothing wrong there."""
    assert mistake.seen < WITHIN
    found = first_caught(mistake.cores, 1, mistake.mode, mistake.seen) or first_caught(
        mistake.cores, WITHIN, mistake.mode
    )
    assert found is not None, f"not noticed: {mistake.says}"
    sound = run(found.seed, None, mistake.mode, weather=found.weather)
    assert sound.problems == [], f"seed {found.seed} has a finding without the mistake"


@pytest.mark.parametrize("mistake", BY_TIME_OR_CAUSE, ids=lambda m: m.says)
def test_what_comes_out_right_at_the_wrong_time_or_without_a_cause_is_noticed_by_that(
    mistake: Mistake,
) -> None:
    found = first_caught(mistake.cores, 1, mistake.mode, mistake.seen) or first_caught(
        mistake.cores, WITHIN, mistake.mode
    )
    assert found is not None
    words = ("nothing had happened", "no standby took over", "when all is quiet", "neither took place")
    assert all(any(word in problem for word in words) for problem in found.problems), found.problems


@pytest.mark.parametrize("seed", EXCUSED)
def test_who_waits_for_a_neighbour_that_says_no_more_is_not_blamed(seed: int) -> None:
    assert run(seed).problems == []


def test_a_batch_begun_under_an_overload_ends_soon_after_it() -> None:
    assert run(8220).problems == []


@pytest.mark.parametrize("seed", BEYOND)
def test_more_than_a_mode_promises_is_not_asked(seed: int) -> None:
    assert run(seed).problems == []


def test_a_backup_of_a_renumbered_queue_leaves_no_gap() -> None:
    """Its seqs begin behind what the consumer's backup covers; what the consumer lacks is sent again under
    them."""
    found = run(4895)
    assert found.problems == []
    both = run(4895, faults=[*found.faults, Fault(680 * MS, "together", "j1", 100 * MS, True, "j2")])
    assert (both.problems, both.exceeded) == ([], False)


def test_who_moved_and_knows_where_it_is_has_not_failed_with_its_producer() -> None:
    found = run(97807)
    assert (found.problems, found.exceeded) == ([], False)


def test_the_end_that_a_replaced_primary_tells_is_not_taken() -> None:
    assert run(20733).problems == []


def test_who_steps_down_while_the_lease_store_is_away_does_not_win_the_lease_later() -> None:
    assert run(50142).problems == []


def test_acks_to_a_replica_that_joins_are_heard_when_it_serves() -> None:
    assert run(90604).problems == []


def test_a_subscription_that_was_meant_for_an_earlier_epoch_does_not_count_in_a_roll_call() -> None:
    assert run(230607, only="upstreamBackup").problems == []


def test_who_begins_at_the_newest_tuple_is_served_from_where_the_roll_call_put_it() -> None:
    assert run(232214, only="amnesia").problems == []


@pytest.mark.parametrize("seed", SILENT)
def test_what_is_lost_beyond_a_modes_promise_is_reported(seed: int) -> None:
    found = run(seed)
    assert (found.problems, found.exceeded) == ([], True)


@pytest.mark.parametrize("seed", SILENT_IN_UPSTREAM_BACKUP)
def test_what_is_lost_when_neighbours_in_upstream_backup_fail_together_is_reported(seed: int) -> None:
    found = run(seed, only="upstreamBackup")
    assert (found.problems, found.exceeded) == ([], True)


def test_windows_of_another_order_that_lack_nothing_are_no_loss() -> None:
    assert run(41980, only="upstreamBackup").problems == []


@pytest.mark.parametrize("seed", [30, 317])
def test_the_last_rows_of_a_union_may_fill_no_window(seed: int) -> None:
    found = run(seed, only="upstreamBackup")
    assert (found.problems, found.exceeded) == ([], False)


def test_input_of_which_nothing_was_made_is_not_reported_as_lost() -> None:
    assert run(1350).problems == []


def test_tuples_that_an_earlier_life_had_of_a_producer_that_had_begun_anew_are_not_reported_as_lost() -> None:
    found = run(1270, only="upstreamBackup")
    assert (found.problems, found.exceeded) == ([], False)


@pytest.mark.parametrize("seed", COUNTED_BY_NOBODY)
def test_what_was_lost_with_a_life_without_memory_is_not_asked_of_others(seed: int) -> None:
    assert run(seed).problems == []


def test_a_seed_tells_the_same_story_twice() -> None:
    first, second = run(17, tell=True), run(17, tell=True)
    assert (first.history, first.problems, first.faults) == (second.history, second.problems, second.faults)


def test_an_interrupted_exploration_goes_on_from_its_record(tmp_path: Path) -> None:
    record = tmp_path / "record"
    whole = explore(0, 4)
    explore(0, 2, record=record)
    lines = record.read_text().splitlines()
    assert len(lines) == 1
    record.write_text(record.read_text() + '{"first": 2, "se')  # cut off in the middle of a line
    assert explore(0, 2, record=record).seeds == 2
    assert whole.seeds == 4
