"""An event for which the core has no transition: the process must fail, and say what led to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from understudy.instance.instance_page import status_of
from understudy.instance.process import Place, SubjobProcess
from understudy.instance.shell import Shell
from understudy.modes.transitions import Impossible
from understudy.protocol import events as on
from understudy.protocol.ids import Epoch

from . import test_feeding

shell = test_feeding.shell


def test_an_impossible_event_fails_the_instance_whoever_brought_it(shell: Shell, tmp_path: Path) -> None:
    context = shell.context
    place = Place("whole-0", "127.0.0.1", 0, 0, tmp_path / "scratch", tmp_path)
    process = SubjobProcess(context.job, context.subjob, context.surroundings, place)
    process._health.context = context
    assert not process._given_up()
    with pytest.raises(Impossible):
        shell.post(on.Started(Epoch(1), fresh=True))
    assert process._given_up()
    assert process._failure is not None
    assert "whole-0, primary in epoch 1: primary has no transition for Started" in process._failure


def test_the_status_page_has_the_story(shell: Shell) -> None:
    with pytest.raises(Impossible):
        shell.post(on.Started(Epoch(1), fresh=True))
    page = status_of(shell.context)
    assert page.state == "failed"
    assert "LeaseWon" in str(page.error)
