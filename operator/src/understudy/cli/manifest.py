"""Reading a manifest for a command: the accepted job, or a sentence per fault and exit code 2."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final, NoReturn

from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.model.validate import check
from understudy.model.yamltext import MAX_BYTES

BAD_INPUT: Final = 2


def accepted_job(path: Path) -> StreamJob:
    """The job in the file, checked; exits with 2 if there is none or it is refused."""
    text = _text(path)
    if not isinstance(text, str):
        refuse_manifest(path, text)
    job = load(text)
    if isinstance(job, list):
        refuse_manifest(path, [refusal.message for refusal in job])
    if refusals := check(job):
        refuse_manifest(path, [refusal.message for refusal in refusals])
    return job


def refuse_manifest(path: Path, sentences: list[str]) -> NoReturn:
    for sentence in sentences:
        print(f"{path}: {sentence}", file=sys.stderr)
    raise SystemExit(BAD_INPUT)


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
