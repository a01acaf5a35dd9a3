"""Reads lines into the spool and sends them, side by side: a job that is away does not stop the reading."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from typing import Final

from understudy.push.sender import LONGEST_WAIT, Later, Sender
from understudy.push.spool import Spool, Waiting

FIRST_WAIT: Final = 0.1


class Feed:
    """`most_bytes`: how much may wait in the spool; then the input is not read."""

    def __init__(self, spool: Spool, sender: Sender, most_bytes: int) -> None:
        self._spool, self._sender, self._most_bytes = spool, sender, most_bytes
        self._changed = threading.Condition()
        self._read_all = False
        self._failure: BaseException | None = None
        self._stopping = threading.Event()

    def run(self, bodies: Iterable[tuple[bytes, int]]) -> None:
        """Returns when all bodies are acked. Each comes with the offset of the input after it. Raises
        Refused, and OSError of the input or the spool."""
        reader = threading.Thread(target=self._read_forever, args=(bodies,), name="reader", daemon=True)
        reader.start()
        while (request := self._next()) is not None:
            self._send(request)
            with self._changed:
                self._spool.acked(request)
                self._changed.notify_all()
        if self._failure is not None:
            raise self._failure

    # --- reading

    def _read_forever(self, bodies: Iterable[tuple[bytes, int]]) -> None:
        try:
            for body, offset in bodies:
                with self._changed:
                    self._changed.wait_for(lambda: self._spool.size < self._most_bytes)
                    self._spool.add(body, offset)
                    self._changed.notify_all()
        except BaseException as error:
            self._failure = error
        with self._changed:
            self._read_all = True
            self._changed.notify_all()

    # --- sending

    def _next(self) -> Waiting | None:
        with self._changed:
            self._changed.wait_for(lambda: self._spool.waiting or self._read_all)
            return self._spool.waiting[0] if self._spool.waiting else None

    def _send(self, request: Waiting) -> None:
        wait, said = FIRST_WAIT, ""
        while isinstance(later := self._sender.send(request), Later):
            if later.why != said:
                print(f"waiting: {later.why}", file=sys.stderr, flush=True)
            said = later.why
            self._stopping.wait(later.seconds or wait)
            wait = min(2 * wait, LONGEST_WAIT)
