"""A drill's fault: for a while no packet of this process gets further than to the first router. It needs no
rights.

Every socket gets a time to live of one hop. What others send is then never confirmed, so that their kernels
send nothing new after a fifth of a second at most, and no connection is made. To the peers it is a cable that
was cut: connections stay open, nobody answers, and after it is mended what was under way arrives. What the
pod says to itself takes no hop.

A pod on the same node is apart only where the network routes between pods, as most do; over a bridge it is
not.
"""

from __future__ import annotations

import os
import socket
import stat
import sys
import threading
import time
from typing import Any, Final

import structlog

log = structlog.get_logger()
ANSWER_SECONDS: Final = 0.05  # for the answer to whoever ordered it
SWEEP_SECONDS: Final = 0.005  # between two looks for sockets that are new
CUT: Final = 1
WHOLE: Final = -1  # as many hops as the system gives by default

HOPS: Final = {  # of a socket's own packets; one for IPv6 may speak IPv4, too
    socket.AF_INET: ((socket.IPPROTO_IP, socket.IP_TTL),),
    socket.AF_INET6: ((socket.IPPROTO_IPV6, socket.IPV6_UNICAST_HOPS), (socket.IPPROTO_IP, socket.IP_TTL)),
}


def cut_off(seconds: float) -> None:
    """Returns at once."""
    threading.Thread(target=_cut, args=(seconds,), name="partition", daemon=True).start()


def _cut(seconds: float) -> None:
    time.sleep(ANSWER_SECONDS)
    end = time.monotonic() + seconds
    cut: set[int] = set()
    _watch(end)
    while time.monotonic() < end:
        cut |= {inode for fd, inode in _sockets() if inode not in cut and _limit(fd, CUT)}
        time.sleep(SWEEP_SECONDS)
    for _ in range(2):  # what was accepted meanwhile has the limit of its listener
        for fd, _inode in _sockets():
            _limit(fd, WHOLE)
    log.warning("the cut is over", sockets=len(cut))


def _watch(end: float) -> None:
    """Sockets of this process's Python are cut before they connect; a sweep might come too late."""

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.connect" and time.monotonic() < end:
            _limit(args[0].fileno(), CUT)

    sys.addaudithook(hook)


def _sockets() -> list[tuple[int, int]]:
    """File descriptors and inodes of this process's sockets."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            status = os.fstat(int(name))
        except OSError:
            continue  # closed meanwhile
        if stat.S_ISSOCK(status.st_mode):
            found.append((int(name), status.st_ino))
    return found


def _limit(fd: int, hops: int) -> bool:
    """False: it has been closed. A Unix socket has no cable."""
    try:
        held = socket.socket(fileno=fd)
    except OSError:
        return False
    try:
        for level, option in HOPS.get(held.family, ()):
            held.setsockopt(level, option, hops)
    except OSError:
        return False
    finally:
        held.detach()
    return True
