"""A process that cuts itself off, without any rights, and a peer behind a router: namespaces of this
machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

PREFIX = f"cut{os.getpid()}"
HERE, THERE = "10.99.1.2", "10.99.2.2"
PORT = 7070
POWERLESS = ("setpriv", "--inh-caps=-all", "--bounding-set=-all")

VICTIM = f"""
import socket, time
from understudy.faults.partition import cut_off

listener = socket.socket(socket.AF_INET6)
listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
listener.bind(("::ffff:{HERE}", {PORT}))
listener.listen()
own = socket.create_connection(("{HERE}", {PORT}))
inside, _ = listener.accept()
print("listens", flush=True)
peer, address = listener.accept()
peer.sendall(b"0")
cut_off(8.0)
time.sleep(1.0)
peer.sendall(b"1")
own.sendall(b"x")
inside.settimeout(4.0)
assert inside.recv(1) == b"x", "what it says to itself"
later, _ = listener.accept()
later.sendall(b"2")
time.sleep(60)
"""

PEER = f"""
import socket, time

def heard(on, seconds):
    on.settimeout(seconds)
    try:
        return on.recv(1)
    except TimeoutError:
        return b""

first = socket.create_connection(("{HERE}", {PORT}), 10)
assert heard(first, 10) == b"0"
time.sleep(1.0)
assert heard(first, 2.0) == b"", "while it is cut off"
try:
    socket.create_connection(("{HERE}", {PORT}), 2.0)
    raise AssertionError("a new connection, while it is cut off")
except TimeoutError:
    pass
assert heard(first, 60) == b"1", "afterwards"
assert heard(socket.create_connection(("{HERE}", {PORT}), 10), 10) == b"2", "a new connection, afterwards"
"""


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def routed() -> Iterator[tuple[str, str]]:
    """Two namespaces with a router between them."""
    if os.geteuid() or not shutil.which("ip") or not shutil.which("setpriv"):
        pytest.skip("needs root to make network namespaces")
    names = here, there, router = [f"{PREFIX}-{name}" for name in ("here", "there", "router")]
    try:
        for name in names:
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for name, address, gateway, port in (
            (here, HERE, "10.99.1.1", "one"),
            (there, THERE, "10.99.2.1", "two"),
        ):
            ip("link", "add", port, "netns", router, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", router, "addr", "add", f"{gateway}/24", "dev", port)
            ip("-n", router, "link", "set", port, "up")
            ip("-n", name, "route", "add", "default", "via", gateway)
        ip("netns", "exec", router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        yield here, there
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def test_a_process_that_is_cut_off_reaches_nobody_else_until_it_is_healed(routed: tuple[str, str]) -> None:
    here, there = routed
    python = [sys.executable, "-c"]
    inside = ["ip", "netns", "exec", here, *POWERLESS, *python, VICTIM]
    with subprocess.Popen(inside, stdout=subprocess.PIPE, text=True) as victim:
        try:
            assert victim.stdout is not None
            assert victim.stdout.readline() == "listens\n"
            subprocess.run(["ip", "netns", "exec", there, *python, PEER], check=True, timeout=120)
            assert victim.poll() is None
        finally:
            victim.kill()
