"""Which files of a folder a source has taken, and how many tuples each has.

Files are numbered in the order of their names. The names alone are not enough: a file with a smaller name may
appear after a greater one was taken, and an instance that starts then would number it first. So taking is a
choice of the job that is kept: an instance writes down the files before any instance reads them, by
compare-and-set. Tuple n is then the same for every instance, and a file that appears too late is noticed.

The record stays small: spans of old files are merged. A merged span has a number of files, of tuples and of
bytes; the folder says which files they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from understudy.protocol.ids import Seq
from understudy.protocol.versioned import Format, Wire

MOST_SPANS: Final = 400
MOST_BAD: Final = 100


@dataclass(frozen=True, slots=True)
class Found:
    """A file of the folder."""

    name: str
    size: int


@dataclass(frozen=True, slots=True)
class Span(Wire):
    """The taken files whose names are after those of the span before, up to `last`."""

    last: str
    rows: int
    size: int
    files: int = 1

    def followed_by(self, other: Span) -> Span:
        return Span(other.last, self.rows + other.rows, self.size + other.size, self.files + other.files)


@dataclass(frozen=True, slots=True)
class TakenFiles(Wire):
    spans: tuple[Span, ...] = ()
    bad: tuple[str, ...] = ()
    """Files that could not be read and have no tuples. Spans contain them."""
    ended: bool = False
    """No file is taken any more."""

    @property
    def rows(self) -> Seq:
        return Seq(sum(span.rows for span in self.spans))

    @property
    def last(self) -> str:
        """Every file up to this name was taken, or is late. Empty before the first."""
        return self.spans[-1].last if self.spans else ""

    def taking(self, files: Sequence[Span], bad: Sequence[str] = ()) -> TakenFiles:
        return replace(self, spans=_merged((*self.spans, *files)), bad=(*self.bad, *bad))

    def ending(self) -> TakenFiles:
        return replace(self, ended=True)

    def placed(self) -> Iterator[tuple[Seq, str, Span]]:
        """Each span with the seq of its first tuple and the last name of the span before."""
        first, after = Seq(0), ""
        for span in self.spans:
            yield first, after, span
            first, after = Seq(first + span.rows), span.last


def within(folder: Sequence[Found], after: str, span: Span) -> list[Found]:
    """The files of the folder that have a name in the span."""
    return [file for file in folder if after < file.name <= span.last]


def late(taken: TakenFiles, folder: Sequence[Found]) -> str | None:
    """A sentence about files that appeared after a file with a greater name was taken. Taken files may be
    gone."""
    for _, after, span in taken.placed():
        files = within(folder, after, span)
        if span.files == 1 and (others := [f.name for f in files if f.name != span.last]):
            return f"{others[0]} appeared after {span.last} was taken, which has a greater name"
        if len(files) > span.files:
            where = f"after {after} and up to {span.last}" if after else f"up to {span.last}"
            return f"{len(files)} files have names {where}, and only {span.files} were taken"
    return None


def changed(span: Span, files: Sequence[Found]) -> str | None:
    """A sentence if these are not the files that were taken."""
    size = sum(file.size for file in files)
    if len(files) == span.files and size == span.size:
        return None
    if span.files == 1:
        is_now = f"has {files[0].size} bytes now" if files else "is gone"
        return f"{span.last} had {span.size} bytes when it was taken, and {is_now}"
    had = f"{span.files} files up to {span.last} had {span.size} bytes when they were taken"
    return f"{had}, and {len(files)} files have {size} bytes now"


def settled(first: Sequence[Found], second: Sequence[Found], after: str) -> list[Found]:
    """The files to take, from two listings of the folder, the second made after the first. A listing that is
    under way while two files are renamed into place may show only the later one. But the second listing shows
    all files that were in place before a file of the first."""
    greatest = max((file.name for file in first), default="")
    return sorted((f for f in second if after < f.name <= greatest), key=lambda file: file.name)


def _merged(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Merges neighbours in the older half, as often as it takes."""
    while len(spans) > MOST_SPANS:
        half = MOST_SPANS // 2
        older = [a.followed_by(b) for a, b in list(pairwise(spans[:half]))[::2]]
        spans = (*older, *spans[half:])
    return spans


FORMAT: Final = Format[TakenFiles]("the record of taken files", (1, 0), {"taken": TakenFiles}, brief=True)
