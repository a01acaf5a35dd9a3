"""`Surroundings` on a folder of this machine.

| what | where |
|---|---|
| Lease of a subjob | `leases/SUBJOB.json`, changed only under a lock on `leases/SUBJOB.lock` |
| instances | `instances/INSTANCE.json`; `instances/INSTANCE.gone` when its process has been seen to end |
| acks of a subjob to the sources that it reads | `acks/SUBJOB.json` |
| what the readers of a source agreed on | `choices/SOURCE.json`, changed only under the lock of a Lease |
| sinks that wrote their stream to its end | `ends/SINK.json` |
| the job's identity, and the folder of its Secrets | `job.json` |
| start time | `start` |
| cuts between processes | `cuts.json` |

Every file is replaced by a rename, so a reader needs no lock and never sees half of one. A lock belongs to an
open file: the kernel releases it when its holder dies, so a kill between two steps leaves no lock behind.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.faults.cuts import LEASES, file_in, own
from understudy.local.memory import memory_percent
from understudy.model.ha import Driver
from understudy.process.ports import Unreachable
from understudy.protocol.epochs import LeaseRecord, is_as_expected
from understudy.protocol.ids import Epoch, WallMillis


@dataclass(frozen=True, slots=True)
class Announcement:
    """Where one process listens."""

    subjob: str
    instance: str
    address: str
    status: str
    pid: int


class LocalSurroundings:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._leases = folder / "leases"
        self._instances = folder / "instances"
        self._acks = folder / "acks"
        self._choices = folder / "choices"
        self._ends = folder / "ends"
        for made in (self._leases, self._instances, self._acks, self._choices, self._ends):
            made.mkdir(parents=True, exist_ok=True)

    # --- the Lease

    def read_lease(self, subjob: str) -> LeaseRecord | None:
        self._reach_leases()
        found = _read_json(self._leases / f"{subjob}.json")
        if not found:
            return None
        said = found.get("successor"), found.get("question"), self._gone(found["holder"]).exists()
        return LeaseRecord(found["holder"], found["address"], Epoch(found["epoch"]), *said)

    def try_lease(
        self, subjob: str, expected: LeaseRecord | None, holder: str, address: str
    ) -> LeaseRecord | None:
        with self._locked(subjob):
            found = self.read_lease(subjob)
            if not is_as_expected(found, expected):
                return None
            won = LeaseRecord(holder, address, Epoch(expected.epoch + 1 if expected else 1))
            _write(
                self._leases / f"{subjob}.json", {"holder": holder, "address": address, "epoch": won.epoch}
            )
            return won

    def set_successor(self, subjob: str, holder: str, successor: str) -> None:
        """Orders the holder to move to the successor, if it is still the holder. The next instance that takes
        the Lease gets no such order."""
        with self._locked(subjob):
            found = _read_json(self._leases / f"{subjob}.json")
            if found and found["holder"] == holder:
                self._note(subjob, successor=successor)

    def take_successor_away(self, subjob: str, successor: str) -> bool:
        """Withdraws the order to move. False: the successor holds the Lease already."""
        with self._locked(subjob):
            found = _read_json(self._leases / f"{subjob}.json")
            if found and found["holder"] == successor:
                return False
            if found and found.get("successor") == successor:
                self._note(subjob, successor=None)
            return True

    def ask_holder(self, subjob: str, expected: LeaseRecord, question: str) -> None:
        with self._locked(subjob):
            found = self.read_lease(subjob)
            if found == expected and found.question is None:
                self._note(subjob, question=question)

    def answer(self, subjob: str) -> None:
        with self._locked(subjob):
            self._note(subjob, question=None)

    def _note(self, subjob: str, **said: str | None) -> None:
        path = self._leases / f"{subjob}.json"
        _write(path, {k: v for k, v in {**_read_json(path), **said}.items() if v is not None})

    def _reach_leases(self) -> None:
        if (cuts := own()) is not None and cuts.apart_from(LEASES):
            raise Unreachable("cut off from the Leases")

    @contextmanager
    def _locked(self, subjob: str) -> Iterator[None]:
        try:
            with open(self._leases / f"{subjob}.lock", "w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except OSError as error:
            raise Unreachable(f"the Lease of {subjob} in {self._leases}: {error}") from error

    # --- instances

    def announce(self, subjob: str, instance: str, address: str, status: str) -> None:
        found = {
            "subjob": subjob,
            "instance": instance,
            "address": address,
            "status": status,
            "pid": os.getpid(),
        }
        _write(self._instances / f"{instance}.json", found)
        self._gone(instance).unlink(missing_ok=True)

    def addresses(self, subjob: str) -> list[str]:
        return [a.address for a in self.announced() if a.subjob == subjob]

    def memory_percent(self, driver: Driver) -> float:
        """Each instance leads a session of its own; in another session its memory can't be told from that of
        others."""
        return memory_percent(os.getpid(), driver) if os.getsid(0) == os.getpid() else 0.0

    def neighbours(self) -> list[str]:
        return []

    def announced(self) -> list[Announcement]:
        return [
            Announcement(**found)
            for path in sorted(self._instances.glob("*.json"))
            if (found := _read_json(path))
        ]

    def announcement(self, instance: str) -> Announcement | None:
        found = _read_json(self._instances / f"{instance}.json")
        return Announcement(**found) if found else None

    def withdraw(self, instance: str) -> None:
        """The instance is dead: it need not be asked any more."""
        self._gone(instance).touch()
        (self._instances / f"{instance}.json").unlink(missing_ok=True)

    def _gone(self, instance: str) -> Path:
        return self._instances / f"{instance}.gone"

    # --- cuts

    def cut(self, pairs: list[tuple[str, str]]) -> None:
        """From now on these pairs are cut off from each other, and no others."""
        _replace(file_in(self.folder), json.dumps(pairs))

    # --- acks to sources

    def keep_acks(self, subjob: str, acks: str, epoch: Epoch) -> None:
        with self._locked(subjob):
            found = self.read_lease(subjob)
            if found is None or found.epoch != epoch:
                raise Unreachable(f"the acks are of epoch {epoch}, and the Lease is not")
            _replace(self._acks / f"{subjob}.json", acks)

    def kept_acks(self, subjob: str) -> str | None:
        try:
            return (self._acks / f"{subjob}.json").read_text()
        except FileNotFoundError:
            return None

    # --- choices about sources

    def chosen(self, subjob: str, source: str) -> str | None:
        self._reach_leases()
        try:
            return (self._choices / f"{source}.json").read_text()
        except FileNotFoundError:
            return None

    def choose(self, subjob: str, source: str, before: str | None, after: str) -> bool:
        with self._locked(subjob):
            if self.chosen(subjob, source) != before:
                return False
            _replace(self._choices / f"{source}.json", after)
            return True

    # --- ends

    def note_end(self, subjob: str, sink: str, at: int) -> None:
        _write(self._ends / f"{sink}.json", {"subjob": subjob, "at": at})

    def ends(self, subjob: str) -> dict[str, int]:
        found = {path.stem: _read_json(path) for path in self._ends.glob("*.json")}
        return {sink: end["at"] for sink, end in found.items() if end and end["subjob"] == subjob}

    # --- what the job keeps elsewhere

    def identity(self) -> str:
        return str((_read_json(self.folder / "job.json") or {}).get("identity", ""))

    def secrets(self) -> Path:
        return Path((_read_json(self.folder / "job.json") or {}).get("secrets", "secrets"))

    def set_job(self, identity: str, secrets: Path) -> None:
        _write(self.folder / "job.json", {"identity": identity, "secrets": str(secrets.absolute())})

    # --- the start time

    def start_time(self) -> WallMillis | None:
        try:
            return WallMillis(int((self.folder / "start").read_text()))
        except FileNotFoundError:
            return None

    def set_start_time(self, at: int) -> None:
        _replace(self.folder / "start", str(at))


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unreachable(f"{path}: {error}") from error


def _write(path: Path, value: dict[str, Any]) -> None:
    _replace(path, json.dumps(value))


def _replace(path: Path, text: str) -> None:
    made = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    made.write_text(text)
    os.replace(made, path)
