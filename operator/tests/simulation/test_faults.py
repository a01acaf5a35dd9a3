"""Exploration finds no broken promise in the core, and does find mistakes that are put into it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.simulation.mistakes import BY_TIME_OR_CAUSE, MISTAKES, Mistake
from understudy_lab.exploration.explore import explore, first_caught
from understudy_lab.exploration.fault import Fault
from understudy_lab.exploration.fault_schedules import run
from understudy_lab.simulation.world import MS

SEEDS = int(os.environ.get("UNDERSTUDY_SEEDS", "2000" if os.environ.get("CI") else "200"))
PARTS = 4
WITHIN = 500  # seeds
EXCUSED = (5961, 9240, 12098, 13547, 16644, 18553, 82770)
"""Here a subjob waits for a neighbour that no longer acks, or that no instance runs."""
BEYOND = (6810, 12328, 12633, 23085, 70846, 76148, 88138)
"""Divergent windows, a consumer that lost its position or is replaced too soon, a fenced standby."""
SILENT = (629, 814, 956, 1008, 1301, 1872, 11525, 16801, 17967, 44802, 58477)
"""Here losses were silent once, as when consumers took the tuples of a restarted life for known ones."""
SILENT_IN_UPSTREAM_BACKUP = (96, 192, 280, 430, 42459)
"""Neighbours fail together, with and without a log."""
LOST_WITH_AMNESIA = (414, 2743)
"""A consumer fails after its producer in amnesia mode."""


@pytest.mark.parametrize("part", range(PARTS))
def test_no_promise_is_broken(part: int) -> None:
    report = explore(part * SEEDS // PARTS, SEEDS // PARTS)
    assert not report.failures, report.text()


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.says)
def test_a_mistake_is_caught_within_500_seeds(mistake: Mistake) -> None:
    """The seed that caught it before is tried first. Without the mistake that seed has no finding."""
    assert mistake.seen < WITHIN
    found = first_caught(mistake.cores, 1, mistake.mode, mistake.seen) or first_caught(
        mistake.cores, WITHIN, mistake.mode
    )
    assert found is not None, f"not noticed: {mistake.says}"
    sound = run(found.seed, None, mistake.mode, weather=found.weather)
    assert sound.problems == [], f"seed {found.seed} has a finding without the mistake"


@pytest.mark.parametrize("mistake", BY_TIME_OR_CAUSE, ids=lambda m: m.says)
def test_the_right_output_at_the_wrong_time_or_without_a_cause_is_a_finding(
    mistake: Mistake,
) -> None:
    found = first_caught(mistake.cores, 1, mistake.mode, mistake.seen) or first_caught(
        mistake.cores, WITHIN, mistake.mode
    )
    assert found is not None
    words = ("nothing had happened", "no standby took over", "when all is quiet", "neither took place")
    assert all(any(word in problem for word in words) for problem in found.problems), found.problems


@pytest.mark.parametrize("seed", EXCUSED)
def test_a_subjob_may_wait_for_a_neighbour_that_does_not_answer(seed: int) -> None:
    assert run(seed).problems == []


def test_a_batch_begun_under_an_overload_ends_soon_after_it() -> None:
    assert run(8220).problems == []


@pytest.mark.parametrize("seed", BEYOND)
def test_a_mode_is_held_to_its_promise_and_not_to_more(seed: int) -> None:
    assert run(seed).problems == []


def test_a_backup_of_a_renumbered_queue_leaves_no_gap() -> None:
    """The queue's seqs begin after the input that the consumer's backup covers. The tuples that the consumer
    lacks are sent again under the new seqs."""
    found = run(4895)
    assert found.problems == []
    both = run(4895, faults=[*found.faults, Fault(680 * MS, "together", "j1", 100 * MS, True, "j2")])
    assert (both.problems, both.exceeded) == ([], False)


def test_a_primary_that_moved_with_its_position_has_not_failed_together_with_its_producer() -> None:
    found = run(97807)
    assert (found.problems, found.exceeded) == ([], False)


def test_a_replaced_primary_cannot_end_its_stream() -> None:
    assert run(20733).problems == []


def test_a_primary_that_steps_down_while_the_lease_store_is_away_does_not_win_the_lease_later() -> None:
    assert run(50142).problems == []


def test_acks_to_a_replica_that_joins_are_heard_when_it_serves() -> None:
    assert run(90604).problems == []


def test_a_subscription_that_was_meant_for_an_earlier_epoch_does_not_count_in_a_roll_call() -> None:
    assert run(230607, only="upstreamBackup").problems == []


def test_a_consumer_that_begins_at_the_newest_tuple_is_served_from_its_place_in_the_roll_call() -> None:
    assert run(232214, only="amnesia").problems == []


@pytest.mark.parametrize("seed", SILENT)
def test_losses_beyond_a_modes_promise_are_reported(seed: int) -> None:
    found = run(seed)
    assert (found.problems, found.exceeded) == ([], True)


@pytest.mark.parametrize("seed", SILENT_IN_UPSTREAM_BACKUP)
def test_losses_are_reported_if_neighbours_in_upstream_backup_fail_together(seed: int) -> None:
    found = run(seed, only="upstreamBackup")
    assert (found.problems, found.exceeded) == ([], True)


def test_windows_over_another_order_of_the_same_tuples_are_no_loss() -> None:
    assert run(41980, only="upstreamBackup").problems == []


@pytest.mark.parametrize("seed", [30, 317])
def test_the_last_rows_of_a_union_may_fill_no_window(seed: int) -> None:
    found = run(seed, only="upstreamBackup")
    assert (found.problems, found.exceeded) == ([], False)


def test_input_that_gave_no_output_is_not_reported_as_lost() -> None:
    assert run(1350).problems == []


def test_tuples_that_an_earlier_life_received_of_a_diverged_stream_are_not_reported_as_lost() -> None:
    found = run(1270, only="upstreamBackup")
    assert (found.problems, found.exceeded) == ([], False)


@pytest.mark.parametrize("seed", LOST_WITH_AMNESIA)
def test_a_consumer_need_not_report_tuples_that_its_amnesiac_producer_lost(seed: int) -> None:
    assert run(seed).problems == []


def test_a_seed_gives_the_same_history_twice() -> None:
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
