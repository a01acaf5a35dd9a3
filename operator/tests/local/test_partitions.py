"""Who is cut off from whom, and when."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from tests.local.jobs import job
from tests.local.test_decide import everyone, running
from understudy.local.run.partitions import Partition, Partitions, parse_partition


def parsed(text: str) -> Partition:
    found = parse_partition(text, job(), Random(1))
    assert isinstance(found, Partition), found
    return found


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("beats@primary|beats@standby", {("beats-0", "beats-1")}),
        ("strong|sink/alerts", {("strong-0", "sink-alerts"), ("strong-1", "sink-alerts")}),
        (
            "beats@primary|*",
            {("beats-0", other) for other in ("leases", "beats-1", "strong-0", "strong-1", "sink-alerts")},
        ),
    ],
)
def test_sides_are_subjobs_roles_sinks_or_everybody_else(text: str, pairs: set[tuple[str, str]]) -> None:
    assert parsed(f"{text}@5s+2s").pairs(running()) == pairs


def test_a_cut_begins_and_ends_and_does_not_follow_the_role() -> None:
    cuts = Partitions.of((parsed("beats@primary|beats@standby@5s+2s"),))
    assert list(cuts.news(running(at=4_900))) == []
    assert list(cuts.news(running(at=5_000))) == ["cut apart: beats@primary and beats@standby, for 2 s"]
    later = replace(running(at=6_000), holders={"strong": "strong-0", "beats": "beats-1"})
    assert list(cuts.news(later)) == []
    assert cuts.apart == [("beats-0", "beats-1")]
    assert list(cuts.news(running(at=7_000))) == ["mended: beats@primary and beats@standby"]
    assert cuts.apart == []


def test_a_cut_that_cannot_begin_yet_waits() -> None:
    cuts = Partitions.of((parsed("beats@primary|beats@standby@5s+2s"),))
    alone = tuple(s for s in everyone() if s.process.name != "beats-1")
    assert list(cuts.news(running(*alone))) == []


@pytest.mark.parametrize(
    "text", ["beats", "beats|strong", "beats|strong@5s", "*|beats@5s+1s", "beats|nobody@5s+1s"]
)
def test_nonsense_is_refused_with_a_sentence(text: str) -> None:
    found = parse_partition(text, job(), Random(1))
    assert isinstance(found, str)
    assert found.startswith(f"--partition {text}: ")
