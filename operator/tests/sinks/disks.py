"""A small disk of its own: a file with an ext4 on it, that can stand still and can lose its power. For root
only."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SHUTDOWN = 0x8004587D  # EXT4_IOC_SHUTDOWN
WITHOUT_LOG = 2  # what is in the journal in memory is lost as well
TOOLS = ("mkfs.ext4", "mount", "umount", "fsfreeze")

needs_disk = pytest.mark.skipif(
    os.geteuid() != 0 or not all(map(shutil.which, TOOLS)) or not Path("/dev/loop-control").exists(),
    reason="only root can mount a disk",
)


class Disk:
    def __init__(self, folder: Path) -> None:
        self.path, self._image = folder / "mounted", folder / "image"
        self.path.mkdir(parents=True)
        with self._image.open("wb") as file:
            file.truncate(32 * 2**20)
        _do("mkfs.ext4", "-q", str(self._image))
        self._mount()

    def _mount(self) -> None:
        _do("mount", "-o", "loop", str(self._image), str(self.path))

    def freeze(self) -> None:
        """Every write to it waits."""
        _do("fsfreeze", "-f", str(self.path))

    def thaw(self) -> None:
        _do("fsfreeze", "-u", str(self.path))

    def thaw_if_frozen(self) -> None:
        subprocess.run(["fsfreeze", "-u", str(self.path)], check=False, capture_output=True)

    def lose_power(self) -> None:
        """Only what was synced is left. Files on it may not be open."""
        number = os.open(self.path, os.O_RDONLY)
        fcntl.ioctl(number, SHUTDOWN, WITHOUT_LOG.to_bytes(4, "little"))
        os.close(number)
        _do("umount", str(self.path))
        self._mount()

    def close(self) -> None:
        self.thaw_if_frozen()
        _do("umount", "--lazy", str(self.path))


@contextmanager
def disk(folder: Path) -> Iterator[Disk]:
    made = Disk(folder)
    try:
        yield made
    finally:
        made.close()


def _do(*command: str) -> None:
    """Others may look at a new disk, or at all of them: it is busy for a moment then."""
    for _ in range(20):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        time.sleep(0.5)
    raise AssertionError(f"{' '.join(command)}: {done.stderr}")
