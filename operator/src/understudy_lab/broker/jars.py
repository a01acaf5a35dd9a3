"""The broker's jars, fetched once by their Maven coordinates (`pom.xml`) and kept in the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

POM: Final = Path(__file__).with_name("pom.xml")
_NAMES: Final = {"m": "http://maven.apache.org/POM/4.0.0"}


class NoBroker(Exception):
    """This machine lacks what a broker needs; the text says what."""


def version() -> str:
    found = ElementTree.parse(POM).findtext(".//m:dependency/m:version", namespaces=_NAMES)
    assert found is not None
    return found


def folder() -> Path:
    """Where the jars are; fetches them if they are not there. Raises NoBroker."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "understudy"
    jars = cache / f"kafka-{version()}"
    if not jars.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        _fetch(cache, jars)
    return jars


def _fetch(cache: Path, jars: Path) -> None:
    if shutil.which("mvn") is None:
        raise NoBroker("a broker's jars are fetched with Maven, and there is no mvn on PATH")
    with tempfile.TemporaryDirectory(dir=cache, prefix="kafka-") as scratch:
        whole = Path(scratch) / "jars"
        command = [
            "mvn",
            "-q",
            "-B",
            "-f",
            str(POM),
            "dependency:copy-dependencies",
            "-DincludeScope=runtime",
        ]
        done = subprocess.run(
            [*command, f"-DoutputDirectory={whole}"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise NoBroker(
                f"Maven could not fetch the broker's jars: {done.stdout[-1000:]}{done.stderr[-500:]}"
            )
        if not jars.is_dir():  # somebody else may have been faster
            whole.rename(jars)
