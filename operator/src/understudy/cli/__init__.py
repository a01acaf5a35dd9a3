"""The command `understudy`. Each command is one module with `add(parser)` and `run(args) -> exit code`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Final

from understudy import __version__
from understudy.cli.pipes import until_closed


@dataclass(frozen=True, slots=True)
class Command:
    """A module of `package`, imported when it is asked for, and listed where the package is installed."""

    name: str
    group: str
    summary: str
    package: str = __name__

    @property
    def exists(self) -> bool:
        try:
            return find_spec(f"{self.package}.{self.name}") is not None
        except ModuleNotFoundError:
            return False

    def module(self) -> ModuleType:
        return import_module(f"{self.package}.{self.name}")


TRY: Final = "Try a job on this machine"
PROVE: Final = "Prove what it promises"
INSIDE: Final = "What the images run"
DEVELOP: Final = "For work on understudy itself"
LABORATORY: Final = "understudy_lab.commands"  # images go without it

COMMANDS: Final = (
    Command(
        "plan",
        TRY,
        "class, guarantee, recovery time and overhead of each subjob in each mode, and which to take",
    ),
    Command("run", TRY, "the job in local processes: same runtime, same protocols; can kill what it started"),
    Command("console", TRY, "a run that is over as a page in the browser: its network, its incidents"),
    Command("verify", PROVE, "compares a run's sinks with a batch execution of the same query", LABORATORY),
    Command("simulate", PROVE, "the papers' experiments on the protocol core, in simulated time", LABORATORY),
    Command("bench", PROVE, "side-by-side measurements with plain PySpark", LABORATORY),
    Command("operator", INSIDE, "the Kubernetes operator"),
    Command("subjob", INSIDE, "one instance of a subjob: a Spark driver with its output queue"),
    Command("sink", INSIDE, "writes one stream out, each tuple once"),
    Command("ingest", INSIDE, "takes tuples over HTTP into a log on disk"),
    Command("push", TRY, "sends lines over HTTP, each once; keeps them on disk while the job is away"),
    Command("completion", TRY, "prints what bash, zsh or fish need to complete this command"),
    Command("generate", DEVELOP, "writes the CRDs and the reference from the model"),
)

PURPOSE: Final = """\
understudy keeps Spark stream jobs alive. A StreamJob is a query network cut into subjobs, each with its own
high-availability mode: the standby that knows the part takes over when the primary dies. Pick the guarantee
and the recovery time per subjob, see whether it holds, and prove it with a kill.
"""

EXAMPLE: Final = """\
An example session:
  understudy plan examples/telemonitoring.yaml                        what each mode would guarantee and cost
  understudy run examples/telemonitoring.yaml --duration 40s --kill beats@15s --output out
  understudy verify out                                               nothing lost, nothing twice

Exit codes: 0 done, 1 a promise was not kept, 2 bad input, 3 the environment lacks something;
141 the reader of its output was gone, as with `| head`.
Documentation: README.md, docs/architecture.md, docs/reference/streamjob.md.
"""


def main(argv: Sequence[str] | None = None) -> int:
    return until_closed(lambda: _main(argv))


def _main(argv: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    commands = {command.name: command for command in COMMANDS if command.exists}
    if "_ARGCOMPLETE" in os.environ:
        return _complete(list(commands.values()))
    if words and words[0] in commands:
        return _run(commands[words[0]], words[1:])
    parser = argparse.ArgumentParser("understudy", usage="understudy COMMAND …", add_help=False)
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("--version", action="store_true")
    parser.add_argument("command", nargs="?")
    args, _ = parser.parse_known_args(words)
    if args.version:
        print(f"understudy {__version__}")
        return 0
    if args.command is not None or (words and not args.help):
        print(_no_such_command(words, list(commands)), file=sys.stderr)
        return 2
    print(help_text(list(commands.values())))
    return 0


def _complete(commands: Sequence[Command]) -> int:
    """Answers a shell: it has set the variable, and the words are in others."""
    from understudy.cli import completion

    parser = argparse.ArgumentParser("understudy")
    parsers = parser.add_subparsers()
    for command in commands:
        with suppress(ModuleNotFoundError):
            command.module().add(parsers.add_parser(command.name, help=command.summary))
    completion.answer(parser)
    return 0


def help_text(commands: Sequence[Command]) -> str:
    lines = [PURPOSE, "Usage: understudy COMMAND …   (understudy COMMAND --help says more)", ""]
    for group in dict.fromkeys(command.group for command in commands):
        lines.append(f"{group}:")
        lines += [f"  {command.name:<10} {command.summary}" for command in commands if command.group == group]
        lines.append("")
    return "\n".join([*lines, EXAMPLE])


def _no_such_command(words: Sequence[str], known: Sequence[str]) -> str:
    import difflib

    close = difflib.get_close_matches(words[0], known, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"understudy: there is no command {words[0]!r}{hint}; write one of {', '.join(known)}"


def _run(command: Command, words: Sequence[str]) -> int:
    try:
        return _run_installed(command, words)
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] == "understudy":
            raise
        print(
            f"understudy {command.name} needs {missing.name}, which is not installed here: this is the "
            "plugin's installation. pip install 'understudy[runtime]' installs everything",
            file=sys.stderr,
        )
        return 3


def _run_installed(command: Command, words: Sequence[str]) -> int:
    module = command.module()
    parser = argparse.ArgumentParser(
        f"understudy {command.name}",
        description=(module.__doc__ or "").strip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add(parser)
    try:
        return int(module.run(parser.parse_args(words)))
    except KeyboardInterrupt:
        return 130
