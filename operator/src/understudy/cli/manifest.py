"""Reading a manifest for a command: the accepted job, or a sentence per fault and exit code 2."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, NoReturn

from understudy.local.run.jobfile import read_job
from understudy.model.job import StreamJob

BAD_INPUT: Final = 2


def accepted_job(path: Path) -> StreamJob:
    """The job in the file, checked; exits with 2 if there is none or it is refused."""
    job = read_job(path)
    if isinstance(job, list):
        refuse_manifest(path, job)
    return job


def refuse_manifest(path: Path, sentences: list[str]) -> NoReturn:
    for sentence in sentences:
        print(f"{path}: {sentence}", file=sys.stderr)
    raise SystemExit(BAD_INPUT)
