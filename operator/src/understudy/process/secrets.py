"""Secrets as a process finds them: a folder with a file for each key, or a file `NAME.properties`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path


class NoSecret(OSError):
    """The Secret can't be used; the text says why."""


def read_secret(secrets: Path, name: str) -> Mapping[str, str]:
    """The values of a Secret by their keys. Raises NoSecret."""
    try:
        return dict(_read(secrets / name))
    except NoSecret:
        raise
    except (OSError, UnicodeDecodeError) as error:
        raise NoSecret(f"the Secret {name} can't be read: {error}") from error


def _read(path: Path) -> Iterator[tuple[str, str]]:
    file = path.with_name(f"{path.name}.properties")
    if path.is_dir():
        for each in sorted(path.iterdir()):
            if not each.name.startswith(".") and each.is_file():
                yield each.name, each.read_text().removesuffix("\n")
    elif file.is_file():
        yield from _properties(file)
    else:
        raise NoSecret(f"there is no Secret {path.name}: neither a folder {path} nor a file {file}")


def _properties(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text().splitlines():
        text = line.strip()
        if not text or text.startswith(("#", "!")):
            continue
        key, found, value = text.partition("=")
        if not found:
            raise NoSecret(f"{file} has the line {key!r}; write KEY=VALUE")
        yield key.strip(), value.strip()
