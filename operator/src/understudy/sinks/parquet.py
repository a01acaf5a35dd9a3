"""The sink kind `files` with format `parquet`: tuples in files that appear whole.

Tuples wait in memory, and at the producer, until a file has `roll.size` or its first tuple has waited for
`roll.interval`. Then the file is made:

| step | the next take, if the sink was stopped before it |
|---|---|
| 1. the file is written and synced in the folder of this take | the tuples are sent again |
| 2. it is renamed into place | removes it; the tuples are sent again |
| 3. its line is added to the manifest, durably | finds it, and adds its line if it is whole |
| 4. the fence is checked, and the tuples are acked | finds its line |

Steps 2 and 3 fail in a sink that was superseded: see `fence.py` and `files.py`. So a file that was seen under
its name never disappears, unless a crash of the machine has damaged it before its line was there.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from understudy.sinks.disk import Disk
from understudy.sinks.fence import sync
from understudy.sinks.files import CHUNK_BYTES, SYNC_BYTES
from understudy.sinks.jsonl import columns_of
from understudy.sinks.manifest import Entry, Manifest
from understudy.sinks.port import Life, Writer
from understudy.sinks.rolling import Rolling
from understudy.sinks.waiting import Waiting


class ParquetLog(Writer):
    def __init__(
        self, folder: Path, life: Life, rolling: Rolling | None = None, disk: Disk | None = None
    ) -> None:
        """Raises Superseded if a later life has the folder, and Damaged if its last file is not as it was
        written."""
        self._folder, self._disk = folder, disk or Disk()
        self._rolling = rolling or Rolling()
        self.commit_ms = self._rolling.ms
        self._waiting = Waiting()
        self._manifest = Manifest(folder, life, self._disk)
        self.age_ms = self._manifest.age_ms
        last = self._manifest.last()
        if last is not None:
            last.check(self._read(folder / last.file))
        self.next = last.next if last is not None else 0
        self._adopt()

    def _adopt(self) -> None:
        """What the take before put into place and did not add to the manifest."""
        path = self._path()
        if not self._exists(path):
            return
        content = self._read(path)
        seqs = seqs_of(content)
        if seqs is None or seqs.start < self.next:
            with self._disk.step(f"removing {path}"):
                self._manifest.fence.discard(path)
            return
        with self._disk.step(f"syncing the names in {self._folder}"):
            sync(self._folder)
        self._count(Entry.of(path.name, seqs.start, seqs.stop, memoryview(content)))

    def check(self) -> None:
        """Raises Superseded."""
        self._manifest.check()

    def write(self, rows: pa.Table) -> None:
        """Raises Superseded."""
        rows = columns_of(rows)
        if not self._waiting.fits(rows):
            self.commit()
        self._waiting.add(rows)
        if self._waiting.bytes >= self._rolling.bytes:
            self.commit()

    def commit(self) -> None:
        """Makes a file of what was written. Raises Superseded; then none of these rows count, unless a later
        life has adopted them."""
        if not self._waiting:
            return
        rows, path = self._waiting.rows, self._path()
        content, first = encoded(rows), rows["_seq"][0].as_py()
        self.check()
        self._put(path, content)
        self._count(Entry.of(path.name, first, first + rows.num_rows, content))
        self._waiting.clear()

    def close(self) -> None:
        self._manifest.close()

    def _count(self, entry: Entry) -> None:
        self._manifest.add(entry)
        self.next = entry.next

    def _put(self, path: Path, content: memoryview) -> None:
        with self._disk.step(f"a new file in {self._folder}"):
            file = self._manifest.fence.stage("rows")
        with file:
            for start in range(0, len(content), SYNC_BYTES):
                with self._disk.step(f"a write to {path}"):
                    file.write(content[start : start + SYNC_BYTES])
                    file.flush()
                with self._disk.step(f"a sync of {path}"):
                    os.fsync(file.fileno())
        with self._disk.step(f"renaming {path}"):
            self._manifest.fence.publish("rows", path)

    def _path(self) -> Path:
        """Of the next file."""
        return self._folder / f"part-{self._manifest.size:08d}.parquet"

    def _exists(self, path: Path) -> bool:
        with self._disk.step(f"a look at {path}"):
            return path.exists()

    def _read(self, path: Path) -> bytes:
        with self._disk.step(f"opening {path}"):
            file = path.open("rb")
        found = bytearray()
        with file:
            while True:
                with self._disk.step(f"reading {path}"):
                    chunk = file.read(CHUNK_BYTES)
                if not chunk:
                    return bytes(found)
                found += chunk


def encoded(rows: pa.Table) -> memoryview:
    """A Parquet file, with a checksum in each page."""
    target = pa.BufferOutputStream()
    pq.write_table(rows, target, write_page_checksum=True)
    return memoryview(target.getvalue())


def seqs_of(content: bytes) -> range | None:
    """Which tuples a file holds; None if it is not whole."""
    try:
        rows = pq.read_table(pa.BufferReader(content), page_checksum_verification=True)
        seqs = rows["_seq"].to_pylist()
    except (OSError, ValueError, KeyError):  # what Arrow raises for anything but a Parquet file
        return None
    found = range(seqs[0], seqs[0] + len(seqs)) if seqs else None
    return found if found is not None and seqs == list(found) else None
