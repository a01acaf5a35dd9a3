"""A drill's fault: for a while no packet of another machine reaches this process. It needs no rights.

Every socket gets a packet filter that lets in only what comes from the pod itself. What goes out is then never
confirmed, so the kernel sends nothing new after a fifth of a second at most, and no connection is made. To the peers it
is a cable that was cut: connections stay open, nobody answers, and after it is mended what was under way arrives.
"""

from __future__ import annotations

import ctypes
import os
import socket
import stat
import struct
import sys
import threading
import time
from typing import Any, Final

ANSWER_SECONDS: Final = 0.05  # for the answer to whoever ordered it
SWEEP_SECONDS: Final = 0.005  # between two looks for sockets that are new

SO_ATTACH_FILTER: Final = 26
SO_DETACH_FILTER: Final = 27
INET: Final = (socket.AF_INET, socket.AF_INET6)

# Classic BPF, as in linux/filter.h.
LOAD_WORD, LOAD_BYTE, SHIFT_RIGHT, KEEP, IS, SAME, RETURN = 0x20, 0x30, 0x74, 0x07, 0x15, 0x1D, 0x06
NETWORK: Final = 0xFFF00000  # SKF_NET_OFF: offsets from here on count from the IP header
ALL: Final = 0xFFFFFFFF

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def cut_off(seconds: float) -> None:
    """Returns at once."""
    threading.Thread(target=_cut, args=(seconds,), name="partition", daemon=True).start()


def _cut(seconds: float) -> None:
    time.sleep(ANSWER_SECONDS)
    end = time.monotonic() + seconds
    cut: set[int] = set()
    _watch(end)
    while time.monotonic() < end:
        for fd, inode in _sockets():
            if inode not in cut and _set(fd, SO_ATTACH_FILTER, FILTER.program):
                cut.add(inode)
        time.sleep(SWEEP_SECONDS)
    for fd, _ in _sockets():
        _set(fd, SO_DETACH_FILTER, struct.pack("i", 0))


def _watch(end: float) -> None:
    """Sockets of this process's Python are cut before they connect; a sweep might come too late."""

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event == "socket.connect" and time.monotonic() < end:
            _set(args[0].fileno(), SO_ATTACH_FILTER, FILTER.program)

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


def _set(fd: int, option: int, value: bytes) -> bool:
    """False: it has been closed. A Unix socket has no cable."""
    try:
        held = socket.socket(fileno=fd)
    except OSError:
        return False
    try:
        if held.family in INET:
            held.setsockopt(socket.SOL_SOCKET, option, value)
    except OSError:
        return False
    finally:
        held.detach()
    return True


# ---- the filter: a packet whose source and destination are the same address comes from the pod itself ------


def _same(source: int, destination: int, length: int) -> list[Instruction]:
    """Goes on to what follows if the addresses are the same, else to what follows that."""
    found: list[Instruction] = []
    words = range(0, length, 4)
    for at in words:
        rest = 4 * (len(words) - 1 - at // 4)
        found += [
            (LOAD_WORD, 0, 0, NETWORK + source + at),
            (KEEP, 0, 0, 0),
            (LOAD_WORD, 0, 0, NETWORK + destination + at),
            (SAME, 0, rest + 1, 0),
        ]
    return found


class _Filter:
    """Holds on to the instructions: the program only points to them."""

    def __init__(self) -> None:
        verdict: list[Instruction] = [(RETURN, 0, 0, ALL), (RETURN, 0, 0, 0)]
        v4 = [*_same(12, 16, 4), *verdict]
        v6 = [*_same(8, 24, 16), *verdict]
        begin: list[Instruction] = [(LOAD_BYTE, 0, 0, NETWORK), (SHIFT_RIGHT, 0, 0, 4), (IS, 0, len(v4), 4)]
        code = b"".join(struct.pack("HBBI", *instruction) for instruction in [*begin, *v4, *v6])
        self._code = ctypes.create_string_buffer(code, len(code))
        self.program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(self._code))


FILTER: Final = _Filter()
