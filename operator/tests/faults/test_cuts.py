"""Relays on real sockets: what passes, and what a cut holds back."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import pytest

from understudy.faults.cuts import Cuts, file_in


def echo() -> str:
    """A server that sends back what it gets."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        peer, _ = listener.accept()
        while data := peer.recv(1_000):
            peer.sendall(data)
        peer.close()

    threading.Thread(target=serve, daemon=True).start()
    return f"127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "instances").mkdir()
    return tmp_path


def announce(folder: Path, instance: str, address: str) -> None:
    (folder / "instances" / f"{instance}.json").write_text(
        json.dumps({"instance": instance, "address": address})
    )


def connect(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)))


def test_a_cut_holds_back_what_is_sent_and_loses_nothing_of_it(folder: Path) -> None:
    address = echo()
    announce(folder, "b-0", address)
    cuts = Cuts(folder, "a-0")
    with connect(cuts.through(address)) as there:
        there.sendall(b"one")
        assert there.recv(10) == b"one"
        file_in(folder).write_text(json.dumps([["b-0", "a-0"]]))
        while not cuts.apart_from("b-0"):
            pass
        there.sendall(b"two")
        there.settimeout(0.3)
        with pytest.raises(TimeoutError):
            there.recv(10)
        file_in(folder).write_text("[]")
        there.settimeout(20)
        assert there.recv(10) == b"two"


def test_a_cut_affects_only_its_two_sides_and_never_separates_a_process_from_itself(folder: Path) -> None:
    address = echo()
    announce(folder, "a-0", address)
    file_in(folder).write_text(json.dumps([["a-0", "b-0"]]))
    assert Cuts(folder, "a-0").through(address) == address
    other = Cuts(folder, "c-0")
    with connect(other.through(address)) as there:
        there.sendall(b"one")
        assert there.recv(10) == b"one"


def test_a_missing_peer_is_noticed_at_once(folder: Path) -> None:
    free = socket.create_server(("127.0.0.1", 0))
    address = f"127.0.0.1:{free.getsockname()[1]}"
    free.close()
    with connect(Cuts(folder, "a-0").through(address)) as there:
        there.settimeout(20)
        assert there.recv(10) == b""
