"""The tables of the paper, checked cell by cell, and what the planner makes of them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from understudy.model.choice import PLANNED, Choice, choose
from understudy.model.classes import OperatorClass
from understudy.model.costs import Load, costs, detection, loads
from understudy.model.guarantees import AVAILABLE, PRECISE, ROLLBACK, promise, promise_now
from understudy.model.ha import Guarantee, Ha, Mode
from understudy.model.refusal import Refusal

from .manifests import ha, job, manifest

TABLE_2 = """
passiveStandby   repeating repeating  repeating divergent
upstreamBackup   repeating convergent divergent divergent
activeStandby    repeating repeating  repeating divergent
"""


@pytest.mark.parametrize("line", TABLE_2.strip().splitlines())
def test_rollback_recovery_is_that_of_table_2(line: str) -> None:
    mode, *cells = line.split()
    assert [str(ROLLBACK[Mode(mode)][kind]) for kind in OperatorClass] == cells


def test_every_mode_and_class_has_a_promise() -> None:
    for mode in PLANNED:
        for kind in OperatorClass:
            assert promise(mode, kind).why


def test_amnesia_loses() -> None:
    assert {promise(Mode.AMNESIA, kind).guarantee for kind in OperatorClass} == {Guarantee.GAP}


@pytest.mark.parametrize("mode", [Mode.PASSIVE_STANDBY, Mode.ACTIVE_STANDBY, Mode.UPSTREAM_BACKUP])
def test_table_4_makes_every_class_precise(mode: Mode) -> None:
    assert set(PRECISE[mode]) == set(OperatorClass)
    assert {promise(mode, kind).guarantee for kind in OperatorClass} == {Guarantee.PRECISE}


def test_a_stronger_class_never_gets_a_weaker_promise() -> None:
    for mode in PLANNED:
        strengths = [promise(mode, kind).guarantee.strength for kind in OperatorClass]
        assert strengths == sorted(strengths, reverse=True)


def test_what_is_built_promises_no_more_than_the_paper() -> None:
    for mode in AVAILABLE:
        for kind in OperatorClass:
            now = promise_now(mode, kind)
            assert now is not None
            assert now.guarantee.strength <= promise(mode, kind).guarantee.strength
    assert promise_now(Mode.SAVEPOINT, OperatorClass.REPEATABLE) is None


# ---- costs -----------------------------------------------------------------------------------------------

AGGREGATE = Load(inputs=1, rate=1000, emitted=100, state=100, work=100e-6)
FILTER = Load(inputs=1, rate=1000, emitted=1000, state=0, work=10e-6)
FIFTY = Ha.model_validate({"checkpoint": {"interval": "50ms"}})


def test_the_defaults_of_table_5_give_about_what_table_6_measured() -> None:
    repeatable, convergent = costs(FILTER, FIFTY), costs(AGGREGATE, FIFTY)
    assert _ms(repeatable[Mode.PASSIVE_STANDBY].recovery) == pytest.approx(45.88, rel=0.05)
    assert _ms(convergent[Mode.PASSIVE_STANDBY].recovery) == pytest.approx(48.88, rel=0.05)
    assert repeatable[Mode.PASSIVE_STANDBY].bandwidth_overhead == pytest.approx(1.0127, abs=0.01)
    assert convergent[Mode.PASSIVE_STANDBY].bandwidth_overhead == pytest.approx(1.1155, abs=0.01)
    assert convergent[Mode.ACTIVE_STANDBY].bandwidth_overhead == pytest.approx(1.0096, abs=0.001)
    assert convergent[Mode.UPSTREAM_BACKUP].bandwidth_overhead == pytest.approx(0.0064 + 0.16, abs=0.001)
    assert _ms(convergent[Mode.UPSTREAM_BACKUP].recovery) == pytest.approx(69.86, rel=0.15)
    assert repeatable[Mode.AMNESIA].recovery == timedelta(0)


def test_detection_takes_two_and_a_half_keep_alives() -> None:
    assert detection(Ha()) == timedelta(milliseconds=250)


def test_rates_follow_the_streams() -> None:
    found = loads(job(manifest()))["beats"]
    assert (found.rate, found.emitted, found.state) == (500, 50, 100)


def _ms(duration: timedelta) -> float:
    return duration.total_seconds() * 1000


# ---- choosing --------------------------------------------------------------------------------------------


def chosen(text: str, operators: str = '[{filter: {where: "mv > 1"}}]') -> Choice | Refusal:
    (one,) = job(ha(text, operators)).subjobs
    return choose(one, FILTER, "spec.subjobs[0]")


@pytest.mark.parametrize(
    ("text", "mode", "guarantee"),
    [
        ("{}", Mode.PASSIVE_STANDBY, Guarantee.PRECISE),
        ("{mode: amnesia}", Mode.AMNESIA, Guarantee.GAP),
        ("{mode: amnesia, guarantee: gap}", Mode.AMNESIA, Guarantee.GAP),
        ("{mode: passiveStandby, guarantee: rollback}", Mode.PASSIVE_STANDBY, Guarantee.PRECISE),
        ("{mode: auto}", Mode.PASSIVE_STANDBY, Guarantee.PRECISE),
        ("{mode: auto, guarantee: gap}", Mode.AMNESIA, Guarantee.GAP),
        ("{mode: auto, guarantee: rollback, maxRecovery: 3s}", Mode.PASSIVE_STANDBY, Guarantee.PRECISE),
    ],
)
def test_a_mode_is_chosen_with_a_reason(text: str, mode: Mode, guarantee: Guarantee) -> None:
    choice = chosen(text)
    assert isinstance(choice, Choice)
    assert (choice.mode, choice.guarantee) == (mode, guarantee)
    assert choice.why


def test_without_a_guarantee_asked_for_a_random_subjob_takes_what_it_gets() -> None:
    choice = chosen("{}", "[{sample: {fraction: 0.5}}]")
    assert isinstance(choice, Choice)
    assert choice.guarantee is Guarantee.ROLLBACK
    assert "never identical" in choice.why
