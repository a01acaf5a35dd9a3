"""The manifest of a folder of Parquet files: a line of JSON for each file, in the order of the stream.

    {"_seq":7,"file":"part-00000007.parquet","first":7000,"next":8000,"size":40123,"sha256":"…"}

The file holds the tuples [first, next). A file counts when its line is in the manifest; what the line says of
its content is how a reader notices that the file was damaged. The lines are in `_manifest-NNNNN.jsonl`: most
readers of Parquet ignore names that begin with an underscore.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import pyarrow as pa

from understudy.sinks.disk import Disk
from understudy.sinks.fence import Fence
from understudy.sinks.files import MANIFEST, LineLog
from understudy.sinks.port import Life

Content = bytes | memoryview


class Damaged(OSError):
    """The manifest or a file in it is not as it was written."""


@dataclass(frozen=True, slots=True)
class Entry:
    file: str
    first: int
    next: int
    size: int
    sha256: str

    @classmethod
    def of(cls, file: str, first: int, next_: int, content: Content) -> Self:
        return cls(file, first, next_, len(content), hashlib.sha256(content).hexdigest())

    @classmethod
    def parse(cls, line: bytes | str) -> Self:
        """Raises Damaged."""
        try:
            found = json.loads(line)
            return cls(**{name: found[name] for name in ("file", "first", "next", "size", "sha256")})
        except (ValueError, TypeError, KeyError) as error:
            raise Damaged(f"a line of the manifest is damaged: {line!r}") from error

    def check(self, content: Content) -> None:
        """Raises Damaged unless this is the file's content."""
        if len(content) != self.size or hashlib.sha256(content).hexdigest() != self.sha256:
            what = f"{self.file} is damaged: the manifest promises {self.size} bytes of another content"
            raise Damaged(f"{what}, with the tuples {self.first} to {self.next - 1}")


class Manifest:
    """The manifest as its sink writes it. Takes the folder, like every log of lines."""

    def __init__(self, folder: Path, life: Life, disk: Disk) -> None:
        """Raises Superseded."""
        self._log = LineLog(folder, life, disk=disk, name=MANIFEST)
        self.age_ms = self._log.age_ms

    @property
    def fence(self) -> Fence:
        return self._log.fence

    @property
    def size(self) -> int:
        """How many files it names."""
        return self._log.next

    def last(self) -> Entry | None:
        """Raises Damaged."""
        line = self._log.last()
        return None if line is None else Entry.parse(line)

    def check(self) -> None:
        self._log.check()

    def add(self, entry: Entry) -> None:
        """The file counts when this returns. Raises Superseded; then it does not."""
        self._log.write(pa.Table.from_pylist([{"_seq": self.size, **asdict(entry)}]))

    def close(self) -> None:
        self._log.close()


def entries(folder: Path) -> Iterator[Entry]:
    """The files that count, for a reader. Raises Damaged if a line is, or if a tuple would be there twice."""
    following = 0
    for path in sorted(folder.glob(f"{MANIFEST}-*.jsonl")):
        for line in path.read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n"):
                return  # the sink is writing it
            entry = Entry.parse(line)
            if entry.first < following:
                raise Damaged(f"{entry.file} begins with tuple {entry.first}, and {following} is the next")
            following = entry.next
            yield entry
