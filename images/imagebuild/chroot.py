"""Steps of the build, run as root inside the layers that are there so far."""

from __future__ import annotations

import os
import ssl
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from .oci import cache_dir
from .recipe import CHECKOUT

# All mounts and processes are in namespaces that end with the builder: nothing to clean up, however it ends.
_ENTER = """
set -eu
if [ -n "$LOWER" ]; then
    mount -t overlay overlay -o "lowerdir=$LOWER,upperdir=$UPPER,workdir=$WORK" "$ROOT"
fi
mount -t proc proc "$ROOT/proc"
mount --rbind /dev "$ROOT/dev"
mount --bind /etc/resolv.conf "$ROOT/etc/resolv.conf"
mount --bind "$SCRATCH" "$ROOT/tmp"
mount -t tmpfs -o mode=755 tmpfs "$ROOT/run"
for folder in src tools pip; do
    mkdir "$ROOT/run/$folder"
done
mount --bind "$CHECKOUT" "$ROOT/run/src"
mount -o remount,bind,ro "$ROOT/run/src"
mount --bind "$TOOLS" "$ROOT/run/tools"
mount --bind "$PIP" "$ROOT/run/pip"
for file in "$AUTHORITIES" /etc/pip.conf; do
    [ ! -f "$file" ] || cp "$file" "$ROOT/run/"
done
for step; do
    env -i $PASSED_ON PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \\
        chroot "$ROOT" "/run/src/images/steps/$step"
done
"""

# How to reach the package index is the builder's business; nothing else gets in.
_PASSED_ON = (
    *("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_DEFAULT_TIMEOUT", "PIP_RETRIES"),
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
)


def run_steps(
    steps: Sequence[str], into: Path | None, lower: Sequence[Path] = (), tools: Path | None = None
) -> None:
    """Run scripts of images/steps. What they change lands in `into`; without one it is thrown away.

    `lower` are the layers below, the topmost first; without any, `into` is the whole file system.
    """
    pip = cache_dir() / "pip"
    pip.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_dir(), prefix=".scratch-") as scratch:
        places = {name: Path(scratch) / name for name in ("work", "upper", "root", "tools", "tmp")}
        for place in (*places.values(), *([tools] if tools else [])):
            place.mkdir(exist_ok=True)
        places["tmp"].chmod(0o1777)  # apt writes there as a user of its own
        variables = {
            "LOWER": ":".join(map(str, lower)),
            "UPPER": into or places["upper"],
            "WORK": places["work"],
            "ROOT": places["root"] if lower else into,
            "TOOLS": tools or places["tools"],
            "SCRATCH": places["tmp"],
            "PIP": pip,
            "CHECKOUT": CHECKOUT,
            "AUTHORITIES": _authorities(),
            "PASSED_ON": " ".join(_passed_on()),
        }
        namespaces = ["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]
        shell = [*namespaces, "/bin/sh", "-c", _ENTER, "enter", *steps]
        quietly(shell, {name: str(value) for name, value in variables.items()}, " ".join(steps))


def _authorities() -> str:
    return os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile or ""


def _passed_on() -> list[str]:
    passed = [f"{name}={os.environ[name]}" for name in _PASSED_ON if name in os.environ]
    if _authorities():
        passed += [f"PIP_CERT=/run/{Path(_authorities()).name}"]
    if Path("/etc/pip.conf").is_file():
        passed += ["PIP_CONFIG_FILE=/run/pip.conf"]
    return passed


def quietly(argv: Sequence[str], env: Mapping[str, str] | None = None, name: str = "") -> None:
    """Run it; what it says is shown only if it fails."""
    done = subprocess.run(
        argv,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join(done.stdout.splitlines()[-40:])
        raise SystemExit(f"{name or argv[0]} failed with status {done.returncode}:\n{tail}")
