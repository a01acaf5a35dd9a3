"""One containerd, seen from outside its mount namespace."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from .archives import Archive

CONTENT = Path("var/lib/containerd/io.containerd.content.v1.content/blobs")

# Its own /run and /var/lib (and, for a node, /var/log), then containerd in this shell's place.
BOOT = """
cd "$0" && mount --bind lib /var/lib && mount --bind log /var/log && mount -t tmpfs -o mode=755 tmpfs /run &&
cd / && exec containerd --config /var/lib/containerd.toml
"""


def boot_command(home: Path) -> list[str]:
    return ["unshare", "--mount", "--propagation", "slave", "/bin/sh", "-c", BOOT, str(home)]


@dataclass(frozen=True)
class Containerd:
    pid: int

    @property
    def root(self) -> Path:
        """The file system as the daemon sees it."""
        return Path(f"/proc/{self.pid}/root")

    def _ctr(self, *args: str) -> list[str]:
        return ["ctr", "-a", f"{self.root}/run/containerd/containerd.sock", "-n", "k8s.io", *args]

    def listens(self) -> bool:
        return subprocess.run(self._ctr("version"), capture_output=True, check=False).returncode == 0

    def images(self) -> dict[str, str]:
        """Names and digests."""
        listed = subprocess.run(self._ctr("images", "ls"), check=True, stdout=subprocess.PIPE, text=True)
        rows = [line.split() for line in listed.stdout.splitlines()[1:]]
        return {row[0]: row[2] for row in rows}

    def holds(self, digest: str) -> bool:
        return (self.root / CONTENT / digest.replace(":", "/")).exists()

    def load(self, archive: Archive) -> bool:
        """Import what is missing; returns whether anything was. Only layers that are not there are sent."""
        if archive.images and archive.images.items() <= self.images().items():
            return False
        command = self._ctr("images", "import", "--snapshotter", "overlayfs", "-")
        ctr = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        assert ctr.stdin is not None
        assert ctr.stderr is not None
        try:
            archive.send(ctr.stdin, without=[digest for digest in archive.layers if self.holds(digest)])
            ctr.stdin.close()
        except BrokenPipeError:
            pass  # it says why below
        words = ctr.stderr.read().decode().strip()
        if ctr.wait() != 0:
            raise SystemExit(f"{archive.path} was refused: {words}")
        return True
