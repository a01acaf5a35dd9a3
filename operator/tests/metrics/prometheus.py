"""A real Prometheus on the loopback interface."""

from __future__ import annotations

import json
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

STARTS_SECONDS = 60


@dataclass(frozen=True)
class Target:
    address: str
    labels: Mapping[str, str]
    """What Kubernetes would tell Prometheus about it."""


@dataclass(frozen=True)
class Prometheus:
    address: str

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The series of the answer. Raises ValueError if the expression cannot be parsed."""
        asked = urllib.parse.urlencode({"query": expression})
        try:
            answer = json.loads(self._get(f"/api/v1/query?{asked}"))
        except urllib.error.HTTPError as error:
            raise ValueError(json.load(error)["error"]) from error
        found: list[dict[str, Any]] = answer["data"]["result"]
        return found

    def is_ready(self) -> bool:
        try:
            return bool(self._get("/-/ready"))
        except OSError:
            return False

    def _get(self, path: str) -> bytes:
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=10) as said:
            raw: bytes = said.read()
            return raw


@contextmanager
def scraping(folder: Path, targets: list[Target], rules: Path) -> Iterator[Prometheus]:
    """Scrapes every two seconds, as the chart's monitors do: the labels of the metrics count."""
    listed = [{"targets": [target.address], "labels": dict(target.labels)} for target in targets]
    scrape = {"job_name": "understudy", "honor_labels": True, "static_configs": listed}
    config = {
        "global": {"scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "2s"},
        "rule_files": [str(rules)],
        "scrape_configs": [scrape],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{_free_port()}"
    command = [
        "prometheus",
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
    ]
    log = folder / "prometheus.log"
    with log.open("w") as said, subprocess.Popen(command, stderr=said, stdout=said) as run:
        try:
            yield _started(Prometheus(address), run, log)
        finally:
            run.terminate()


def _started(prometheus: Prometheus, run: subprocess.Popen[bytes], log: Path) -> Prometheus:
    deadline = time.monotonic() + STARTS_SECONDS
    while not prometheus.is_ready():
        alive = run.poll() is None and time.monotonic() < deadline
        assert alive, log.read_text()
        time.sleep(0.1)
    return prometheus


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
