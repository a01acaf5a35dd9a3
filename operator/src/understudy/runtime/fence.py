"""Whose the output folder of a sink is. A file in the folder names the life that took it last.

A life that was given up may only have been cut off, and go on when its machine is back. So a sink takes the folder
before it looks at what is written there, and looks whose it is before and after each write:

| it is still ours | then |
|---|---|
| before a write | what is written is not in the way of a later life |
| after it | a later life takes the folder, and reads what is written, after it: the write counts, and may be acked |

Where two take the folder at the same time, the one that was last has it.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


class Superseded(OSError):
    """Another sink has taken the folder: stop, and say nothing more."""


@dataclass(frozen=True, slots=True)
class Life:
    """One life of a sink. A later one has a greater number; numbers of different runs can't be compared."""

    run: str = ""
    number: int = 0


class Fence:
    def __init__(self, folder: Path, life: Life) -> None:
        self._path, self._life = folder / "_owner.json", life

    def take(self) -> None:
        """The folder is ours, on disk, unless a later life has it already. Raises Superseded."""
        found = self._owner()
        if found is not None and found.run == self._life.run and found.number > self._life.number:
            raise Superseded(self._why(found))
        made = self._path.with_name(f".{self._path.name}.{self._life.number}.{os.getpid()}")
        with made.open("w") as file:
            json.dump(asdict(self._life), file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(made, self._path)
        _sync(self._path.parent)

    def check(self) -> None:
        """Raises Superseded. The file is opened each time: a file system on the network asks its server then."""
        found = self._owner()
        if found != self._life:
            raise Superseded(self._why(found))

    def _owner(self) -> Life | None:
        try:
            found: dict[str, Any] = json.loads(self._path.read_text())
            return Life(str(found["run"]), int(found["number"]))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return None  # not written by us: whoever takes the folder replaces it

    def _why(self, found: Life | None) -> str:
        if found is None:
            return f"{self._path} no longer says whose the folder is"
        return f"life {found.number} of the sink has taken {self._path.parent}, this is life {self._life.number}"


def _sync(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems can't, and need not
            os.fsync(number)
    finally:
        os.close(number)
