"""The newest view, and who waits for the next one."""

from __future__ import annotations

import threading

from understudy.console.view import ConsoleView, to_bytes


class Board:
    """One thread shows views; those of the connections wait for the next. A view that is replaced before a
    connection has sent it is never sent on that connection."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._newest = b""
        self._number = 0
        self._closed = False

    def show(self, view: ConsoleView) -> None:
        raw = to_bytes(view)
        with self._changed:
            self._newest, self._number = raw, self._number + 1
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing more will be shown."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        return self._closed

    def newest(self) -> bytes:
        """Empty before the first view."""
        return self._newest

    def after(self, number: int, seconds: float) -> tuple[int, bytes]:
        """The newest view and its number, as soon as it has a greater number than this; at most so many
        seconds later in any case."""
        with self._changed:
            self._changed.wait_for(lambda: self._number > number or self._closed, seconds)
            return self._number, self._newest
