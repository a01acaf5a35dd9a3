"""OCI archives: what is in one, and a part of one as a stream."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

_NAME = "io.containerd.image.name"
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Archive:
    path: Path
    images: dict[str, str]  # name -> digest
    layers: tuple[str, ...]  # digests, the lowest first

    @classmethod
    def read(cls, path: Path) -> Archive:
        """Of anything else than an OCI archive with named images nothing is known, and all is imported."""
        with tarfile.open(path) as tar:
            try:
                manifests = _load(tar, "index.json")["manifests"]
            except KeyError:
                return cls(path, {}, ())
            named = {m.get("annotations", {}).get(_NAME, ""): m["digest"] for m in manifests}
            found = [_load(tar, _blob(digest)).get("layers", []) for digest in named.values()]
        layers = tuple(layer["digest"] for image in found for layer in image)
        return cls(path, {} if "" in named else named, layers)

    def send(self, to: IO[bytes], without: Collection[str]) -> None:
        """Write the archive without the blobs of these digests."""
        unwanted = {_blob(digest) for digest in without}
        with tarfile.open(self.path) as tar:
            for member in tar:
                stream = tar.extractfile(member)
                if stream is not None and member.name not in unwanted:
                    to.write(member.tobuf(tarfile.GNU_FORMAT))
                    shutil.copyfileobj(stream, to, _CHUNK)
                    to.write(bytes(-member.size % tarfile.BLOCKSIZE))
        to.write(bytes(2 * tarfile.BLOCKSIZE))


def _blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _load(tar: tarfile.TarFile, name: str) -> Any:
    stream = tar.extractfile(name)
    if stream is None:
        raise KeyError(name)
    return json.load(stream)
