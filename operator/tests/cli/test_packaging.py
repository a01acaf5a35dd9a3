"""The plugin as one file: it runs on a bare Python, and krew's manifest describes it."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from understudy import __version__

from .cluster import Cluster

ROOT = Path(__file__).parents[3]


def build(target: Path) -> Path:
    uri = "https://downloads.example/{version}/{file}"
    command = [sys.executable, str(ROOT / "plugin" / "build.py"), "--to", str(target), "--uri", uri]
    subprocess.run(command, check=True, capture_output=True)
    return target


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("plugin"))


def bare(built: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs it where no package is installed."""
    command = [sys.executable, "-I", "-S", str(built / "kubectl-understudy"), *words]
    found = {**os.environ, **environment}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=found)


def test_it_runs_on_a_python_without_any_package(built: Path) -> None:
    done = bare(built, "--version")
    assert (done.returncode, done.stdout.strip()) == (0, f"kubectl-understudy {__version__}")


def test_it_asks_the_cluster_and_prints_json_and_yaml(built: Path, demo: Cluster) -> None:
    path = f"{demo.home}:{os.environ['PATH']}"
    for form in ("json", "yaml"):
        done = bare(built, "versions", "-o", form, PATH=path)
        assert (done.returncode, done.stderr) == (0, "")
        assert yaml.safe_load(done.stdout)["misfits"] == []


def test_it_completes_for_kubectl(built: Path) -> None:
    assert bare(built, "__complete", "sup").stdout.splitlines()[0].startswith("support\t")


def test_it_has_neither_spark_nor_compiled_code(built: Path) -> None:
    program = built / "kubectl-understudy"
    assert program.stat().st_size < 4_000_000
    listed = subprocess.run(
        [sys.executable, "-m", "zipfile", "-l", str(program)], capture_output=True, text=True, check=True
    ).stdout
    assert "rich/console.py" in listed
    assert not [word for word in ("pyspark", "pyarrow", "pydantic", ".so ") if word in listed]


def test_the_manifest_has_what_krew_asks_for(built: Path) -> None:
    manifest: Any = yaml.safe_load((built / "understudy.yaml").read_text())
    assert manifest["apiVersion"] == "krew.googlecontainertools.github.com/v1alpha2"
    assert (manifest["kind"], manifest["metadata"]) == ("Plugin", {"name": "understudy"})
    spec = manifest["spec"]
    assert spec["version"] == f"v{__version__}"
    assert 0 < len(spec["shortDescription"]) <= 80
    assert {"description", "homepage"} <= set(spec)
    (platform,) = spec["platforms"]
    archive = built / f"kubectl-understudy-{__version__}.tar.gz"
    assert platform["uri"] == f"https://downloads.example/{__version__}/{archive.name}"
    assert platform["sha256"] == hashlib.sha256(archive.read_bytes()).hexdigest()
    with tarfile.open(archive) as packed:
        assert {each["from"] for each in platform["files"]} == set(packed.getnames())
        assert packed.getmember(platform["bin"]).mode & 0o111
    assert "@" not in (built / "understudy.yaml").read_text()


def test_the_same_sources_make_the_same_archive(built: Path, tmp_path: Path) -> None:
    name = f"kubectl-understudy-{__version__}.tar.gz"
    assert (build(tmp_path) / name).read_bytes() == (built / name).read_bytes()
