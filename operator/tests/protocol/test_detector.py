"""Who is suspected, and who is only slow."""

from __future__ import annotations

from dataclasses import replace

from understudy.protocol.detector import CALM, TAU_LIMIT, Detector
from understudy.protocol.ids import Millis

FRESH = Detector.of(100, 3)


def ticked(detector: Detector, *times: int) -> Detector:
    for now in times:
        detector = detector.on_tick(Millis(now))
    return detector


def test_nobody_is_suspected_before_the_first_keep_alive() -> None:
    assert not ticked(FRESH, 0, 20, 40).suspects(Millis(10_000))


def test_silence_longer_than_three_intervals_makes_a_suspect() -> None:
    heard = FRESH.on_keep_alive(Millis(1_000))
    regular = ticked(heard, *range(1_000, 1_301, 20))
    assert not regular.suspects(Millis(1_300))
    assert ticked(regular, 1_320).suspects(Millis(1_320))


def test_the_last_keep_alive_may_be_late_by_its_grace() -> None:
    heard = Detector.of(100, 3, grace=80).on_keep_alive(Millis(1_000))
    regular = ticked(heard, *range(1_000, 1_381, 20))
    assert not regular.suspects(Millis(1_380))
    assert ticked(regular, 1_400).suspects(Millis(1_400)), "within three intervals and one"
    again = regular.on_false_suspicion().on_keep_alive(Millis(1_400))
    assert (again.tau, again.first) == (570, 380)


def test_time_in_which_we_did_not_run_is_no_silence() -> None:
    heard = ticked(FRESH.on_keep_alive(Millis(1_000)), 1_000, 1_020)
    woken = ticked(heard, 3_000)
    assert not woken.suspects(Millis(3_000))
    later = ticked(woken, *range(3_020, 3_301, 20))
    assert later.suspects(Millis(3_300))


def test_only_what_came_after_the_last_keep_alive_counts_as_stalled() -> None:
    woken = ticked(FRESH.on_keep_alive(Millis(4_950)), 500, 5_000)
    assert woken.heard == Millis(4_950)


def test_each_false_suspicion_makes_it_more_patient_up_to_a_limit() -> None:
    detector = FRESH
    seen = []
    for _ in range(20):
        detector = detector.on_false_suspicion()
        seen.append(detector.tau)
    assert seen[0] == 450
    assert seen == sorted(seen)
    assert seen[-1] == 300 * TAU_LIMIT


def test_a_long_time_without_a_suspicion_makes_it_as_quick_as_before() -> None:
    detector = FRESH.on_false_suspicion().on_false_suspicion()
    seen = [detector.tau]
    for n in range(3 * CALM):
        detector = detector.on_keep_alive(Millis(100 * n))
        seen.append(detector.tau)
    assert sorted(set(seen), reverse=True) == [675, 450, FRESH.tau]
    assert detector.tau == FRESH.tau
    assert seen[CALM] == seen[0], "one step back takes its time"


def test_the_same_settings_said_again_do_not_make_it_less_patient() -> None:
    patient = Detector.of(100, 3).on_false_suspicion().on_keep_alive(Millis(1_000))
    assert patient.retuned(FRESH) == patient
    assert patient.retuned(Detector.of(50, 4)) == replace(Detector.of(50, 4), heard=Millis(1_000))
