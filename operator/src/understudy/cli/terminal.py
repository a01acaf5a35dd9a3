"""What commands print tables and colours with."""

from __future__ import annotations

from rich.console import Console


class Terminal(Console):
    def on_broken_pipe(self) -> None:
        """Leave it to the program's entry (`pipes`); rich would exit as if the command had failed."""
        raise BrokenPipeError
