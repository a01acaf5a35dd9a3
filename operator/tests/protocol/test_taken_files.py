"""The record of taken files: the order, late files, and its size."""

from __future__ import annotations

import pytest

from understudy.protocol.ids import Seq
from understudy.protocol.taken_files import (
    FORMAT,
    MOST_SPANS,
    Found,
    Span,
    TakenFiles,
    changed,
    late,
    settled,
    within,
)


def folder(*names: str, size: int = 10) -> list[Found]:
    return [Found(name, size) for name in sorted(names)]


def taken(*names: str) -> TakenFiles:
    return TakenFiles().taking([Span(name, rows=3, size=10) for name in names])


def test_files_are_numbered_one_after_the_other() -> None:
    placed = [(first, after, span.last) for first, after, span in taken("a", "b").placed()]
    assert placed == [(0, "", "a"), (3, "a", "b")]
    assert taken("a", "b").rows == Seq(6)


@pytest.mark.parametrize("name", ["0", "aa", "ba"])
def test_a_file_with_a_name_before_a_taken_one_is_late(name: str) -> None:
    assert name in str(late(taken("a", "b", "c"), folder("a", "b", "c", name)))


def test_a_file_with_a_name_after_all_taken_ones_is_not_late() -> None:
    assert late(taken("a", "b"), folder("a", "b", "c")) is None


def test_taken_files_may_be_removed() -> None:
    assert late(taken("a", "b", "c"), folder("c")) is None


def test_a_long_record_is_shortened_and_numbers_the_same() -> None:
    names = [f"{n:06}" for n in range(10 * MOST_SPANS)]
    found = TakenFiles()
    for name in names:
        found = found.taking([Span(name, rows=2, size=10)])
    assert len(found.spans) <= MOST_SPANS
    assert found.rows == Seq(2 * len(names))
    files = folder(*names)
    for first, after, span in found.placed():
        assert within(files, after, span)[0].name == names[first // 2]
    assert [span.files for span in found.spans[-10:]] == [1] * 10
    assert late(found, files) is None


def test_a_late_file_is_noticed_among_files_that_were_merged() -> None:
    names = [f"{n:06}" for n in range(10 * MOST_SPANS)]
    found = TakenFiles().taking([Span(name, rows=2, size=10) for name in names])
    assert found.spans[0].files > 1
    assert late(found, folder(*names, "000000a")) is not None


def test_a_file_that_has_another_size_has_changed() -> None:
    (_, _, span), *_ = taken("a").placed()
    assert changed(span, folder("a")) is None
    assert "11 bytes now" in str(changed(span, folder("a", size=11)))
    assert "gone" in str(changed(span, []))


def test_a_listing_that_misses_an_earlier_file_is_completed_by_the_next() -> None:
    first, second = folder("a", "c"), folder("a", "b", "c", "d")
    assert [f.name for f in settled(first, second, after="a")] == ["b", "c"]


def test_the_record_survives_its_bytes() -> None:
    record = taken("a", "b").taking([Span("c", 0, 4)], bad=["c"]).ending()
    assert FORMAT.from_bytes(FORMAT.to_bytes(record)) == record
