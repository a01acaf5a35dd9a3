"""A program ends silently when the reader of its output is gone, as in `understudy plan JOB.yaml | head
-1`."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from typing import IO, Final

CLOSED: Final = 141
"""128 + SIGPIPE: the exit code that a shell reports for a program that ends in this way."""


def until_closed(program: Callable[[], int]) -> int:
    """Runs the program. Its exit code, or CLOSED if the reader has closed its standard output or standard
    error."""
    try:
        try:
            return program()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        closed = [stream for stream in (sys.stdout, sys.stderr) if _is_closed(stream)]
        if not closed:
            raise  # another pipe or connection was broken
        for stream in closed:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return CLOSED


def _is_closed(stream: IO[str]) -> bool:
    """Whether the reader of this stream is gone."""
    poll = select.poll()
    poll.register(stream.fileno(), 0)  # errors are reported without being asked for
    return bool(poll.poll(0))
