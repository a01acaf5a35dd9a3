"""`-o json|yaml`: what a command says, for programs. Without it, the same for people."""

from __future__ import annotations

import argparse
import json
from typing import Any, Final

from understudy.cli.terminal import Part, Terminal

FORMATS: Final = ("json", "yaml")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-o", "--output", choices=FORMATS, help="for programs: json or yaml")


def tell(args: argparse.Namespace, facts: Any, *parts: Part) -> None:
    """The facts in the format that was asked for, else the parts."""
    if args.output is None:
        Terminal().show(*parts)
    else:
        print(encoded(facts, args.output), end="")


def encoded(facts: Any, form: str) -> str:
    if form == "json":
        return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
    import yaml

    plain = json.loads(json.dumps(facts))  # values of enumerations are plain text
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
