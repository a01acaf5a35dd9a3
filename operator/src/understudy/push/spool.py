"""Lines that wait to be acked, on the disk of the device.

| file | content |
|---|---|
| `state.json` | the producer's id, the newest acked request, how far the input had been read by it |
| `SEQUENCE-OFFSET.ndjson` | the body of a request, and how far the input was read when it was made |
| `lock` | locked by the process that uses the spool |

Every file is written beside its place, synced and renamed. So after a kill at any moment each line of a file
is in exactly one request, and a request keeps its sequence until it is acked.
"""

from __future__ import annotations

import fcntl
import json
import os
import uuid
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

PATTERN: Final = "[0-9]*-*.ndjson"  # not a file that was not renamed before a kill


class InUse(Exception):
    """Another process uses the spool."""


@dataclass(frozen=True, slots=True)
class Progress:
    producer: str
    acked: int = 0
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that is not acked. `offset`: of the input, after its lines."""

    sequence: int
    offset: int
    path: Path
    size: int

    @property
    def body(self) -> bytes:
        return self.path.read_bytes()


class Spool:
    """Raises InUse. `add` and `acked` may be called by two threads."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._lock = (folder / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InUse(f"another process uses the spool {folder}") from error
        self._progress = self._read_progress()
        found = [_waiting(path) for path in folder.glob(PATTERN)]
        self.waiting = sorted(
            (w for w in found if w.sequence > self._progress.acked), key=lambda w: w.sequence
        )
        for left in (w for w in found if w.sequence <= self._progress.acked):
            left.path.unlink()  # acked just before a kill
        self.size = sum(waiting.size for waiting in self.waiting)
        self._last = self.waiting[-1].sequence if self.waiting else self._progress.acked
        self.offset = self.waiting[-1].offset if self.waiting else self._progress.offset

    @property
    def producer(self) -> str:
        return self._progress.producer

    def add(self, body: bytes, offset: int) -> Waiting:
        """The lines are on disk when this returns."""
        self._last, self.offset = self._last + 1, offset
        path = self._folder / f"{self._last:020}-{offset}.ndjson"
        _replace(path, body)
        added = Waiting(self._last, offset, path, len(body))
        self.waiting.append(added)
        self.size += added.size
        return added

    def acked(self, request: Waiting) -> None:
        """The oldest request is acked: it is forgotten, after this is on disk."""
        self._progress = replace(self._progress, acked=request.sequence, offset=request.offset)
        self._write_progress()
        self.waiting.remove(request)
        self.size -= request.size
        request.path.unlink()

    def close(self) -> None:
        """Another process may use the spool."""
        self._lock.close()

    def _read_progress(self) -> Progress:
        path = self._folder / "state.json"
        if path.exists():
            return Progress(**json.loads(path.read_text()))
        self._progress = Progress(uuid.uuid4().hex)
        self._write_progress()
        return self._progress

    def _write_progress(self) -> None:
        _replace(self._folder / "state.json", json.dumps(asdict(self._progress)).encode())


def _waiting(path: Path) -> Waiting:
    sequence, _, offset = path.stem.partition("-")
    return Waiting(int(sequence), int(offset), path, path.stat().st_size)


def _replace(path: Path, raw: bytes) -> None:
    made = path.with_name(f".{path.name}")
    with made.open("wb") as file:
        file.write(raw)
        file.flush()
        os.fsync(file.fileno())
    os.rename(made, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
