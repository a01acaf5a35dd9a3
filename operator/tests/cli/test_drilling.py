"""`kubectl understudy drill`: what it asks for and what it says."""

from __future__ import annotations

import argparse
import json
from typing import Any

import pytest

from understudy.cli import drilling
from understudy.model.kinds import FailoverDrillSpec


def arguments(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    drilling.add(parser)
    return parser.parse_args(given)


@pytest.mark.parametrize(("phase", "code"), [("Passed", 0), ("Failed", 1)])
def test_it_waits_for_the_end_and_gives_the_figures(
    phase: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[Any] = []
    over = {"phase": phase, "message": "a sentence", "measured": {"recoverySeconds": 0.8, "lost": 0}}
    answers = iter([{}, {"phase": "Running"}, over])
    args = arguments("demo", "keep", "--fault", "processStop", "--recovery", "3s")
    assert drilling.follow(made.append, lambda name: {"status": next(answers)}, args) == code
    spec = FailoverDrillSpec.model_validate(json.loads(made[0])["spec"])
    assert (spec.job, spec.subjob, spec.fault.value, spec.force) == ("demo", "keep", "processStop", False)
    said = capsys.readouterr().out
    assert f"{phase.upper()}. a sentence" in said
    assert "without output: 0.8 s" in said
