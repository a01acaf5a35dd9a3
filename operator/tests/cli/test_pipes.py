"""A reader that has seen enough, such as `head`, ends both programs without a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.local.jobs import TWO_SUBJOBS

CLOSED = 141
GONE = "exec 0<&-"
UNTIL_GONE = "trap '' PIPE; while printf x; do sleep 0.05; done 2>/dev/null; trap - PIPE"
BIN = Path(sys.executable).parent
KUBECTL = """#!/bin/sh
case "$*" in
  *streamjobs*) printf '{"metadata": {"name": "demo", "namespace": "apps"}, "spec": {"sinks": [{"name": "out", "console": {}}]}}' ;;
  *incidents*) printf '{"items": []}' ;;
  *logs*) while :; do echo a line; done ;;
esac
"""  # noqa: E501


def piped(reader: str, program: str, *words: str, path: Path | None = None) -> tuple[int, str, str]:
    """The exit code of the program, what the reader printed, and what the program said on standard error."""
    first = UNTIL_GONE if reader == GONE else ":"
    script = f'set -o pipefail; {{ {first}; "$@"; }} | {reader}'
    found = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"} if path else {**os.environ}
    command = ["bash", "-c", script, "bash", str(BIN / program), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=found, timeout=120)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A kubectl that answers, and logs without end."""
    (tmp_path / "kubectl").write_text(KUBECTL)
    (tmp_path / "kubectl").chmod(0o755)
    return tmp_path


def test_a_reader_that_reads_all_of_it_changes_nothing() -> None:
    code, out, error = piped("cat", "understudy", "--help")
    assert (code, error) == (0, "")
    assert "Usage" in out


@pytest.mark.parametrize("words", [("--help",), ("--version",)])
def test_a_reader_that_is_gone_ends_the_command_quietly(words: tuple[str, ...]) -> None:
    assert piped(GONE, "understudy", *words) == (CLOSED, "", "")


def test_a_plan_of_which_only_the_first_line_is_read_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(TWO_SUBJOBS.replace("MODE", "auto"))
    code, out, error = piped("head -1", "understudy", "plan", str(tmp_path / "job.yaml"))
    assert code in (0, CLOSED)  # head may end before or after the last line is written
    assert (len(out.splitlines()), error) == (1, "")


@pytest.mark.parametrize("words", [("status", "demo"), ("incidents",)])
def test_a_reader_that_is_gone_ends_the_plugin_quietly(path: Path, words: tuple[str, ...]) -> None:
    assert piped(GONE, "kubectl-understudy", *words, path=path) == (CLOSED, "", "")


def test_a_sink_that_is_followed_by_head_ends_with_it(path: Path) -> None:
    code, out, error = piped("head -2", "kubectl-understudy", "tail", "demo", "out", path=path)
    assert (code, out, error) == (CLOSED, "a line\na line\n", "")


def test_another_broken_connection_is_not_taken_for_the_reader() -> None:
    program = (
        "from understudy.cli.pipes import until_closed\n"
        "def broken():\n    raise BrokenPipeError\n"
        "until_closed(broken)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "BrokenPipeError" in done.stderr
