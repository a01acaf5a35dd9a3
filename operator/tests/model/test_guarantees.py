"""The tables of the paper, checked cell by cell, and what the planner makes of them."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest

from understudy.model.choice import DEFAULT_BOUND, PLANNED, Choice, choose
from understudy.model.classes import OperatorClass
from understudy.model.classification import class_of
from understudy.model.costs import Load, costs, loads
from understudy.model.guarantees import (
    AVAILABLE,
    PRECISE,
    ROLLBACK,
    Addition,
    addition_of,
    promise,
    promise_now,
)
from understudy.model.ha import Guarantee, Ha, Mode
from understudy.model.job import Subjob
from understudy.model.prediction import predictions
from understudy.model.refusal import Refusal
from understudy.model.validate import check

from .manifests import ha, job, manifest

ONE_OF_EACH = (
    '[{filter: {where: "mv > 1"}}]',
    '[{aggregate: {window: {on: _seq, size: 10, slide: 5}, select: {n: "count(*)"}}}]',
    "[{sample: {fraction: 0.5}}]",
    '[{filter: {where: "rand() > mv and ts < now()"}}]',
    '[{filter: {where: "randn() > mv"}}]',
)
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


def test_the_implemented_guarantees_are_no_stronger_than_those_of_the_paper() -> None:
    subjobs = [job(ha("{}", operators)).subjobs[0] for operators in ONE_OF_EACH]
    assert {class_of(s).operator_class for s in subjobs} == set(OperatorClass) - {OperatorClass.DETERMINISTIC}
    for mode in AVAILABLE:
        for subjob in subjobs:
            now = promise_now(mode, subjob)
            paper = promise(mode, class_of(subjob).operator_class)
            assert now is None or now.guarantee.strength <= paper.guarantee.strength


TWICE = f"[{ONE_OF_EACH[1][1:-1]}, {ONE_OF_EACH[1][1:-1]}]"


@pytest.mark.parametrize("mode", [Mode.ACTIVE_STANDBY, Mode.UPSTREAM_BACKUP])
def test_determinants_make_precise_only_what_a_batch_plan_chooses(mode: Mode) -> None:
    given = (Guarantee.PRECISE, Guarantee.PRECISE, Guarantee.ROLLBACK)
    for operators, guarantee in zip(ONE_OF_EACH[2:], given, strict=True):
        promised = promise_now(mode, job(ha("{}", operators)).subjobs[0])
        assert promised is not None
        assert promised.guarantee is guarantee


def test_upstream_backup_logs_steps_where_watermarks_do_not_lead_through() -> None:
    single, several = (job(ha("{}", text)).subjobs[0] for text in (ONE_OF_EACH[1], TWICE))
    assert addition_of(Mode.UPSTREAM_BACKUP, single) is Addition.HIGH_WATERMARKS
    assert addition_of(Mode.UPSTREAM_BACKUP, several) is Addition.DETERMINANTS


def test_elements_that_share_a_stream_are_precise_in_upstream_backup() -> None:
    few = '{name: few, inputs: [ecg], operators: [{filter: {where: "mv > 1"}}]}'
    elements = f"[{few}, {{name: both, inputs: [ecg, few], operators: [{{union: {{}}}}]}}]"
    subjobs = f"- {{name: beats, inputs: [ecg], elements: {elements}, ha: {{mode: upstreamBackup}}}}"
    (subjob,) = job(manifest(subjobs=subjobs)).subjobs
    promised = promise_now(Mode.UPSTREAM_BACKUP, subjob)
    assert promised is not None
    assert promised.guarantee is Guarantee.PRECISE
    assert addition_of(Mode.UPSTREAM_BACKUP, subjob) is Addition.DETERMINANTS


def test_replicas_and_savepoints_number_alike_or_not_at_all() -> None:
    random = job(ha("{}", ONE_OF_EACH[2])).subjobs[0]
    assert promise_now(Mode.REPLICA_BACKUP, random) is None
    assert promise_now(Mode.SAVEPOINT, random) is None


# ---- costs -----------------------------------------------------------------------------------------------

AGGREGATE = Load(inputs=1, rate=1000, emitted=100, state=100, effort=10)
FILTER = Load(inputs=1, rate=1000, emitted=1000, state=0, effort=1)
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


def test_a_log_of_steps_costs_bits_for_each_tuple_and_ids_for_each_message() -> None:
    watermarks, logged = (costs(FILTER, FIFTY, logs=logs)[Mode.UPSTREAM_BACKUP] for logs in (False, True))
    assert logged.bandwidth_overhead == pytest.approx(0.0064 + (1000 / 8 + 7 * 8 * 50) / 50_000)
    assert logged.recovery == watermarks.recovery


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
        ("{mode: auto}", Mode.SAVEPOINT, Guarantee.PRECISE),
        ("{mode: auto, guarantee: gap}", Mode.SAVEPOINT, Guarantee.PRECISE),
        ("{mode: auto, guarantee: gap, maxRecovery: 1m}", Mode.AMNESIA, Guarantee.GAP),
        ("{mode: auto, guarantee: rollback, maxRecovery: 3s}", Mode.SAVEPOINT, Guarantee.PRECISE),
        ("{mode: auto, guarantee: rollback, maxRecovery: 490ms}", Mode.ACTIVE_STANDBY, Guarantee.PRECISE),
    ],
)
def test_a_mode_is_chosen_with_a_reason(text: str, mode: Mode, guarantee: Guarantee) -> None:
    choice = chosen(text)
    assert isinstance(choice, Choice)
    assert (choice.mode, choice.guarantee) == (mode, guarantee)
    assert choice.why


def test_a_random_subjob_is_precise_because_only_checkpointed_tuples_are_forwarded() -> None:
    choice = chosen("{}", "[{sample: {fraction: 0.5}}]")
    assert isinstance(choice, Choice)
    assert choice.guarantee is Guarantee.PRECISE
    assert "checkpointed" in choice.why


LARGE = Load(inputs=1, rate=1000, emitted=0.001, state=2_000_000, effort=1)
"""A window that closes seldom."""
WIDE = Load(inputs=1, rate=1000, emitted=10, state=10_000_000, effort=100)


def auto(text: str) -> Subjob:
    (one,) = job(ha(text)).subjobs
    return one


def test_auto_says_which_cheaper_mode_would_be_too_slow() -> None:
    found = choose(auto("{mode: auto, guarantee: precise, maxRecovery: 1s}"), LARGE, "spec.subjobs[0]")
    assert isinstance(found, Choice)
    assert found.mode is Mode.PASSIVE_STANDBY
    assert "recovers within 1 s" in found.why
    assert "upstreamBackup would cost" in found.why


def test_auto_says_what_its_choice_costs_and_what_a_faster_mode_would() -> None:
    found = choose(auto("{mode: auto}"), LARGE, "spec.subjobs[0]")
    assert isinstance(found, Choice)
    assert re.search(
        r"\+\d+(\.\d)?% bandwidth, recovery [\d.]+ m?s, or [\d.]+ m?s after the loss of a node; ", found.why
    )
    assert re.search(r"; passiveStandby would recover in \d+ ms, for \+\d+%$", found.why)


def test_auto_takes_the_quickest_mode_where_none_is_soon_enough() -> None:
    found = choose(auto("{mode: auto}"), WIDE, "spec.subjobs[0]")
    assert isinstance(found, Choice)
    forecast = predictions(auto("{mode: auto}"), WIDE)
    precise = [mode for mode in PLANNED if mode is not Mode.AMNESIA]
    assert all(forecast[mode].lost_node > DEFAULT_BOUND for mode in precise)
    assert forecast[found.mode].lost_node == min(forecast[mode].lost_node for mode in precise)
    assert "none recovers within 10 s (the default of maxRecovery)" in found.why


@pytest.mark.parametrize("before", PLANNED)
@pytest.mark.parametrize("behind", PLANNED)
def test_any_mode_may_read_any_other(before: Mode, behind: Mode) -> None:
    same = 'operators: [{filter: {where: "mv > 1"}}]'
    subjobs = f"""
- {{name: first, inputs: [ecg], {same}, ha: {{mode: {before}}}}}
- {{name: beats, inputs: [first], {same}, ha: {{mode: {behind}}}}}
"""
    assert check(job(manifest(subjobs=subjobs))) == ()
