"""The source kind `files`: the files of a folder, read by a thread of its own.

The shell polls an outbox and never waits for a disk or for the record of taken files. The outbox is bounded,
so the thread reads no further than the subjob has room.
"""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from typing import Final

import pyarrow as pa
import structlog

from understudy.model.sources import Files
from understudy.process.ports import Unreachable
from understudy.protocol.ids import Range, Seq
from understudy.sources.folder import Folder, Rules, Trouble
from understudy.sources.port import News, Opening, Reader

log = structlog.get_logger()
LOOK_SECONDS: Final = 0.5
AGAIN_SECONDS: Final = 1.0
PUT_SECONDS: Final = 0.2
BATCHES: Final = 4
ATTEMPTS: Final = 3


class FilesReader(Reader):
    def __init__(self, files: Files, opening: Opening) -> None:
        rules = Rules(files.format, files.watch, files.on_bad_record, files.limit, files.event_time)
        self._folder = Folder(rules, opening.schema, opening.folder / files.path, opening.choices)
        self._waits = files.watch
        self._source = opening.source
        self._next = Seq(0)
        self._run: _Run | None = None
        self._begun = False

    def begin(self, start: Seq | None, elapsed_ms: int) -> Seq | None:
        """From the newest tuple on: what the job has not taken yet, because nobody has seen it."""
        if self._run is None or self._begun:
            self.close()
            self._run = _Run(self._source, self._folder, start)
        first = self._run.first
        self._begun = first is not None
        self._next = first or Seq(0)
        self._fail_if_hopeless()
        return first

    def poll(self, elapsed_ms: int) -> News:
        batch, ended = self._run.poll() if self._run is not None else (None, False)
        if batch is None:
            if not ended:
                self._fail_if_hopeless()
            return News(self._next, self._folder.nothing, ended)
        self._next = Seq(self._next + batch.num_rows)
        return News(self._next, batch)

    def rows(self, wanted: Range) -> pa.Table:
        """Raises Trouble, or Unreachable after some attempts."""
        for _ in range(ATTEMPTS - 1):
            with suppress(Unreachable):
                return self._reread(wanted)
        return self._reread(wanted)

    def _reread(self, wanted: Range) -> pa.Table:
        found = self._folder.rows(self._folder.known().taken, wanted)
        return pa.concat_tables([self._folder.nothing, *found])

    @property
    def fault(self) -> str | None:
        return self._run.fault if self._run is not None else None

    def close(self) -> None:
        if self._run is not None:
            self._run.stopping.set()
        self._run = None

    def _fail_if_hopeless(self) -> None:
        """Raises ValueError: of a folder that is not watched, nothing is expected to change."""
        if not self._waits and self._run is not None and self._run.broken is not None:
            raise ValueError(self._run.broken)


class _Run:
    """The thread between a `begin` and the next. What it has put into the outbox is read once."""

    def __init__(self, source: str, folder: Folder, start: Seq | None) -> None:
        self._source, self._folder = source, folder
        self._at = self.first = start
        self.stopping = threading.Event()
        self.fault: str | None = None
        self.broken: str | None = None
        """The fault, if it is of the folder and not of the surroundings."""
        self._outbox = queue.Queue[pa.Table | None](BATCHES)  # None: the end
        threading.Thread(target=self._read_forever, name=f"files-{source}", daemon=True).start()

    def poll(self) -> tuple[pa.Table | None, bool]:
        """The next batch, if it is here, and whether the stream has ended."""
        try:
            batch = self._outbox.get_nowait()
        except queue.Empty:
            return None, False
        return batch, batch is None

    def _read_forever(self) -> None:
        while not self.stopping.is_set():
            try:
                ended = self._step()
            except Unreachable as error:
                self._fails(str(error))
            except Trouble as error:
                self.broken = str(error)
                self._fails(str(error))
            else:
                self.fault = self.broken = None
                if ended:
                    return

    def _fails(self, why: str) -> None:
        if why != self.fault:
            log.error("source stopped", source=self._source, why=why)
        self.fault = why
        self.stopping.wait(AGAIN_SECONDS)

    def _step(self) -> bool:
        """Reads what was taken, or takes more. Returns whether the stream has ended."""
        known = self._folder.known()
        end = self._folder.end(known.taken)
        if self._at is None:
            self._at = self.first = end
        if self._at < end:
            for batch in self._folder.rows(known.taken, Range(self._at, end)):
                self._put(batch)
                self._at = Seq(self._at + batch.num_rows)
                if self.stopping.is_set():
                    return True
        elif known.taken.ended:
            self._put(None)
            return True
        elif not self._folder.take(known):
            self.stopping.wait(LOOK_SECONDS)
        return False

    def _put(self, batch: pa.Table | None) -> None:
        while not self.stopping.is_set():
            with suppress(queue.Full):
                self._outbox.put(batch, timeout=PUT_SECONDS)
                return
