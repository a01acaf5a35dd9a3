"""What the planner says of a recovery here, and when it warns or refuses."""

from __future__ import annotations

from datetime import timedelta

import pytest

from understudy.model.choice import IMPOSSIBLE, Choice, choose
from understudy.model.costs import Load, assumed_rates, loads
from understudy.model.ha import Ha, Heartbeat, Mode
from understudy.model.measured import CLOSED, COLD_START, FIRST, MICRO_BATCH
from understudy.model.plan import SubjobPlan, plan, warnings
from understudy.model.prediction import Takes, detection, predictions, takes
from understudy.model.validate import check
from understudy.model.value import show_size, show_time

from .manifests import ha, job, manifest, subjob

FILTER = '[{filter: {where: "mv > 1"}}]'
JOIN = '[{join: {with: pressure, on: "ecg.patient = pressure.patient", within: 1h}}]'


def window(size: str, slide: str) -> str:
    return f'[{{aggregate: {{window: {{on: ts, size: {size}, slide: {slide}}}, select: {{n: "count(*)"}}}}}}]'


def planned(text: str) -> SubjobPlan:
    plans = plan(job(text))
    assert not isinstance(plans, list), plans
    return plans["beats"]


def seconds(text: str, mode: Mode) -> float:
    return planned(text).modes[mode].prediction.recovery.total_seconds()


# ---- what is in a prediction -----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.AUTO])
def test_a_recovery_takes_at_least_its_detection_and_a_micro_batch(mode: Mode) -> None:
    for operators in (FILTER, window("1s", "100ms")):
        assert seconds(ha("{}", operators), mode) > CLOSED + MICRO_BATCH


def test_a_lost_node_is_noticed_by_the_keep_alives_that_are_missed() -> None:
    found = planned(ha("{heartbeat: {interval: 200ms, misses: 5}}"))
    assert found.detection.lost == timedelta(milliseconds=1_100)
    for entry in found.modes.values():
        later = entry.prediction.lost_node - entry.prediction.recovery
        assert later == found.detection.lost - found.detection.killed
    assert detection(Ha(heartbeat=Heartbeat(misses=4))).lost > detection(Ha()).lost


def test_every_element_takes_a_micro_batch() -> None:
    one, two = window("1s", "100ms"), f"[{window('1s', '100ms')[1:-1]}, {window('1s', '100ms')[1:-1]}]"
    for mode, batch in ((Mode.PASSIVE_STANDBY, FIRST * MICRO_BATCH), (Mode.ACTIVE_STANDBY, MICRO_BATCH)):
        more = seconds(ha("{}", two), mode) - seconds(ha("{}", one), mode)
        assert more == pytest.approx(batch, rel=0.05)


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode is not Mode.AUTO])
def test_where_micro_batches_take_longer_so_does_a_recovery(mode: Mode) -> None:
    one = job(ha("{}")).subjobs[0]
    load = loads(job(ha("{}")))["beats"]
    usual, slow = (predictions(one, load, batch)[mode].recovery for batch in (MICRO_BATCH, 3 * MICRO_BATCH))
    assert slow - usual >= timedelta(seconds=2 * MICRO_BATCH)


def test_only_modes_without_the_state_read_a_large_one_again() -> None:
    small, large = ha("{}", window("1s", "1s")), ha("{}", window("1h", "1h"))
    for mode in (Mode.UPSTREAM_BACKUP, Mode.SAVEPOINT):
        assert seconds(large, mode) > seconds(small, mode) + 0.5
    for mode in (Mode.PASSIVE_STANDBY, Mode.ACTIVE_STANDBY, Mode.REPLICA_BACKUP):
        assert seconds(large, mode) == pytest.approx(seconds(small, mode), abs=0.05)


def test_a_join_reads_its_selection_in_every_micro_batch() -> None:
    text = subjob(JOIN, inputs="[ecg, pressure]")
    for mode in (Mode.PASSIVE_STANDBY, Mode.ACTIVE_STANDBY):
        assert seconds(text, mode) > seconds(ha("{}"), mode) + 1


def test_a_cold_start_is_the_price_of_having_no_spare() -> None:
    cold, warm = (
        seconds(ha(f"{{mode: amnesia, spare: {spare}}}"), Mode.AMNESIA) for spare in ("false", "true")
    )
    assert cold > COLD_START > 10 * warm


def test_pods_cores_and_memory_are_those_of_all_instances_with_their_executors() -> None:
    spark = "spark: {driver: {cores: 2, memory: 3Gi}, executors: {instances: 4}}"
    found = planned(subjob(FILTER, rest=spark)).modes
    assert found[Mode.AMNESIA].prediction.takes == Takes(pods=5, cores=10, memory_mi=5 * 3072)
    assert found[Mode.ACTIVE_STANDBY].prediction.takes == Takes(pods=10, cores=20, memory_mi=10 * 3072)
    (one,) = job(ha("{mode: amnesia, spare: true}")).subjobs
    assert takes(one.ha, one.spark).pods == 2


# ---- rates that nobody declared --------------------------------------------------------------------------


def files(hint: str = "") -> str:
    sources = f'- {{name: log, files: {{path: in, schema: "v bigint, ts timestamp"{hint}}}}}'
    chain = """
- {name: first, inputs: [log], operators: [{filter: {where: "v > 1"}}]}
- name: beats
  inputs: [first]
  operators: [{aggregate: {window: {on: ts, size: 2h}, select: {n: "count(*)"}}}]
  ha: {mode: savepoint}
"""
    return manifest(sources=sources, subjobs=chain, sinks="- {name: out, input: beats, console: {}}")


def test_a_source_without_a_rate_is_named_wherever_it_is_counted_on() -> None:
    assert assumed_rates(job(files())) == {"first": {"log": 1000.0}, "beats": {"log": 1000.0}}
    assert assumed_rates(job(files(", rate: 20"))) == {"first": {}, "beats": {}}
    assert assumed_rates(job(manifest())) == {"beats": {}}


def test_a_declared_rate_is_what_is_planned_with() -> None:
    assert loads(job(files(", rate: 20")))["beats"].rate == 20
    assert seconds(files(", rate: 20"), Mode.SAVEPOINT) < seconds(files(), Mode.SAVEPOINT) / 2


# ---- what is too long ------------------------------------------------------------------------------------

DAY = ha("{mode: savepoint}", window("24h", "24h"))


def test_a_recovery_beyond_the_default_is_a_warning_that_says_so() -> None:
    (warning,) = warnings({"beats": planned(DAY)})
    assert "beats: savepoint is predicted to recover in" in warning
    assert "longer than 10 s, the default of ha.maxRecovery" in warning
    assert check(job(DAY)) == ()
    assert planned(ha("{}")).warning is None


def test_a_warning_names_the_rates_that_it_rests_on() -> None:
    warning = planned(files().replace("2h", "24h")).warning
    assert warning is not None
    assert "assumed: 1,000 tuples/s from log; write `rate` at the source if it has another" in warning


def test_auto_keeps_to_ten_seconds_where_it_can() -> None:
    found = planned(ha("{mode: auto}", window("24h", "24h")))
    assert found.modes[found.choice.mode].prediction.lost_node <= timedelta(seconds=10)
    assert found.warning is None
    assert "savepoint would cost" in found.choice.why


def test_auto_warns_where_no_mode_is_soon_enough() -> None:
    found = planned(subjob(JOIN.replace("1h", "24h"), inputs="[ecg, pressure]", rest="ha: {mode: auto}"))
    assert found.warning is not None
    assert "none recovers within 10 s" in found.choice.why


def test_amnesia_that_was_asked_for_is_no_warning() -> None:
    assert planned(ha("{mode: amnesia}")).warning is None
    assert planned(ha("{mode: amnesia, maxRecovery: 8s}")).warning is not None


@pytest.mark.parametrize(("share", "refused"), [(0.45, True), (0.55, False), (1.1, False)])
def test_admission_refuses_only_what_is_out_of_reach_by_more_than_the_prediction_may_be_wrong(
    share: float, refused: bool
) -> None:
    predicted = seconds(ha("{}"), Mode.PASSIVE_STANDBY)
    text = ha(f"{{maxRecovery: {round(predicted * share * 1000)}ms}}")
    assert bool(check(job(text))) is refused
    assert (planned(text).warning is not None) is True
    assert IMPOSSIBLE == 2


def test_a_job_that_runs_is_planned_whatever_its_recovery_time() -> None:
    assert planned(ha("{maxRecovery: 1ms}")).choice.mode is Mode.PASSIVE_STANDBY


def test_a_choice_is_made_from_the_predictions() -> None:
    load = Load(inputs=1, rate=1000, emitted=1000, state=0, effort=1)
    (one,) = job(ha("{mode: auto, maxRecovery: 480ms}")).subjobs
    choice = choose(one, load, "spec.subjobs[0]")
    assert isinstance(choice, Choice)
    assert predictions(one, load)[choice.mode].lost_node <= timedelta(milliseconds=480)


# ---- for people ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        *((0, "0 ms"), (46.4, "46 ms"), (999, "999 ms"), (999.7, "1 s"), (1_234, "1.2 s"), (59_960, "1 min")),
        *((84_000, "1 min 24 s"), (3_599_900, "1 h"), (11_100_000, "3 h 5 min"), (604_800_000, "7 days")),
    ],
)
def test_times_are_shown_in_the_units_of_people(ms: float, shown: str) -> None:
    assert show_time(timedelta(milliseconds=ms)) == shown


@pytest.mark.parametrize(("mebi", "shown"), [(800, "800 MiB"), (1024, "1 GiB"), (2560, "2.5 GiB")])
def test_sizes_are_shown_in_the_units_of_people(mebi: int, shown: str) -> None:
    assert show_size(mebi) == shown
