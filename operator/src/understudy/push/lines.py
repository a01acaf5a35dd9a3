"""Lines of a file or a pipe as bodies of requests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from understudy.push.sender import Refused

MOST_LINES: Final = 5_000
MOST_BODY: Final = 1 << 20
READ_BYTES: Final = 1 << 18


def bodies_of_file(path: Path, offset: int) -> Iterator[tuple[bytes, int]]:
    """Each body with the offset after it. Begins at this offset: a file only grows. Raises Refused."""
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size < offset:
            raise Refused(f"{path} is shorter than what was read of it; another file needs another --spool")
        file.seek(offset)
        yield from _bodies(file, offset)


def bodies_of_pipe(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """From where the input stands. What is lost with the pipe can't be read again."""
    return _bodies(file, 0)


def _bodies(file: BinaryIO, offset: int) -> Iterator[tuple[bytes, int]]:
    """Whole lines. Lines that come slowly are not held back. A last line without its end counts as a
    line."""
    rest = b""
    while chunk := os.read(file.fileno(), READ_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MOST_BODY:
            raise Refused(f"a line is longer than {MOST_BODY} bytes")
        for group in _grouped(lines):
            offset += sum(len(line) + 1 for line in group)
            if body := _body(group):
                yield body, offset
    if body := _body([rest]):
        yield body, offset + len(rest)


def _grouped(lines: list[bytes]) -> Iterator[list[bytes]]:
    group, size = list[bytes](), 0
    for line in lines:
        if group and (len(group) >= MOST_LINES or size + len(line) > MOST_BODY):
            yield group
            group, size = [], 0
        group.append(line)
        size += len(line)
    if group:
        yield group


def _body(lines: list[bytes]) -> bytes:
    """Without blank lines; empty if there are no others."""
    return b"".join(line + b"\n" for line in lines if line.strip())
