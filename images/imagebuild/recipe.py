"""What the image is made of, read from where it is written down: contents.env, the Dockerfile and the
checkout."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from pathlib import Path

from .oci import Config

HERE = Path(__file__).resolve().parent.parent
CHECKOUT = HERE.parent


def contents() -> dict[str, str]:
    """The assignments of contents.env, which is also a shell script."""
    words = shlex.split((HERE / "contents.env").read_text(), comments=True)
    return dict(word.split("=", 1) for word in words)


def config() -> Config:
    """The settings of the Dockerfile's last stage."""
    last = re.split(r"^FROM .*$", (HERE / "Dockerfile").read_text(), flags=re.M)[-1]
    found = re.findall(r"^(ENV|LABEL|WORKDIR|USER|ENTRYPOINT) (.*)$", last, flags=re.M)
    single = {word: value for word, value in found if word in ("WORKDIR", "USER", "ENTRYPOINT")}
    return Config(
        entrypoint=json.loads(single["ENTRYPOINT"]),
        env=dict(value.split("=", 1) for word, value in found if word == "ENV"),
        user=single["USER"],
        workdir=single["WORKDIR"],
        labels=dict(value.split("=", 1) for word, value in found if word == "LABEL"),
    )


def key(*parts: str | Path) -> str:
    """A digest of texts, files and folders; what Python leaves in folders does not count."""
    digest = hashlib.sha256()
    for part in parts:
        for file in _files(part) if isinstance(part, Path) else ():
            digest.update(f"{file.relative_to(CHECKOUT)}\0{file.stat().st_mode}\0".encode())
            digest.update(hashlib.sha256(file.read_bytes()).digest())
        if isinstance(part, str):
            digest.update(f"{part}\0".encode())
    return digest.hexdigest()[:16]


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    found = sorted(path.rglob("*"))
    skipped = ("__pycache__", ".egg-info")
    return [
        file for file in found if file.is_file() and not any(part.endswith(skipped) for part in file.parts)
    ]


def system_key() -> str:
    return key(*_values("DEBIAN_RELEASE", "DEBIAN_PACKAGES", "USER_ID", "WRITABLE"), HERE / "steps/system.sh")


def _values(*names: str) -> list[str]:
    """Some assignments: a change of the others does not make everything anew."""
    return [f"{name}={contents()[name]}" for name in names]


def tools_key() -> str:
    return key(CHECKOUT / "requirements-build.lock", HERE / "steps/tools.sh")


def python_key() -> str:
    steps = [HERE / "steps" / name for name in ("python.sh", "jars.py", "train.sh", "train.py")]
    return key(system_key(), tools_key(), HERE / "contents.env", CHECKOUT / "requirements.lock", *steps)


def package_key() -> str:
    sources = [CHECKOUT / name for name in ("pyproject.toml", "README.md", "LICENSE", "operator/src")]
    return key(python_key(), *sources, HERE / "entrypoint.sh", HERE / "steps/package.sh")
