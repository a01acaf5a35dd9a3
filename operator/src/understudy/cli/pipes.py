"""A program whose output nobody reads any further ends without a word, as in `understudy plan JOB.yaml | head
-1`."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from typing import IO, Final

CLOSED: Final = 141
"""128 + SIGPIPE: what a shell says of any program that ends so."""


def until_closed(program: Callable[[], int]) -> int:
    """Run the program. Its exit code, or CLOSED if its standard output or standard error is closed by the
    reader."""
    try:
        try:
            return program()
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        closed = [stream for stream in (sys.stdout, sys.stderr) if _is_closed(stream)]
        if not closed:
            raise  # it was some other pipe or connection
        for stream in closed:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return CLOSED


def _is_closed(stream: IO[str]) -> bool:
    """Whether nobody can read what is written there."""
    poll = select.poll()
    poll.register(stream.fileno(), 0)  # errors are told unasked
    return bool(poll.poll(0))
