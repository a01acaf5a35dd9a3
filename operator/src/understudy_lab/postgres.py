"""A PostgreSQL server of our own, on the loopback device, for tests and measurements."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

INSTALLED: Final = Path("/usr/lib/postgresql")
NOBODY: Final = 65534  # the server does not run as root
START_SECONDS: Final = 60


class NoServer(Exception):
    """PostgreSQL is not installed, or does not start."""


class Server:
    """Its data is in a folder that is removed with it."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._as = {"user": NOBODY, "group": NOBODY, "extra_groups": ()} if os.geteuid() == 0 else {}
        self._folder = Path(tempfile.mkdtemp(prefix="understudy-postgres-"))
        self._data = self._folder / "data"
        if self._as:
            os.chown(self._folder, NOBODY, NOBODY)
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self.port = int(found.getsockname()[1])
        self._run("initdb", "--no-sync", "-U", "test", "-E", "UTF8", "--auth", "trust", "-D", str(self._data))

    @classmethod
    def of_debian(cls) -> Server:
        """Raises NoServer."""
        found = sorted(INSTALLED.glob("*/bin"), key=lambda path: int(path.parent.name))
        if not found:
            raise NoServer("there is no PostgreSQL; run scripts/apt-install postgresql")
        return cls(found[-1])

    @property
    def secret(self) -> Mapping[str, str]:
        return {
            "host": "127.0.0.1",
            "port": str(self.port),
            "username": "test",
            "dbname": "postgres",
            "sslmode": "disable",
        }

    def write_secret(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        for key, value in self.secret.items():
            (folder / key).write_text(value)

    def start(self) -> None:
        """Raises NoServer."""
        settings = ("listen_addresses=127.0.0.1", "unix_socket_directories=", f"port={self.port}")
        options = [part for setting in settings for part in ("-c", setting)]
        log = (self._folder / "log").open("ab")
        command = [str(self._programs / "postgres"), "-D", str(self._data), *options]
        self._process = subprocess.Popen(command, stderr=log, stdout=log, cwd=self._folder, **self._as)  # type: ignore[call-overload]
        end = time.monotonic() + START_SECONDS
        while self.query("SELECT 1", check=False) != "1":
            if time.monotonic() > end or self._process.poll() is not None:
                raise NoServer((self._folder / "log").read_text()[-2000:])
            time.sleep(0.1)

    def stop(self) -> None:
        """At once, as in a crash."""
        if self._process is not None:
            self._process.send_signal(3)
            self._process.wait(30)
            self._process = None

    def query(self, sql: str, check: bool = True) -> str:
        """What psql prints: fields separated by `|`."""
        address = f"host=127.0.0.1 port={self.port} user=test dbname=postgres sslmode=disable"
        command = [str(self._programs / "psql"), "-X", "-A", "-t", "-q", "-c", sql, address]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self._folder)
        if check and done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        done = subprocess.run(  # type: ignore[call-overload]
            command, capture_output=True, text=True, check=False, cwd=self._folder, **self._as
        )
        if done.returncode:
            raise NoServer(done.stderr)
