"""A fault of local runs: for a while no byte passes between two processes, in either direction.

All processes of a machine share one loopback device, so the cut is made where a connection begins: it leads
through a relay in the process that made it. While the two are apart the relay passes nothing on; connections
stay open, and data on its way arrives when the cut ends. UNDERSTUDY_CUTS names the folder with the file of
current cuts, and UNDERSTUDY_ME this process; without them there are no relays.
"""

from __future__ import annotations

import json
import os
import socket
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = "UNDERSTUDY_CUTS"
ME: Final = "UNDERSTUDY_ME"
LEASES: Final = "leases"
"""The name of the Lease store among the names of processes."""
LOOK_SECONDS: Final = 0.02
CHUNK: Final = 65_536


def file_in(folder: Path) -> Path:
    return folder / "cuts.json"


class Cuts:
    """The processes from which this one is cut off now."""

    def __init__(self, folder: Path, me: str) -> None:
        self._folder, self._me = folder, me
        self._changed = threading.Condition()
        self._away: frozenset[str] = frozenset()
        self._relays: dict[str, Relay] = {}
        threading.Thread(target=self._watch, name="cuts", daemon=True).start()

    def _watch(self) -> None:
        while True:
            away = self._read()
            with self._changed:
                if away != self._away:
                    self._away = away
                    self._changed.notify_all()
                self._changed.wait(LOOK_SECONDS)

    def _read(self) -> frozenset[str]:
        try:
            pairs = json.loads(file_in(self._folder).read_text())
        except FileNotFoundError:
            return frozenset()
        except ValueError:
            return self._away  # the file is being written
        return frozenset(other for pair in pairs for one, other in (pair, pair[::-1]) if one == self._me)

    def apart_from(self, name: str) -> bool:
        return name in self._away

    def wait_for(self, name: str) -> None:
        """Waits until no cut separates this process from that one."""
        with self._changed:
            self._changed.wait_for(lambda: name not in self._away)

    def through(self, address: str) -> str:
        """The address to connect to instead. A process is never cut off from its own workers."""
        name = self._name_of(address)
        if name == self._me:
            return address
        with self._changed:
            if address not in self._relays:
                self._relays[address] = Relay(address, name, self)
            return self._relays[address].address

    def _name_of(self, address: str) -> str:
        """The name of the process that listens there."""
        for path in (self._folder / "instances").glob("*.json"):
            try:
                found = json.loads(path.read_text())
            except OSError:
                continue
            if found["address"] == address:
                return str(found["instance"])
        return ""


class Relay:
    """Forwards what is sent to one address, and the answers."""

    def __init__(self, target: str, name: str, cuts: Cuts) -> None:
        self._target, self._name, self._cuts = target, name, cuts
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, name=f"relay-{self._name}", daemon=True).start()

    def _accept(self) -> None:
        while True:
            here, _ = self._listener.accept()
            threading.Thread(target=self._join, args=(here,), name=f"relay-{self._name}", daemon=True).start()

    def _join(self, here: socket.socket) -> None:
        self._cuts.wait_for(self._name)
        host, _, port = self._target.rpartition(":")
        try:
            there = socket.create_connection((host, int(port)))
        except OSError:
            here.close()
            return
        for ends in ((here, there), (there, here)):
            threading.Thread(target=self._pump, args=ends, name=f"relay-{self._name}", daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(CHUNK):
                self._cuts.wait_for(self._name)
                target.sendall(data)
        self._cuts.wait_for(self._name)  # the end of a connection does not pass a cut, either
        for each in (source, target):
            _close(each)


def _close(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@cache
def own() -> Cuts | None:
    folder = os.environ.get(FOLDER)
    return Cuts(Path(folder), os.environ[ME]) if folder else None
