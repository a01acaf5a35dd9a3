"""When a subjob is given up, and what is done then. Processes that keep ending are tested beside `local`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from understudy.control.giving_up import Attempt, give_up, kills_of, why_given_up
from understudy.protocol.failures import (
    ActivateElsewhere,
    AlternativeBranch,
    FailureProcess,
    Handling,
    Means,
    MigrateFromBackup,
    Report,
)

PLACE = {"ecg": (1_200, 1_250)}
KILLED = Attempt("s-0", "signal 9", True, True, True, True, {"in ecg": 1_200}, True, PLACE)


@pytest.mark.parametrize(
    ("means", "started", "covered", "done"),
    [
        (Means("n2", "coarse", True), True, False, MigrateFromBackup),
        (Means("n2", "coarse", True), False, False, ActivateElsewhere),
        (Means("n2"), True, True, MigrateFromBackup),
        (Means(None, "coarse", True), True, False, AlternativeBranch),
        (Means(None, None, True), True, False, FailureProcess),
        (Means(None), True, False, Report),
        (Means(None, "coarse", True), True, True, Report),
        (Means(None, None, True), False, True, Report),
    ],
)
def test_a_subjob_that_runs_on_is_not_given_up(
    means: Means, started: bool, covered: bool, done: type[Handling]
) -> None:
    found = give_up("its node is gone", started=started, covered=covered, means=means)
    assert type(found) is done
    assert found.why.startswith("its node is gone")
    assert found.why.endswith("it runs on without a standby") == (covered and done is Report)


def test_kills_count_since_an_instance_last_caught_up() -> None:
    behind, standby = replace(KILLED, caught_up=False), replace(KILLED, led=False, processed=False)
    serves = replace(KILLED, ended=None, out_of_memory=False)
    parallel = replace(standby, processed=True)
    for attempts, count in (
        ([KILLED], 1),
        ([KILLED, KILLED], 1),
        ([KILLED, behind, behind], 3),
        ([KILLED, parallel], 2),
        ([KILLED, standby], 1),
        ([KILLED, behind, serves], 0),
        ([KILLED, serves, behind], 1),
    ):
        assert kills_of(attempts).count == count, attempts
    assert kills_of([KILLED]).place == PLACE


def test_who_was_ended_by_somebody_else_is_no_reason_to_give_up() -> None:
    crashed = replace(KILLED, was_ready=False)
    assert why_given_up([crashed, replace(crashed, ended=None)]) is None
    given_up = why_given_up([crashed, replace(crashed, name="s-1")])
    assert given_up is not None
    assert given_up.why == "s-1 ended with signal 9 before it was ready, not the first to"
