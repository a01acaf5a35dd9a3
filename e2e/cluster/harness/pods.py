"""Faults inside one pod: its processes stop, go on or die while everything around them lives."""

from __future__ import annotations

import signal

from . import api, cgroups
from .layout import Layout, Node

SIGNALS = {"stop-pod": signal.SIGSTOP, "continue-pod": signal.SIGCONT, "kill-pod": signal.SIGKILL}


def fault(layout: Layout, node: Node, command: str, pod: str) -> None:
    """`pod` is NAME or NAMESPACE/NAME."""
    namespace, _, name = pod.rpartition("/")
    uid = api.pod_uid(layout, namespace or "default", name)
    group = None if uid is None else cgroups.find(f"{node.cgroup}/kubepods", f"pod{uid}")
    if group is None:
        raise SystemExit(f"no pod {pod} runs on {node.name}")
    cgroups.signal_all(group, SIGNALS[command])
