"""How commands print tables and colours: by rich, and as plain lines if the output is not a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

UNBROKEN: Final = 10_000  # columns, if no terminal tells the width: no line is broken

Part = str | Table
"""Sentences, or a table."""


class Terminal(Console):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if not self.is_terminal:
            self.width = UNBROKEN

    def show(self, *parts: Part) -> None:
        """Prints the parts, with a blank line between two."""
        if not self.is_terminal:
            self.file.write(plain(*parts) + "\n")
            return
        for place, part in enumerate(parts):
            if place:
                self.print()
            self.print(Text(part) if isinstance(part, str) else part, soft_wrap=isinstance(part, str))

    def on_broken_pipe(self) -> None:
        """Left to the program's entry (`pipes`), because rich would exit as if the command had failed."""
        raise BrokenPipeError


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> Table:
    """Cells are shown unchanged and complete: text that is too long for the terminal continues in the next
    line."""
    found = Table(
        title=Text(title) if title else None,
        title_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
        pad_edge=False,
        header_style="bold",
        show_header=any(heads),
    )
    for head in heads:
        found.add_column(Text(head), overflow="fold")
    for row in rows:
        found.add_row(*map(Text, row))
    return found


def plain(*parts: Part) -> str:
    """The text for scripts and files: without colours, without broken lines, without spaces at the end of a
    line."""
    console = Console(file=io.StringIO(), width=UNBROKEN, color_system=None)
    return "\n\n".join(part if isinstance(part, str) else _lines(console, part) for part in parts)


def _lines(console: Console, drawn: Table) -> str:
    with console.capture() as captured:
        console.print(drawn)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())
