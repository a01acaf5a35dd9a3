"""`-o json|yaml`: programs get the same facts as people; colours are for terminals."""

from __future__ import annotations

import argparse
import io
import json
from typing import Any

import pytest
import yaml

from understudy.cli import drilling, moving, pages, plugin
from understudy.cli.fencing import Hands, failover
from understudy.cli.output import encoded
from understudy.cli.terminal import Terminal, table

from ..control.jobs import job
from ..control.world import World
from .cluster import Cluster
from .test_fencing import Cluster as Pair


@pytest.mark.parametrize("form", ["json", "yaml"])
@pytest.mark.parametrize("words", [("status", "demo"), ("incidents",), ("report", "demo")])
def test_what_a_command_tells_can_be_read_by_programs(
    demo: Cluster, words: tuple[str, ...], form: str
) -> None:
    done = demo.run(*words, "-o", form)
    found = json.loads(done.stdout) if form == "json" else yaml.safe_load(done.stdout)
    assert (done.stderr, isinstance(found, list)) == ("", words[0] == "incidents")


def test_a_status_says_in_json_whether_the_job_is_safe() -> None:
    world = World(job()).run_for(30)
    body = {"metadata": {"name": "demo", "namespace": "apps"}, "status": world.status}
    page = pages.status_page(body, [], world.now_ms)
    found = json.loads(encoded(page.facts, "json"))
    assert (found["job"], found["safe"]) == ("demo", True)
    assert {each["name"] for each in found["subjobs"]} >= {"keep"}
    assert yaml.safe_load(encoded(page.facts, "yaml")) == found


def test_an_unsafe_job_has_the_same_exit_code_in_every_format(demo: Cluster) -> None:
    assert {
        demo.run("status", "demo", *form).returncode for form in ((), ("-o", "json"), ("-o", "yaml"))
    } == {1}


def test_the_result_of_a_drill_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    drilling.add(parser)
    ended = {"status": {"phase": "Passed", "message": "a sentence", "measured": {"recoverySeconds": 0.8}}}
    args = parser.parse_args(["demo", "keep", "-o", "json"])
    assert drilling.follow(lambda _: None, lambda _: ended, args) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["phase"], found["measured"]) == ("Passed", {"recoverySeconds": 0.8})


def test_the_result_of_a_move_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    ended = {"status": {"phase": "Failed", "message": "no room"}}
    args = argparse.Namespace(job="demo", subjob="keep", to="n3", output="json")
    assert moving.migrate(lambda _: None, lambda _: ended, args) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["subjob"], found["succeeded"], found["message"]) == ("keep", False, "no room")


def test_a_failover_says_nothing_beside_its_object(capsys: pytest.CaptureFixture[str]) -> None:
    pair, said = Pair(), list[str]()
    hands = Hands(pair.job, pair.lease, lambda: list(pair.pods), pair.kill, say=said.append)
    assert failover(hands, argparse.Namespace(job="demo", subjob="keep", force=False)) == 0
    assert capsys.readouterr().out == ""
    assert len(said) == 2


def shown(**options: Any) -> str:
    text = io.StringIO()
    Terminal(file=text, **options).show(table(("HEAD",), [["cell"]]))
    return text.getvalue()


def test_colours_are_for_terminals_and_no_color_turns_them_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1m" in shown(force_terminal=True)
    assert "\x1b" not in shown()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in shown(force_terminal=True)  # bold is no colour


@pytest.mark.parametrize("command", [each.name for each in plugin.COMMANDS])
def test_the_help_of_every_command_has_an_example_and_the_exit_codes(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        plugin.parser_of().parse_args([command, "--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0
    assert f"kubectl understudy {command}" in text.partition("Examples:")[2]
    assert "Exit codes: 0" in text


def test_a_subjob_that_does_not_exist_is_refused_with_those_that_do(demo: Cluster) -> None:
    done = demo.run("drill", "demo", "kep")
    assert done.returncode == 2
    assert "demo has no subjob kep. Write one of keep" in done.stderr
