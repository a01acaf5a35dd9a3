"""The commands that README, tutorial and how-to pages show are commands that exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from understudy.cli import main, plugin

ROOT = Path(__file__).parents[3]
PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("tutorial", "plugin", "coming-from", "verify")),
]

FENCED = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:understudy|kubectl understudy) [^`\n]+)`")
OPTION = re.compile(r"`(--[a-z]+)[^`]*`")


def shown(page: Path) -> Iterator[str]:
    text = page.read_text()
    for block in FENCED.findall(text):
        yield from (line.split("  #")[0].strip() for line in block.replace("\\\n", " ").splitlines())
    yield from INLINE.findall(text)


def words_of(program: str) -> list[tuple[str, list[str]]]:
    """The page and the words after the program, for each command that begins with the program."""
    begins = re.compile(rf"(?:\.venv/bin/)?{program} +(.*)")
    return [
        (page.name, shlex.split(command[1]))
        for page in PAGES
        for line in shown(page)
        if (command := begins.fullmatch(line))
    ]


def options_in(words: list[str]) -> set[str]:
    return {word.split("=")[0] for word in words if word.startswith("--")}


def help_of(run: object, command: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert callable(run)
    try:
        code = run([command, "--help"])
    except SystemExit as exit_:
        code = exit_.code
    assert code in (0, None), f"{command} is no command"
    return capsys.readouterr().out


@pytest.mark.parametrize(("program", "run"), [("understudy", main), ("kubectl understudy", plugin.main)])
def test_documented_commands_and_their_options_exist(
    program: str, run: object, capsys: pytest.CaptureFixture[str]
) -> None:
    documented = words_of(program)
    assert documented, f"no page shows {program}: the pattern has stopped matching"
    for page, words in documented:
        if words[0].startswith("-"):
            continue
        out = help_of(run, words[0], capsys)
        missing = {option for option in options_in(words) if option not in out}
        assert not missing, f"{page}: `{program} {words[0]}` has no {', '.join(sorted(missing))}"


def test_options_that_the_tutorial_names_alone_are_options_of_run(capsys: pytest.CaptureFixture[str]) -> None:
    named = set(OPTION.findall((ROOT / "docs/tutorial.md").read_text()))
    assert named
    out = help_of(main, "run", capsys)
    assert {option for option in named if option not in out} == set()


def test_files_and_make_targets_in_documented_commands_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for line in shown(page):
            for target in re.findall(r"^make ([a-z-]+)", line):
                assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page.name}: make {target}"
            for path in re.findall(r"\b(?:examples|charts)/[\w./-]+", line):
                assert (ROOT / path).exists(), f"{page.name}: {path}"
