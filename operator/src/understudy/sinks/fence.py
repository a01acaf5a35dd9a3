"""Which life owns the output folder of a sink. A life that was given up may only have been stopped, and may
continue at any line.

A sink *takes* the folder before it reads its content. Each take has a unique token, so that a process that is
restarted in the same life supersedes the one before it:

| step of a take | why |
|---|---|
| 1. make a folder of its own, `.take-…` | files that this take puts into place are made there and renamed |
| 2. read `_owner.json`; give up if it names a later life | a sink that was superseded may be started again |
| 3. put its own `_owner.json` into place | the owner before finds out at its next look |
| 4. remove the `.take-…` folders of the others, except later lives | what they were about to rename is gone |
| 5. look whether `_owner.json` still names this take | |

After step 5 no earlier take can change a name in the folder, at whichever line it was stopped: its renames
fail, and the file that it has open is replaced by a copy (`files.py`). Proof for two takes X and Y that both
came through step 5, X first: Y put its `_owner.json` into place after X's step 5, and removed X's folder
after that, unless X is the later life. But if X is, Y had read `_owner.json` before X's was there; so Y's
folder was there when X removed the others, and Y could not put its `_owner.json` into place.

A write counts, and may be acked, if `_owner.json` names this take after the write: a later take reads the
file later, and finds the write.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from understudy.sinks.port import Life, Superseded

TAKE: Final = ".take-"
FORMAT: Final = 2  # of the files beside `_owner.json`; see `files.py`


@dataclass(frozen=True, slots=True)
class Owner:
    """The content of `_owner.json`."""

    life: Life
    take: str = ""
    format: int = 1


class Fence:
    def __init__(self, folder: Path, life: Life) -> None:
        self._folder, self._path = folder, folder / "_owner.json"
        self._me = Owner(life, uuid.uuid4().hex, FORMAT)
        self._own = folder / f"{TAKE}{_digest(life.run)}-{life.number}-{self._me.take}"

    def take(self, fresh: bool) -> bool:
        """Takes the folder, durably. True if all its content was written in this format. Raises
        Superseded."""
        self._own.mkdir()
        found = self._owner()
        if (
            found is not None
            and found.life.run == self._me.life.run
            and found.life.number > self._me.life.number
        ):
            shutil.rmtree(self._own, ignore_errors=True)
            raise Superseded(self._why(found))
        strict = fresh if found is None else found.format >= FORMAT
        self._me = Owner(self._me.life, self._me.take, FORMAT if strict else 1)
        self._name_me()
        for other in self._folder.glob(f"{TAKE}*"):
            if not self._spares(other):
                self._remove(other)
        self.check()
        return strict

    def _name_me(self) -> None:
        life, me = self._me.life, self._me
        with self.stage("owner") as file:
            said = {"run": life.run, "number": life.number, "take": me.take, "format": me.format}
            file.write(json.dumps(said).encode())
            file.flush()
            os.fsync(file.fileno())
        self.publish("owner", self._path)

    def stage(self, name: str) -> IO[bytes]:
        """Makes a file that will be published. Raises Superseded."""
        try:
            return (self._own / name).open("xb")
        except FileNotFoundError:
            raise Superseded(self._why(self._owner())) from None

    def publish(self, name: str, path: Path) -> None:
        """Puts a staged file into place, durably. Raises Superseded if a later take has removed it."""
        try:
            os.rename(self._own / name, path)
        except FileNotFoundError:
            raise Superseded(self._why(self._owner())) from None
        sync(self._folder)

    def discard(self, path: Path) -> None:
        """Removes a file of the folder, durably. Raises Superseded like `publish`: a take that was superseded
        may not remove what its successor has put into place."""
        gone = self._own / "discarded"
        try:
            os.rename(path, gone)
        except FileNotFoundError:
            raise Superseded(self._why(self._owner())) from None
        sync(self._folder)
        gone.unlink(missing_ok=True)

    def check(self) -> None:
        """Raises Superseded. The file is opened each time: a network file system asks its server then."""
        found = self._owner()
        if found != self._me:
            raise Superseded(self._why(found))

    def _spares(self, other: Path) -> bool:
        """Whether the other folder belongs to a later life. That life has not taken the folder yet: it would
        have stopped this take."""
        run, _, rest = other.name.removeprefix(TAKE).partition("-")
        number = rest.partition("-")[0]
        later = (
            number.isdecimal() and run == _digest(self._me.life.run) and int(number) > self._me.life.number
        )
        return other == self._own or later

    def _remove(self, other: Path) -> None:
        """Atomically: after the rename, nothing is found under the names that the other take uses."""
        gone = self._own / other.name
        with suppress(FileNotFoundError):  # another process removed it
            os.rename(other, gone)
        shutil.rmtree(gone, ignore_errors=True)

    def _owner(self) -> Owner | None:
        try:
            found: dict[str, Any] = json.loads(self._path.read_text())
            life = Life(str(found["run"]), int(found["number"]))
            return Owner(life, str(found.get("take", "")), int(found.get("format", 1)))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError, AttributeError):
            return None  # not written by a sink: the next take replaces it

    def _why(self, found: Owner | None) -> str:
        me = self._me.life
        if found is None:
            return f"{self._path} no longer says whose the folder is"
        if found.life == me:
            return f"another process of life {me.number} of the sink has taken {self._folder}"
        return f"life {found.life.number} of the sink has taken {self._folder}, this is life {me.number}"


def make(folder: Path) -> list[Path]:
    """Makes the folder durably, with all its missing ancestors. Returns what was synced, from the top."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    changed = [path.parent for path in reversed(missing)] or [folder.parent]
    for path in changed:
        sync(path)
    return changed


def sync(folder: Path) -> None:
    number = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # some file systems can't, and need not
            os.fsync(number)
    finally:
        os.close(number)


def _digest(run: str) -> str:
    return hashlib.sha256(run.encode()).hexdigest()[:12]
