"""A drill's fault: for a while no packet of this process gets further than the first router. It needs no
privileges.

Every socket gets a time to live of one hop. So data that others send is never confirmed: their kernels send
nothing new after a fifth of a second at most, and no connection can be made. For the peers this looks like a
cut cable: connections stay open, no answer comes, and data on its way arrives after the cut ends. Connections
inside the pod take no hop, and work.

A pod on the same node is cut off only if the network routes between pods, as most networks do; over a bridge
it is not.
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
ANSWER_SECONDS: Final = 0.05  # time to send the answer to the order
SWEEP_SECONDS: Final = 0.005  # between two looks for new sockets
CUT: Final = 1
WHOLE: Final = -1  # the system's default number of hops

HOPS: Final = {  # of a socket's own packets; an IPv6 socket may also use IPv4
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
    for _ in range(2):  # a connection accepted in the meantime has the limit of its listener
        for fd, _inode in _sockets():
            _limit(fd, WHOLE)
    log.warning("partition ended", sockets=len(cut))


def _watch(end: float) -> None:
    """Sockets of this process's Python code are limited before they connect; a sweep might come too late."""

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
            continue  # closed in the meantime
        if stat.S_ISSOCK(status.st_mode):
            found.append((int(name), status.st_ino))
    return found


def _limit(fd: int, hops: int) -> bool:
    """False: the socket has been closed. A Unix socket has no hops."""
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
