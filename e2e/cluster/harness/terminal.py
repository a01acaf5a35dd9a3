"""Progress for a person who waits: one line per step, with its time, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def lacking(text: str) -> NoReturn:
    """End because this machine lacks something that only its owner can provide."""
    say(text)
    sys.exit(3)


@contextmanager
def step(text: str, place: str = "") -> Iterator[None]:
    print(f"{place}{text} … ", end="", file=sys.stderr, flush=True)
    began = time.monotonic()
    try:
        yield
    except BaseException:
        say("failed")
        raise
    say(f"{time.monotonic() - began:.1f} s")


def wait_until(what: str, happened: Callable[[], object], seconds: float = 60.0, every: float = 0.1) -> None:
    """Poll `happened` until it is true; say what was waited for if it never is."""
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            raise SystemExit(f"waited {seconds:.0f} s in vain until {what}")
        time.sleep(every)
