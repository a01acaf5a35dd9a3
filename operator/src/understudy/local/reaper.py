"""Run as a process: reads `+SESSION` and `-SESSION` lines; at the end of its input it kills the remaining
sessions.

Its input ends when the process that started it closes it or dies, for whatever reason.
"""

from __future__ import annotations

import signal
import sys

from understudy.local.processes import kill_session


def main() -> None:
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    guarded: set[int] = set()
    for line in sys.stdin:
        session = int(line[1:])
        if line.startswith("+"):
            guarded.add(session)
        else:
            guarded.discard(session)
    for session in guarded:
        kill_session(session)


if __name__ == "__main__":
    main()
