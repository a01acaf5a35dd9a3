"""The manifest that a run was started with, and what becomes of it while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from understudy.control.edits import Needs, edits
from understudy.local.effective import effective, watching
from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.model.validate import check
from understudy.model.yamltext import MAX_BYTES


@dataclass(frozen=True, slots=True)
class Refused:
    """An edit that leaves the job as it is, with a sentence for every reason."""

    sentences: tuple[str, ...]


@dataclass(slots=True)
class JobFile:
    """Watches the file. What it has seen once it does not report again."""

    path: Path
    duration: timedelta | None
    watched: frozenset[str] = frozenset()
    """Subjobs that watch for overloads in this run, whatever the file says."""
    _stamp: tuple[int, int] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._stamp = self._look()

    def edited(self, running: StreamJob) -> StreamJob | Refused | None:
        """The job as it is to be run from now on; None if nothing was changed."""
        stamp = self._look()
        if stamp is None or stamp == self._stamp:
            return None
        self._stamp = stamp
        found = read_job(self.path)
        if isinstance(found, list):
            return Refused(tuple(found))
        return judged(running, watching(effective(found, self.duration, self.path.parent), self.watched))

    def _look(self) -> tuple[int, int] | None:
        """None while it is away, as between two steps of an editor."""
        try:
            found = self.path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size


def judged(running: StreamJob, edited: StreamJob) -> StreamJob | Refused | None:
    found = edits(running, edited)
    refused = [
        f"{e.field} {e.needs.value}; stop this run and start another"
        for e in found
        if e.needs is not Needs.LIVE
    ]
    if refused:
        return Refused(tuple(refused))
    return edited if found else None


def read_job(path: Path) -> StreamJob | list[str]:
    """The job in the file, checked; or a sentence for every fault."""
    text = _text(path)
    if not isinstance(text, str):
        return text
    job = load(text)
    if isinstance(job, list):
        return [refusal.message for refusal in job]
    refusals = check(job)
    return [refusal.message for refusal in refusals] if refusals else job


def _text(path: Path) -> str | list[str]:
    try:
        if path.is_dir():
            return ["this is a folder; write the path of a StreamJob manifest"]
        if not path.is_file():
            return ["there is no such file; write the path of a StreamJob manifest"]
        if path.stat().st_size > MAX_BYTES:
            return [f"the manifest is larger than {MAX_BYTES >> 20} MiB; write a smaller one"]
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ["this is not text in UTF-8; write the path of a StreamJob manifest"]
    except (OSError, ValueError) as error:
        return [f"it cannot be read ({getattr(error, 'strerror', None) or error}); write a path that can"]
