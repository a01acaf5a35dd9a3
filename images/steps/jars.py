"""Make a folder of jars smaller and its order certain.

Native libraries for other machines go. Then the jars move into `lib/`, and one jar beside it names them in
its manifest: a class path of `jars/*` would be expanded in the order in which a file system happens to list a
folder, and Java refuses a class data archive that was made with another order.
"""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

MACHINE = os.uname().machine
# For each jar with native code: which entries are native, and which of them this machine loads.
NATIVE = {
    "rocksdbjni-": (
        "librocksdbjni-",
        {"x86_64": "librocksdbjni-linux64.so", "aarch64": "librocksdbjni-linux-aarch64.so"},
    ),
    "zstd-jni-": (
        ("aix/", "darwin/", "freebsd/", "linux/", "win/"),
        {"x86_64": "linux/amd64/", "aarch64": "linux/aarch64/"},
    ),
}


def strip_native(jar: Path, prefixes: str | tuple[str, ...], wanted: str) -> None:
    slim = jar.with_suffix(".slim")
    with zipfile.ZipFile(jar) as old, zipfile.ZipFile(slim, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            if not entry.filename.startswith(prefixes) or entry.filename.startswith(wanted):
                new.writestr(entry, old.read(entry))
    slim.rename(jar)


def manifest(names: list[str]) -> bytes:
    """Lines end after 72 bytes; a continuation begins with a space."""
    line = "Class-Path: " + " ".join(names)
    lines = [line[:70], *(" " + line[at : at + 69] for at in range(70, len(line), 69))]
    return "\r\n".join(["Manifest-Version: 1.0", *lines, "", ""]).encode()


def main(folder: Path) -> None:
    for jar in folder.glob("*.jar"):
        for prefix, (native, wanted) in NATIVE.items():
            if jar.name.startswith(prefix) and MACHINE in wanted:
                strip_native(jar, native, wanted[MACHINE])
    (folder / "lib").mkdir()
    names = sorted(jar.name for jar in folder.glob("*.jar"))
    for name in names:
        (folder / name).rename(folder / "lib" / name)
    with zipfile.ZipFile(folder / "spark.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", manifest([f"lib/{name}" for name in names]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
