"""The sink kind `files` with format `jsonl`: each tuple a line of JSON, in files of a folder. With format
`parquet`, the manifest of the files is such a log (`manifest.py`).

The files are their own log: every line contains the tuple's `_seq`. Only the last file, `part-NNNNN.jsonl`
with the greatest number, is written to, and only at its end; no file is ever truncated. The next file begins
when the last one has PART_BYTES, and where tuples were lost: within a file, each `_seq` is one more than that
of the line before.

A sink that starts takes the folder (`fence.py`), copies the whole lines of the last file to a new one, and
renames that over the last file. The process that wrote there before may have been stopped at any line. What
it still writes goes to a file without a name; files that it still wants to rename are gone. Its lines that
the copy contains count, acked or not.

A crash of the machine can leave anything where data was not synced: a torn line, or pages of zeros between
whole lines. So the copy ends before the first line that is not a tuple with the next `_seq`. All files but
the last one were synced before their successor was made. (An earlier version wrote one file, with gaps where
tuples were lost. In its folder a `_seq` only has to be greater than the one before.)
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO, Final

import pyarrow as pa

from understudy.process.clock import now_ms
from understudy.sinks.disk import Disk
from understudy.sinks.fence import Fence, make
from understudy.sinks.jsonl import lines as json_lines
from understudy.sinks.port import Life, Writer

PART: Final = "part"
MANIFEST: Final = "_manifest"
PART_BYTES: Final = 8 * 2**20  # a file is copied and parsed at a start: about 0.2 s
CHUNK_BYTES: Final = 2**20
SYNC_BYTES: Final = 4 * 2**20  # written and synced at once, so that a slow disk shows progress


class LineLog(Writer):
    """Tuples as JSON lines in files. Each write is durable when it returns."""

    def __init__(
        self,
        folder: Path,
        life: Life,
        part_bytes: int = PART_BYTES,
        disk: Disk | None = None,
        name: str = PART,
    ) -> None:
        """Raises Superseded if a later life has the folder, and OSError if it holds another format. `disk` is
        notified of every step that may hang. `name`: what the names of the files begin with."""
        self._folder, self._part_bytes, self._disk = folder, part_bytes, disk or Disk()
        self._base = folder / name
        self.fence = Fence(folder, life)
        with self._disk.step(f"taking the folder {folder}"):
            make(folder)
            self._strict = self.fence.take(fresh=not _parts(self._base))
            _refuse_other_format(self._base)
        self.age_ms = self._age_ms()  # by the clock of the file system
        self._number, self._following, self._end, self._file = self._recover()
        self.next = self._following

    @property
    def path(self) -> Path:
        """The file to which lines are written."""
        return _part(self._base, self._number)

    def _age_ms(self) -> int | None:
        written = [at.st_mtime for n in self._parts() if (at := self._stat(n)).st_size]
        return max(0, now_ms() - round(max(written) * 1000)) if written else None

    def _parts(self) -> list[int]:
        with self._disk.step(f"a look at the folder {self._folder}"):
            return _parts(self._base)

    def _stat(self, number: int) -> os.stat_result:
        path = _part(self._base, number)
        with self._disk.step(f"a look at {path}"):
            return path.stat()

    def _recover(self) -> tuple[int, int, int, int]:
        """The number of the last file, the seq after its last line, its length, and an open copy of it."""
        numbers = self._parts()
        number = numbers[-1] if numbers else 0
        with self._stage() as target:
            following = self._copy(_part(self._base, number), target) if numbers else None
            end = target.tell()
            with self._disk.step("syncing the copy of the last file"):
                target.flush()
                os.fsync(target.fileno())
                if numbers:  # the time of the copy says nothing about the last write
                    written = _part(self._base, number).stat()
                    os.utime(target.fileno(), ns=(written.st_atime_ns, written.st_mtime_ns))
            file = os.dup(target.fileno())
        with self._disk.step("renaming the copy of the last file"):
            self.fence.publish("part", _part(self._base, number))
        if following is None:
            following = next((self._after(n) for n in reversed(numbers[:-1])), 0)
        return number, following, end, file

    def _stage(self) -> IO[bytes]:
        with self._disk.step(f"a new file in {self._folder}"):
            return self.fence.stage("part")

    def _after(self, number: int) -> int:
        path = _part(self._base, number)
        with self._disk.step(f"reading the end of {path}"):
            return _after(path)

    def _copy(self, path: Path, target: IO[bytes]) -> int | None:
        """Copies the lines that count; returns the seq after the last of them."""
        following = None
        with self._open(path) as source:
            while lines := self._lines(path, source):
                kept = _whole(lines, following, self._strict)
                with self._disk.step("copying the last file"):
                    target.writelines(lines[: len(kept)])
                following = kept[-1] + 1 if kept else following
                if len(kept) < len(lines):
                    break
        return following

    def _open(self, path: Path) -> IO[bytes]:
        with self._disk.step(f"opening {path}"):
            return path.open("rb")

    def _lines(self, path: Path, source: IO[bytes]) -> list[bytes]:
        """The next few lines; none at the end."""
        with self._disk.step(f"reading {path}"):
            return source.readlines(CHUNK_BYTES)

    def last(self) -> bytes | None:
        """The last line."""
        for number in reversed(self._parts()):
            path = _part(self._base, number)
            with self._open(path) as file, self._disk.step(f"reading the end of {path}"):
                if found := _last_line(file):
                    return found
        return None

    def check(self) -> None:
        """Raises Superseded."""
        with self._disk.step(f"looking whose the folder {self._folder} is"):
            self.fence.check()

    def write(self, rows: pa.Table) -> None:
        """Raises Superseded; then none of these rows count."""
        if not rows.num_rows:
            return
        text = json_lines(rows)
        first = rows["_seq"][0].as_py()
        self.check()
        if self._end >= self._part_bytes or (first != self._following and self._end):
            self._begin_part()
        self._see_that_it_is_whole()
        self._write_and_sync(text)
        self.check()
        self.next = self._following = first + rows.num_rows
        self._end += len(text)

    def commit(self) -> None:
        """Nothing to do: each write is durable already."""

    def close(self) -> None:
        os.close(self._file)

    def _write_and_sync(self, text: memoryview) -> None:
        for start in range(0, len(text), SYNC_BYTES):
            with self._disk.step(f"a write to {self.path}"):
                _write_at(self._file, text[start : start + SYNC_BYTES], self._end + start)
            with self._disk.step(f"a sync of {self.path}"):
                os.fdatasync(self._file)

    def _begin_part(self) -> None:
        """Makes a new, empty last file. The content of the former one is synced."""
        with self._disk.step(f"a new file in {self._folder}"):
            with self.fence.stage("part") as made:
                os.dup2(made.fileno(), self._file)
            self.fence.publish("part", _part(self._base, self._number + 1))
        self._number, self._end = self._number + 1, 0

    def _see_that_it_is_whole(self) -> None:
        with self._disk.step(f"a look at {self.path}"):
            found = os.fstat(self._file).st_size
        if found != self._end:
            raise OSError(f"{self.path} has {found} bytes, and {self._end} were written")


def _write_at(file: int, text: memoryview, at: int) -> None:
    while text:
        done = os.pwrite(file, text, at)
        text, at = text[done:], at + done


def _refuse_other_format(base: Path) -> None:
    """Otherwise the position would be taken for 0."""
    other, what = (MANIFEST, "Parquet files") if base.name == PART else (PART, "lines of JSON")
    if any(path.stat().st_size for path in base.parent.glob(f"{other}-*.jsonl")):
        raise OSError(f"{base.parent} holds {what} of this sink; give the sink another folder")


def _part(base: Path, number: int) -> Path:
    return base.with_name(f"{base.name}-{number:05d}.jsonl")


def _parts(base: Path) -> list[int]:
    found = base.parent.glob(f"{base.name}-*.jsonl")
    names = (path.name.removeprefix(f"{base.name}-").removesuffix(".jsonl") for path in found)
    return sorted(int(name) for name in names if name.isdecimal())


def _whole(lines: list[bytes], following: int | None, strict: bool) -> list[int]:
    """The seqs of the first lines, up to a line that is not the tuple after the one before."""
    seqs = _seqs(lines) or list(_seqs_one_by_one(lines))
    before = seqs[:1] if following is None else [following - 1]
    rest = seqs[1:] if following is None else seqs
    bad = next(
        (n for n, (a, b) in enumerate(pairwise([*before, *rest])) if b <= a or (strict and b != a + 1)), None
    )
    return seqs if bad is None else seqs[: len(seqs) - len(rest) + bad]


def _seqs(lines: list[bytes]) -> list[int] | None:
    """The seqs of lines that are all whole, parsed at once."""
    if not lines[-1].endswith(b"\n"):
        return None
    try:
        found = [row["_seq"] for row in json.loads(b"[" + b",".join(lines) + b"]")]
    except (ValueError, TypeError, KeyError):
        return None
    return found if len(found) == len(lines) and all(type(seq) is int for seq in found) else None


def _seqs_one_by_one(lines: list[bytes]) -> Iterator[int]:
    for line in lines:
        found = _seqs([line])
        if found is None:
            return
        yield found[0]


def _after(path: Path) -> int:
    """The seq after the last line of a file that is complete."""
    with path.open("rb") as file:
        last = _last_line(file)
    found = _seqs([last])
    if found is None:
        raise OSError(f"the end of {path} is damaged")
    return found[0] + 1


def _last_line(file: IO[bytes]) -> bytes:
    at, tail = file.seek(0, os.SEEK_END), b""
    while at > 0 and tail.count(b"\n") < 2:
        step = min(65_536, at)
        at -= step
        file.seek(at)
        tail = file.read(step) + tail
    return tail[tail[:-1].rfind(b"\n") + 1 :]
