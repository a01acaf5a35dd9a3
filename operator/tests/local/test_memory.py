"""What an instance and all that it started use, against what its pod would get."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from understudy.local.memory import memory_percent, used_bytes
from understudy.model.ha import Driver

HOLDS = "import os, sys; held = os.urandom(1) * (200 << 20); print(len(held), flush=True); sys.stdin.read()"


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[str]]:
    """A session whose second process holds 200 MiB."""
    starts = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {HOLDS!r}])"
    command = [sys.executable, "-c", starts]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        assert process.stdin is not None
        process.stdin.close()


def test_what_the_children_of_an_instance_use_counts(parent: subprocess.Popen[str]) -> None:
    little, much = Driver(memory="1Mi"), Driver(memory="1Gi")
    assert 100 * 200 / 1025 < memory_percent(parent.pid, little) < 100 * 300 / 1025
    assert memory_percent(parent.pid, much) == pytest.approx(
        memory_percent(parent.pid, little) * 1025 / 2048, rel=0.1
    )
    assert used_bytes([parent.pid]) < 100 << 20, "not the parent alone is counted"


def test_a_process_that_is_gone_uses_nothing() -> None:
    assert used_bytes([2**22 + 1]) == 0
