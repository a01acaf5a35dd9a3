"""A folder of files as a numbered stream: which files are taken next, and the rows of those that were taken.

`protocol/taken_files.py` decides the order; this module looks at the folder and reads. It has no thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import structlog
from pyarrow import fs

from understudy.model.sources import Format, OnBadFile
from understudy.protocol.ids import Range, Seq
from understudy.protocol.taken_files import (
    FORMAT,
    MOST_BAD,
    Found,
    Span,
    TakenFiles,
    changed,
    late,
    settled,
    within,
)
from understudy.protocol.versioned import NotUnderstood
from understudy.sources.choices import Choices
from understudy.sources.formats import BadFile, batches, count

log = structlog.get_logger()
FILES_AT_ONCE: Final = 50
ROWS_AT_ONCE: Final = 1_000_000


class Trouble(Exception):
    """The stream can't continue now. The text is a sentence for people; another look may find it solved."""


@dataclass(frozen=True, slots=True)
class Known:
    """The record of taken files as it was read, to be compared when it is replaced."""

    text: str | None
    taken: TakenFiles


@dataclass(frozen=True, slots=True)
class Rules:
    """How a folder is read: the fields of the manifest."""

    format: Format
    watch: bool
    on_bad_record: OnBadFile
    limit: int | None
    event_time: str | None


class Folder:
    """`schema`: the payload columns."""

    def __init__(self, rules: Rules, schema: pa.Schema, path: Path, choices: Choices) -> None:
        self._rules, self._schema, self._choices = rules, schema, choices
        self._path = str(path)
        self._fs = fs.LocalFileSystem()
        self._said: str | None = None

    def known(self) -> Known:
        """Raises Unreachable, and Trouble if another version wrote the record."""
        text = self._choices.read()
        taken = FORMAT.from_bytes(text.encode()) if text is not None else TakenFiles()
        if isinstance(taken, NotUnderstood):
            raise Trouble(taken.why)
        return Known(text, taken)

    def take(self, known: Known) -> bool:
        """Takes the files that come next, or ends the stream. False: there are none yet. Another reader may
        take at the same time: the caller reads the record again. Raises Trouble, Unreachable."""
        if self._limit_reached(known.taken):
            return self._write(known, known.taken.ending())
        first = self._list()
        self._judge_late(known.taken, first)
        new = settled(first, self._list(), known.taken.last)
        if not new:
            return not self._rules.watch and self._write(known, known.taken.ending())
        return self._write(known, self._taking(known.taken, new))

    def rows(self, taken: TakenFiles, wanted: Range) -> Iterator[pa.Table]:
        """Numbered tuples, a batch at a time. Raises Trouble."""
        for first, after, span in taken.placed():
            if first < wanted.stop and first + span.rows > wanted.start:
                yield from self._span(first, after, span, taken, wanted)

    def end(self, taken: TakenFiles) -> Seq:
        """The seq after the last tuple that was taken."""
        limit = self._rules.limit
        return taken.rows if limit is None else Seq(min(limit, taken.rows))

    @property
    def nothing(self) -> pa.Table:
        """Numbered tuples, none of them."""
        return self._numbered(Seq(0), self._schema.empty_table())

    # --- taking

    def _limit_reached(self, taken: TakenFiles) -> bool:
        return self._rules.limit is not None and taken.rows >= self._rules.limit

    def _taking(self, taken: TakenFiles, new: list[Found]) -> TakenFiles:
        """Counts the files. The first bad one is met again at the next look, if any come before it."""
        spans, bad = list[Span](), list[str]()
        for file in new[:FILES_AT_ONCE]:
            try:
                spans.append(Span(file.name, self._count(file), file.size))
            except BadFile as error:
                if self._fails(taken, bad) and not spans:
                    raise Trouble(self._bad(file.name, str(error))) from error
                if self._fails(taken, bad):
                    break
                log.warning("file skipped", file=f"{self._path}/{file.name}", why=str(error))
                spans.append(Span(file.name, 0, file.size))
                bad.append(file.name)
            if sum(span.rows for span in spans) >= ROWS_AT_ONCE:
                break
        return taken.taking(spans, bad)

    def _fails(self, taken: TakenFiles, bad: list[str]) -> bool:
        """The record names at most MOST_BAD bad files."""
        return self._rules.on_bad_record is OnBadFile.FAIL or len(taken.bad) + len(bad) >= MOST_BAD

    def _count(self, file: Found) -> int:
        with self._open(file.name) as opened:
            if opened.size() != file.size:
                raise BadFile("it was being written; rename a file into the folder when it is complete")
            return count(opened, self._rules.format, self._schema)

    def _judge_late(self, taken: TakenFiles, folder: list[Found]) -> None:
        why = late(taken, folder)
        if why is not None and self._rules.on_bad_record is OnBadFile.FAIL:
            raise Trouble(f"{self._path}: {why}; rename it to a name after {taken.last}, or remove it")
        if why is not None and why != self._said:
            log.warning("file skipped", folder=self._path, why=why)
        self._said = why

    def _write(self, known: Known, taken: TakenFiles) -> bool:
        self._choices.choose(known.text, FORMAT.to_bytes(taken).decode())
        return True

    # --- reading

    def _span(
        self, first: Seq, after: str, span: Span, taken: TakenFiles, wanted: Range
    ) -> Iterator[pa.Table]:
        files = within(self._list(), after, span)
        if span.files == 1:
            files = [file for file in files if file.name == span.last]
        if (why := changed(span, files)) is not None:
            raise Trouble(f"{self._path}: {why}")
        at = first
        for name in (file.name for file in files if file.name not in taken.bad):
            for batch in self._batches(name):
                yield from self._wanted(at, batch, wanted)
                at = Seq(at + batch.num_rows)
                if at >= wanted.stop:
                    return
        if at != first + span.rows:
            said = f"{at - first} tuples now, and had {span.rows} when they were taken"
            raise Trouble(f"{self._path}: the files up to {span.last} have {said}")

    def _wanted(self, first: Seq, batch: pa.Table, wanted: Range) -> Iterator[pa.Table]:
        start, stop = max(first, wanted.start), min(first + batch.num_rows, wanted.stop)
        if start < stop:
            yield self._numbered(Seq(start), batch.slice(start - first, stop - start))

    def _batches(self, name: str) -> Iterator[pa.Table]:
        with self._open(name) as opened:
            try:
                yield from batches(opened, self._rules.format, self._schema)
            except BadFile as error:
                raise Trouble(self._bad(name, str(error))) from error

    def _numbered(self, first: Seq, rows: pa.Table) -> pa.Table:
        time = self._rules.event_time or ("ts" if "ts" in rows.column_names else None)
        stamp = pa.timestamp("us", "UTC")
        ts = rows[time].cast(stamp) if time else pa.nulls(rows.num_rows, stamp)
        seqs = pa.array(np.arange(first, first + rows.num_rows, dtype=np.int64))
        return rows.add_column(0, "_ts", ts).add_column(0, "_seq", seqs)

    # --- the folder

    def _list(self) -> list[Found]:
        """In the order of names. A path to one file is a folder of one file."""
        try:
            root = self._fs.get_file_info(self._path)
            if root.type is fs.FileType.NotFound:
                raise Trouble(f"{self._path} does not exist")
            found = self._fs.get_file_info(fs.FileSelector(self._path)) if not root.is_file else [root]
        except OSError as error:
            raise Trouble(f"{self._path} can't be listed: {error}") from error
        shown = (f for f in found if f.is_file and not f.base_name.startswith((".", "_")))
        return sorted((Found(f.base_name, f.size) for f in shown), key=lambda file: file.name)

    @contextmanager
    def _open(self, name: str) -> Iterator[pa.NativeFile]:
        """Raises Trouble, also if the disk fails while the file is open."""
        try:
            path = self._path if self._fs.get_file_info(self._path).is_file else f"{self._path}/{name}"
            with self._fs.open_input_file(path) as opened:
                yield opened
        except OSError as error:
            raise Trouble(self._bad(name, str(error))) from error

    def _bad(self, name: str, why: str) -> str:
        return f"{self._path}/{name} can't be read: {why}"
