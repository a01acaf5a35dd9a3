"""Prints what a shell needs to complete `understudy`. For `kubectl understudy`, kubectl's own completion is
enough, with the program kubectl_complete-understudy on the PATH.

Examples:
  source <(understudy completion bash)                     # in ~/.bashrc
  source <(understudy completion zsh)                      # in ~/.zshrc, after compinit
  understudy completion fish > ~/.config/fish/completions/understudy.fish
"""

from __future__ import annotations

import argparse
import io
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from understudy.cli.kubectl import JOBS, Kubectl, NoAnswer, NoSuchJob
from understudy.control import names

SHELLS: Final = ("bash", "zsh", "fish")
ASKED: Final = "_ARGCOMPLETE"
"""A shell that completes sets this variable."""

NO_FILES: Final = ":4"
"""The last line for kubectl: complete no names of files (cobra's ShellCompDirectiveNoFileComp)."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)


def run(args: argparse.Namespace) -> int:
    from argcomplete.shell_integration import shellcode

    print(shellcode(["understudy"], shell=args.shell))
    return 0


def answer(parser: argparse.ArgumentParser) -> None:
    """Answers the shell, and ends the process."""
    import argcomplete

    argcomplete.autocomplete(parser)


def answer_to_kubectl(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """Candidates for the last word, each with its description behind a tab, and a directive."""
    from argcomplete.finders import CompletionFinder

    *before, last = [*words] or [""]
    line = f"{shlex.join(['kubectl-understudy', *before])} {last}"
    os.environ |= {
        ASKED: "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_DFS": "\t",
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line.encode())),
        "COMP_TYPE": "9",
    }
    found = io.StringIO()
    finder = CompletionFinder()
    finder(parser, always_complete_options=False, exit_method=_stay, output_stream=found)
    return [*filter(None, found.getvalue().splitlines()), NO_FILES]


def _stay(code: int = 0) -> None:
    pass


# ---- names on the cluster --------------------------------------------------------------------------------

Completer = Callable[..., list[str]]


def know_names(parser: argparse.ArgumentParser) -> None:
    """Arguments that name something on the cluster are completed with what is there."""
    for action in parser._actions:
        if (look := LOOKS.get(action.dest)) is not None:
            action.completer = _completer(look)  # type: ignore[attr-defined]


def _completer(look: Callable[[Kubectl, argparse.Namespace], Iterable[str]]) -> Completer:
    def complete(prefix: str, parsed_args: argparse.Namespace, **_: Any) -> list[str]:
        kubectl = Kubectl(getattr(parsed_args, "namespace", None), getattr(parsed_args, "context", None))
        try:
            return [name for name in look(kubectl, parsed_args) if name.startswith(prefix)]
        except (NoAnswer, NoSuchJob):
            return []  # a shell has no place for a sentence

    return complete


def _names(objects: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    return (each["metadata"]["name"] for each in objects)


def _of_job(*kinds: str) -> Callable[[Kubectl, argparse.Namespace], Iterable[str]]:
    def look(kubectl: Kubectl, args: argparse.Namespace) -> Iterator[str]:
        spec = kubectl.get(JOBS, args.job)["spec"]
        return (each["name"] for kind in kinds for each in spec.get(kind) or ())

    return look


def _instances(kubectl: Kubectl, args: argparse.Namespace) -> Iterable[str]:
    selector = f"{names.JOB}={args.job},{names.SUBJOB}={args.subjob},{names.INSTANCE}"
    return _names(kubectl.list("pods", "-l", selector))


LOOKS: Final[Mapping[str, Callable[[Kubectl, argparse.Namespace], Iterable[str]]]] = {
    "job": lambda kubectl, _: _names(kubectl.list(JOBS)),
    "subjob": _of_job("subjobs"),
    "sink": _of_job("sinks"),
    "part": _of_job("subjobs", "sinks"),
    "pod": _instances,
    "to": lambda kubectl, _: _names(kubectl.list("nodes")),
}
