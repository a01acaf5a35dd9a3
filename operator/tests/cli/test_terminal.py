"""Tables have all that they are given: at any width of a terminal, and as plain lines where there is none."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.test_reporting import report
from tests.kubernetes.test_pages import parts_of
from tests.local.jobs import TWO_SUBJOBS
from understudy.cli import reporting
from understudy.cli.terminal import Part, Terminal, plain, table
from understudy.local.report.verdicts import Verdict
from understudy.model.ha import Guarantee
from understudy_lab.bench import page
from understudy_lab.commands.simulate import show
from understudy_lab.commands.verify import verdict_table
from understudy_lab.experiments.experiment import Cell, Experiment

from ..control.jobs import job
from ..control.world import World

BIN = Path(sys.executable).parent
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SENTENCE = "it was written to a folder on a disk that " + "stood still for a while and then " * 8
VERDICT = Verdict(Guarantee.PRECISE, None, objection=SENTENCE)
BENCHMARK = (
    "| recovery | median, and what is allowed |\n|---|---:|\n"
    "| savepoint | 1,200 ms of 90,000,000 ms |\n\n10 kills."
)


def terminal(width: int) -> tuple[Terminal, io.StringIO]:
    text = io.StringIO()
    return Terminal(file=text, width=width, force_terminal=True, color_system=None), text


def characters(text: str) -> Counter[str]:
    """A cell that is broken is broken beside others; so the order of words tells nothing."""
    return Counter("".join(text.split()))


def shown() -> dict[str, tuple[Part, ...]]:
    world = World(job()).run_for(30)
    world.kill(world.primary("keep"))
    lines = ("[red]no markup[/red] :warning:", "x" * 300)
    return {
        "status": parts_of(world.run_for(60))[0],
        "report": reporting.parts(report()),
        "verdicts": (verdict_table({"out": VERDICT, "other": VERDICT}),),
        "benchmark": tuple(page.drawn(BENCHMARK)),
        "long cells": (table(("LINE", "AGAIN"), [lines, lines]),),
    }


@pytest.mark.parametrize("width", [80, 200])
@pytest.mark.parametrize("name", ["status", "report", "verdicts", "benchmark", "long cells"])
def test_a_table_keeps_within_the_terminal_and_leaves_nothing_out(name: str, width: int) -> None:
    for part in shown()[name]:
        console, text = terminal(width)
        console.show(part)
        assert characters(text.getvalue()) == characters(plain(part))
        assert (
            isinstance(part, str) or max(len(line.rstrip()) for line in text.getvalue().splitlines()) <= width
        )


def test_without_a_terminal_each_row_is_one_line_that_ends_where_its_text_ends() -> None:
    text = io.StringIO()
    Terminal(file=text).show("All of it:", *shown()["long cells"])
    headline, empty, heads, *rows = text.getvalue().splitlines()
    assert (headline, empty, heads.split()) == ("All of it:", "", ["LINE", "AGAIN"])
    assert rows == 2 * [f"[red]no markup[/red] :warning:  {'x' * 300}"]


@pytest.mark.parametrize("width", [80, 200])
def test_an_experiment_is_shown_whole(width: int) -> None:
    cells = [
        Cell("upstream backup, rollback", "average server delay", "recovery time (ms)", 0.07, 1234.5, 0.03)
    ]
    found = Experiment(
        "x", "A title that is longer than a line of a terminal of eighty columns can be at all", cells
    )
    (narrow, broken), (wide, whole) = terminal(width), terminal(1_000)
    show(found, narrow)
    show(found, wide)
    assert characters(broken.getvalue()) == characters(whole.getvalue())


@pytest.mark.parametrize("width", [80, 200])
def test_a_plan_on_a_terminal_has_what_a_plan_in_a_pipe_has(tmp_path: Path, width: int) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(TWO_SUBJOBS.replace("MODE", "auto"))
    command = [str(BIN / "understudy"), "plan", str(path)]
    piped = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout.decode()
    found = on_terminal(width, command)
    assert COLOUR.search(found)
    assert not COLOUR.search(piped)
    assert characters(COLOUR.sub("", found)) == characters(piped)
    assert max(len(line) for line in COLOUR.sub("", found).splitlines()) <= width


def on_terminal(width: int, command: list[str]) -> str:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, env={**kept, "TERM": "xterm-256color"}
    ) as process:
        os.close(theirs)
        text = b""
        while part := read(ours):
            text += part
    os.close(ours)
    assert process.returncode == 0
    return text.decode()


def read(terminal: int) -> bytes:
    """Nothing when the other side is closed."""
    try:
        return os.read(terminal, 65_536)
    except OSError:
        return b""
