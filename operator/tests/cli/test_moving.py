"""The plugin's moves: what is ordered, and what is said of the end."""

from __future__ import annotations

import argparse
import json
from typing import Any

import pytest

from understudy.cli.moving import migrate, switchover

ARGS = argparse.Namespace(job="demo", subjob="keep", to="n3", output=None)


def test_a_migration_is_created_and_its_end_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    made: list[Any] = []
    ended = {"status": {"phase": "Completed", "message": "keep has moved", "pauseSeconds": 0.2, "lost": 0}}
    assert migrate(lambda text: made.append(json.loads(text)), lambda _: ended, ARGS) == 0
    assert made[0]["spec"] == {"job": "demo", "subjob": "keep", "toNode": "n3"}
    assert "pause: 0.2 s" in capsys.readouterr().out


def test_a_switchover_waits_for_another_move_than_the_last() -> None:
    told = iter(
        [
            {"time": "1", "succeeded": True},
            {"time": "1", "succeeded": True},
            {"time": "2", "succeeded": False},
        ]
    )
    ordered: list[str] = []
    looks = ({"status": {"subjobs": [{"name": "keep", "lastMove": move}]}} for move in told)
    assert switchover(ordered.append, lambda: next(looks), ARGS) == 1
    assert ordered == ["move.understudy.dev/keep=standby"]
