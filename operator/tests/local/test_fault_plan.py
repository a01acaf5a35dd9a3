"""`--kill` and `--stop` say whom and when, or are refused with a sentence."""

from __future__ import annotations

from random import Random

import pytest

from tests.local.jobs import TWO_SUBJOBS, job
from understudy.local.run.fault_plan import (
    Fault,
    Harm,
    Target,
    parse_hang,
    parse_kill,
    parse_overload,
    parse_stop,
)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("beats@15s", Fault("beats", Target.PRIMARY, 15_000)),
        ("beats@primary@500ms", Fault("beats", Target.PRIMARY, 500)),
        ("strong@standby@1.5s", Fault("strong", Target.STANDBY, 1_500)),
        ("strong@protected@1.5s", Fault("strong", Target.PROTECTED, 1_500)),
        ("strong@recovering@1.5s", Fault("strong", Target.RECOVERING, 1_500)),
        ("strong@joining@1.5s", Fault("strong", Target.JOINING, 1_500)),
        ("alerts@2s", Fault("alerts", Target.SINK, 2_000)),
        ("sink/alerts@2s", Fault("alerts", Target.SINK, 2_000)),
        ("beats@0s", Fault("beats", Target.PRIMARY, 0)),
    ],
)
def test_what_a_kill_means(text: str, fault: Fault) -> None:
    assert parse_kill(text, job(), Random(1)) == fault


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("beats", "write SUBJOB@TIME"),
        ("beats@", "write SUBJOB@TIME"),
        ("beats@soon", "write SUBJOB@TIME"),
        ("beats@-5s", "write SUBJOB@TIME"),
        ("beats@20s-10s", "write SUBJOB@TIME"),
        ("beats@primary@standby@5s", "write SUBJOB@TIME"),
        ("beast@5s", "did you mean beats?"),
        ("beats@boss@5s", "nobody to hurt"),
        ("alerts@primary@5s", "nobody to hurt"),
        ("", "write SUBJOB@TIME"),
        ("@@", "write SUBJOB@TIME"),
    ],
)
def test_an_impossible_fault_is_refused_with_a_sentence(text: str, word: str) -> None:
    refusal = parse_kill(text, job(), Random(1))
    assert isinstance(refusal, str)
    assert word in refusal
    assert text in refusal


def test_a_moment_in_between_comes_from_the_seed() -> None:
    drawn = [parse_kill("beats@10s-20s", job(), Random(7)) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert isinstance(drawn[0], Fault)
    assert 10_000 <= drawn[0].at_ms <= 20_000
    assert parse_kill("beats@10s-20s", job(), Random(8)) != drawn[0]


def test_a_stop_has_a_length() -> None:
    assert parse_stop("beats@standby@5s+300ms", job(), Random(1)) == Fault(
        "beats", Target.STANDBY, 5_000, 300
    )
    for text in ("beats", "beats@5s+", "beats@5s+0s", "+2s", "beast@5s+2s"):
        refusal = parse_stop(text, job(), Random(1))
        assert isinstance(refusal, str)
        assert refusal.startswith(f"--stop {text}: ")


def test_a_stop_without_a_length_is_long_enough_to_be_noticed() -> None:
    assert parse_stop("beats@5s", job(), Random(1)) == Fault("beats", Target.PRIMARY, 5_000, 3_000)
    slow = job(TWO_SUBJOBS.replace("ha: {mode: MODE}", "ha: {heartbeat: {interval: 1s, misses: 4}}"))
    assert parse_stop("strong@5s", slow, Random(1)) == Fault("strong", Target.PRIMARY, 5_000, 8_000)
    assert parse_stop("sink/alerts@5s", slow, Random(1)) == Fault("alerts", Target.SINK, 5_000, 3_000)


def test_an_overload_without_a_length_lasts_twenty_seconds() -> None:
    assert parse_overload("beats@5s", job(), Random(1)) == Fault(
        "beats", Target.PRIMARY, 5_000, 20_000, Harm.THROTTLE
    )
    assert parse_overload("beats@5s+8s", job(), Random(1)) == Fault(
        "beats", Target.PRIMARY, 5_000, 8_000, Harm.THROTTLE
    )


def test_a_hang_stops_the_jvm_alone_and_for_longer_than_the_engine_timeout() -> None:
    assert parse_hang("beats@5s", job(), Random(1)) == Fault(
        "beats", Target.PRIMARY, 5_000, 20_000, Harm.HANG
    )
    patient = job(TWO_SUBJOBS.replace("ha: {mode: MODE}", "ha: {engineTimeout: 30s}"))
    assert parse_hang("strong@5s", patient, Random(1)) == Fault(
        "strong", Target.PRIMARY, 5_000, 60_000, Harm.HANG
    )
    assert parse_hang("strong@standby@5s+9s", patient, Random(1)) == Fault(
        "strong", Target.STANDBY, 5_000, 9_000, Harm.HANG
    )
    refused = parse_hang("sink/alerts@5s", job(), Random(1))
    assert refused == "--hang sink/alerts@5s: a sink has no JVM; write a subjob, such as strong@15s"
