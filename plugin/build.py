"""Writes the kubectl plugin as one file of Python, and krew's manifest for it, to build/plugin.

The program contains the modules that `understudy.cli.plugin` imports and the libraries that it needs, as the
lock files installed them here. They are pure Python, so one file serves every system with Python 3.11 or
later.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import re
import stat
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "operator" / "src"
LOCK = ROOT / "requirements-kubectl.lock"
TEMPLATE = ROOT / "plugin" / "krew.yaml"
EPOCH = (1980, 1, 1, 0, 0, 0)  # so that the same sources make the same file
NAME = "kubectl-understudy"
HOME = "https://example.com/understudy"
START = "import sys\nfrom understudy.cli.plugin import main\nsys.exit(main())\n"
COMPLETER = f"""#!/bin/sh
# kubectl runs this to complete `kubectl understudy …`; both programs have to be on the PATH.
exec {NAME} __complete "$@"
"""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--to", type=Path, default=ROOT / "build" / "plugin", metavar="DIR")
    parser.add_argument("--home", default=HOME, metavar="URL", help="the project's page")
    parser.add_argument(
        "--uri",
        default=f"{HOME}/v{{version}}/{{file}}",
        help="where the archive will be published (default: %(default)s)",
    )
    args = parser.parse_args()
    version = version_of(ROOT / "pyproject.toml")
    args.to.mkdir(parents=True, exist_ok=True)
    program = args.to / NAME
    program.write_bytes(b"#!/usr/bin/env python3\n" + packed(START))
    program.chmod(0o755)
    completer = args.to / "kubectl_complete-understudy"
    completer.write_text(COMPLETER)
    completer.chmod(0o755)
    archive = args.to / f"{NAME}-{version}.tar.gz"
    archive.write_bytes(tarred([program, completer, ROOT / "LICENSE"]))
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    uri = args.uri.format(version=version, file=archive.name)
    filled = {"@VERSION@": version, "@HOME@": args.home, "@URI@": uri, "@SHA256@": digest}
    manifest = TEMPLATE.read_text()
    for placeholder, value in filled.items():
        manifest = manifest.replace(placeholder, value)
    (args.to / "understudy.yaml").write_text(manifest)
    print(f"{program}\n{archive}\n{args.to / 'understudy.yaml'}")
    return 0


def version_of(project: Path) -> str:
    found = re.search(r'^version = "(.+)"$', project.read_text(), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{project} has no version")
    return found[1]


def packed(start: str) -> bytes:
    """The archive that Python runs: `start` as its main module."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        files = {"__main__.py": start.encode(), **dict(own()), **dict(libraries())}
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, data)
    return target.getvalue()


def own() -> Iterator[tuple[str, bytes]]:
    """The modules of understudy that the plugin imports, and the packages that they are in."""
    sys.path.insert(0, str(SOURCE))
    import understudy.cli.plugin  # noqa: F401

    for name, module in sorted(sys.modules.items()):
        if name.partition(".")[0] == "understudy" and module.__file__:
            path = Path(module.__file__)
            yield str(PurePosixPath(path.relative_to(SOURCE))), path.read_bytes()


def libraries() -> Iterator[tuple[str, bytes]]:
    for line in LOCK.read_text().splitlines():
        found = re.match(r"([a-z0-9-]+)==(\S+)", line)
        if found is None:
            continue
        library = distribution(found[1])
        if library.version != found[2]:
            raise SystemExit(
                f"{found[1]} is {library.version} here, the lock file says {found[2]}: make setup"
            )
        for file in library.files or ():
            kept = file.suffix == ".py" or "licenses" in file.parts or file.name in ("LICENSE", "METADATA")
            if kept and ".." not in file.parts:
                yield str(file), Path(str(file.locate())).read_bytes()


def tarred(files: list[Path]) -> bytes:
    import gzip

    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for file in files:
            data = file.read_bytes()
            entry = tarfile.TarInfo(file.name)
            entry.size, entry.mode = len(data), stat.S_IMODE(file.stat().st_mode) & 0o755 | 0o644
            archive.addfile(entry, io.BytesIO(data))
    return gzip.compress(plain.getvalue(), mtime=0)


if __name__ == "__main__":
    sys.exit(main())
