"""OCI image archives, written by hand: a few JSON documents around layer tars.

Layers stay uncompressed. They never travel, and a node imports them several times faster so.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any

EPOCH = "1970-01-01T00:00:00Z"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
BLOCK = tarfile.BLOCKSIZE
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


@dataclass(frozen=True)
class Layer:
    path: Path
    digest: str
    size: int

    @classmethod
    def of(cls, path: Path) -> Layer:
        """The digest is kept beside the tar: hashing a big one takes seconds."""
        note = path.with_name(f"{path.name}.sha256")
        if not note.exists():
            with open(path, "rb") as stream:
                note.write_text(hashlib.file_digest(stream, "sha256").hexdigest())
        return cls(path, note.read_text(), path.stat().st_size)


@dataclass(frozen=True)
class Config:
    entrypoint: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    workdir: str = "/"
    labels: Mapping[str, str] = field(default_factory=dict)

    def document(self, layers: Sequence[Layer]) -> dict[str, Any]:
        return {
            "created": EPOCH,
            "architecture": ARCHITECTURES.get(os.uname().machine, os.uname().machine),
            "os": "linux",
            "config": {
                "User": self.user,
                "Env": [f"{name}={value}" for name, value in self.env.items()],
                "Entrypoint": list(self.entrypoint),
                "WorkingDir": self.workdir,
                "Labels": dict(self.labels),
            },
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer.digest}" for layer in layers]},
            "history": [{"created": EPOCH, "created_by": layer.path.name} for layer in layers],
        }


def _document(value: Any) -> tuple[dict[str, Any], bytes]:
    data = json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
    return {"digest": f"sha256:{hashlib.sha256(data).hexdigest()}", "size": len(data)}, data


def write(archive: Path, name: str, config: Config, layers: Sequence[Layer]) -> str:
    """Write the archive, whole or not at all; returns the image's digest."""
    config_at, config_data = _document(config.document(layers))
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": "application/vnd.oci.image.config.v1+json", **config_at},
        "layers": [
            {
                "mediaType": "application/vnd.oci.image.layer.v1.tar",
                "digest": f"sha256:{layer.digest}",
                "size": layer.size,
            }
            for layer in layers
        ],
    }
    manifest_at, manifest_data = _document(manifest)
    annotations = {
        "io.containerd.image.name": name,
        "org.opencontainers.image.ref.name": name.rpartition(":")[2],
    }
    index = {
        "schemaVersion": 2,
        "manifests": [{"mediaType": MANIFEST, **manifest_at, "annotations": annotations}],
    }
    unfinished = archive.with_name(f".{archive.name}.{os.getpid()}")
    with open(unfinished, "wb", buffering=0) as tar:
        _add(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        _add(tar, "index.json", _document(index)[1])
        _add(tar, _blob(manifest_at["digest"]), manifest_data)
        _add(tar, _blob(config_at["digest"]), config_data)
        for layer in layers:
            _add_layer(tar, layer)
        tar.write(bytes(2 * BLOCK))
    unfinished.rename(archive)
    return str(manifest_at["digest"])


def _blob(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/')}"


def _header(name: str, size: int) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size = size
    return entry.tobuf(tarfile.GNU_FORMAT)


def _add(tar: FileIO, name: str, data: bytes) -> None:
    tar.write(_header(name, len(data)) + data + bytes(-len(data) % BLOCK))


def _add_layer(tar: FileIO, layer: Layer) -> None:
    """Layers are big, so the kernel copies them."""
    tar.write(_header(_blob(f"sha256:{layer.digest}"), layer.size))
    with open(layer.path, "rb") as source:
        left = layer.size
        while left:
            left -= os.copy_file_range(source.fileno(), tar.fileno(), left)
    tar.seek(0, os.SEEK_END)
    tar.write(bytes(-layer.size % BLOCK))


def layer_from(files: Mapping[str, Path], links: Mapping[str, str], to: Path) -> Layer:
    """A small layer: the named files, executable, and symbolic links."""
    with tarfile.open(to, "w", format=tarfile.GNU_FORMAT) as tar:
        for name, source in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = source.stat().st_size, 0o755
            with open(source, "rb") as stream:
                tar.addfile(entry, stream)
        for name, target in links.items():
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            tar.addfile(entry)
    to.with_name(f"{to.name}.sha256").unlink(missing_ok=True)
    return Layer.of(to)


def cache_dir() -> Path:
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = root / "understudy" / "images"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def busybox() -> Path:
    found = shutil.which("busybox", path="/bin:/usr/bin")
    if found is None:
        raise SystemExit("busybox is missing: install busybox-static")
    return Path(found)
