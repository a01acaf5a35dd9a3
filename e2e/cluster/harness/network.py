"""Namespaces, links and routes. Everything hangs on one bridge inside the outer namespace."""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

from .layout import BRIDGE, CONTROL_IP, LINK_PREFIX, OUTER_NETNS, POD_CIDR, SERVICE_CIDR, Layout, Node

NETNS = Path("/run/netns")
_CLONE_NEWNET = 0x40000000


def ip(*args: str) -> None:
    subprocess.run(["ip", *args], check=True, stdin=subprocess.DEVNULL)


def exists(netns: str) -> bool:
    return (NETNS / netns).exists()


def enter(netns: str) -> None:
    """Move this thread, and all that it starts from now on, into the namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(NETNS / netns, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if libc.setns(fd, _CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"cannot enter {netns}")
    finally:
        os.close(fd)


def create_outer() -> None:
    """A network for the whole cluster. No link leads out of it, so no packet can leave the machine."""
    ip("netns", "add", OUTER_NETNS)
    enter(OUTER_NETNS)
    ip("link", "set", "lo", "up")
    ip("link", "add", BRIDGE, "type", "bridge")
    ip("addr", "add", f"{CONTROL_IP}/{LINK_PREFIX}", "dev", BRIDGE)
    ip("link", "set", BRIDGE, "up")
    _forward()
    ip("route", "add", "blackhole", POD_CIDR)
    # kube-proxy rewrites what is sent there, but nothing is sent without a route.
    ip("route", "add", SERVICE_CIDR, "dev", BRIDGE)


def create_node(layout: Layout, node: Node) -> None:
    """Call inside the outer namespace."""
    ip("netns", "add", node.netns)
    ip("link", "add", node.link, "type", "veth", "peer", "name", "eth0", "netns", node.netns)
    ip("link", "set", node.link, "master", BRIDGE, "up")
    inside = ("-n", node.netns)
    ip(*inside, "link", "set", "lo", "up")
    ip(*inside, "addr", "add", f"{node.ip}/{LINK_PREFIX}", "dev", "eth0")
    ip(*inside, "link", "set", "eth0", "up")
    ip(*inside, "route", "add", "default", "via", CONTROL_IP)
    for other in layout.nodes:
        if other != node:
            ip(*inside, "route", "add", other.pod_subnet, "via", other.ip)
    ip("route", "add", node.pod_subnet, "via", node.ip)
    # The sysctls under /proc/sys/net are those of whoever looks.
    subprocess.run(
        ["nsenter", f"--net={NETNS / node.netns}", "sysctl", "-qw", "net.ipv4.ip_forward=1"], check=True
    )


def _forward() -> None:
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    Path("/proc/sys/net/ipv4/conf/all/send_redirects").write_text("0")
    for switch in Path("/proc/sys/net/bridge").glob("bridge-nf-call-*"):
        switch.write_text("0")  # frames between nodes are none of the outer namespace's firewall's business


def plug(node: Node, up: bool) -> None:
    """Call inside the outer namespace."""
    ip("link", "set", node.link, "up" if up else "down")


def plugged(node: Node) -> bool:
    """Call inside the outer namespace."""
    shown = subprocess.run(
        ["ip", "-o", "link", "show", "dev", node.link, "up"], capture_output=True, text=True, check=False
    )
    return node.link in shown.stdout


def destroy(layout: Layout) -> None:
    for netns in (*(node.netns for node in layout.nodes), OUTER_NETNS):
        if exists(netns):
            ip("netns", "del", netns)
