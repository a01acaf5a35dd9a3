"""The settings of TLS and login, from a Secret: a folder with a file for each key, or a properties file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

ALLOWED: Final = ("security.protocol", "sasl.", "ssl.", "enable.sasl.", "enable.ssl.")
REFUSED: Final = ("sasl.kerberos.kinit.cmd", "ssl.engine.", "ssl.providers")
"""The client would run a program or load a library."""


class NoSecurity(OSError):
    """The Secret can't be used; the text says why."""


def security_of(secrets: Path, name: str | None) -> Mapping[str, str]:
    """The client properties of a Secret; none if no Secret is named. Raises NoSecurity."""
    if name is None:
        return {}
    found = dict(_read(secrets / name))
    for key in found:
        if not key.startswith(ALLOWED) or key.startswith(REFUSED):
            raise NoSecurity(
                f"the Secret {name} has the key {key}; write client properties that begin with "
                f"{', '.join(ALLOWED)}"
            )
    return found


def _read(path: Path) -> Iterator[tuple[str, str]]:
    file = path.with_name(f"{path.name}.properties")
    try:
        if path.is_dir():
            for each in sorted(path.iterdir()):
                if not each.name.startswith(".") and each.is_file():
                    yield each.name, each.read_text().removesuffix("\n")
        elif file.is_file():
            yield from _properties(file)
        else:
            raise NoSecurity(f"there is no Secret {path.name}: neither a folder {path} nor a file {file}")
    except (OSError, UnicodeDecodeError) as error:
        if isinstance(error, NoSecurity):
            raise
        raise NoSecurity(f"the Secret {path.name} can't be read: {error}") from error


def _properties(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text().splitlines():
        text = line.strip()
        if not text or text.startswith(("#", "!")):
            continue
        key, found, value = text.partition("=")
        if not found:
            raise NoSecurity(f"{file} has the line {key!r}; write KEY=VALUE")
        yield key.strip(), value.strip()
