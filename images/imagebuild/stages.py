"""The layers of the image: each is the difference that some steps make to the layers below it.

A layer is cached by all that it is made of, made aside, and renamed when whole. Several builds may run at
once.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import chroot, recipe
from .oci import Layer, cache_dir
from .terminal import step

KEPT = 3  # of each kind: the newest stay for other checkouts and for going back


@dataclass(frozen=True)
class Stage:
    """A finished layer: its files in `root`, and the same as a tar."""

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def layer(self) -> Layer:
        return Layer.of(self.folder / "layer.tar")


def system() -> Stage:
    """A minimal Debian with the packages that contents.env names."""

    def make(root: Path) -> None:
        release = recipe.contents()["DEBIAN_RELEASE"]
        chroot.quietly(["debootstrap", "--variant=minbase", release, str(root)])
        _add_updates(root / "etc/apt/sources.list", release)
        for machines_own in ("etc/resolv.conf", "etc/hostname"):
            (root / machines_own).write_text("")
        chroot.run_steps(["system.sh"], root)

    return _once("system", recipe.system_key(), make)


def python(below: Stage) -> Stage:
    """The Python environment and the class archive."""

    def make(root: Path) -> None:
        chroot.run_steps(["tools.sh"], None, [below.root], tools())
        chroot.run_steps(["python.sh", "train.sh"], root, [below.root], tools())

    return _once("python", recipe.python_key(), make)


def package(below: Sequence[Stage]) -> Stage:
    """understudy itself, from the checkout."""
    roots = [stage.root for stage in reversed(below)]
    return _once(
        "package", recipe.package_key(), lambda root: chroot.run_steps(["package.sh"], root, roots, tools())
    )


def tools() -> Path:
    """pip and its like: used in building, no part of the image."""
    return cache_dir() / f"tools-{recipe.tools_key()}"


def _add_updates(sources: Path, release: str) -> None:
    """Security updates, from where debootstrap took the release."""
    archive = sources.read_text().split()[1].rstrip("/")
    suites = [
        (archive, release),
        (archive, f"{release}-updates"),
        (f"{archive}-security", f"{release}-security"),
    ]
    sources.write_text("".join(f"deb {place} {suite} main\n" for place, suite in suites))


def _once(kind: str, key: str, make: Callable[[Path], None]) -> Stage:
    stage = Stage(cache_dir() / f"{kind}-{key}")
    with _alone(kind):
        if stage.folder.is_dir():
            os.utime(stage.folder)
        else:
            with step(f"building layer {kind}"):
                _build(stage, make)
            prune(kind)
    return stage


@contextmanager
def _alone(kind: str) -> Iterator[None]:
    """One build of a kind at a time; what an earlier one that was killed left behind goes."""
    with open(cache_dir() / f".{kind}.lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with step(f"waiting for another build of layer {kind}"):
                fcntl.flock(lock, fcntl.LOCK_EX)
        for unfinished in cache_dir().glob(f".{kind}-*.partial"):
            shutil.rmtree(unfinished)
        yield


def _build(stage: Stage, make: Callable[[Path], None]) -> None:
    aside = stage.folder.with_name(f".{stage.folder.name}.partial")
    root, tar = aside / "root", aside / "layer.tar"
    root.mkdir(parents=True)
    make(root)
    _refuse_removals(root)
    subprocess.run(
        ["tar", "--numeric-owner", "--sort=name", "--format=gnu", "-C", root, "-cf", tar, "."], check=True
    )
    Layer.of(tar)
    aside.rename(stage.folder)


def _refuse_removals(root: Path) -> None:
    """A layer cannot say that it removes something from a lower one: the markers for that are not written."""
    for folder, _, files in os.walk(root):
        for name in files:
            status = os.lstat(os.path.join(folder, name))
            if stat.S_ISCHR(status.st_mode) and status.st_rdev == 0:
                raise SystemExit(f"a step removed {folder}/{name} from a lower layer")


def prune(kind: str) -> None:
    """Forget all but the newest of a kind."""
    found = sorted(cache_dir().glob(f"{kind}-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in found[KEPT:]:
        shutil.rmtree(old) if old.is_dir() else old.unlink()
