"""The folder in which a run keeps its files."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Folder:
    path: Path

    @property
    def job(self) -> Path:
        return self.path / "job.yaml"

    @property
    def surroundings(self) -> Path:
        return self.path / "surroundings"

    @property
    def code(self) -> Path:
        """The modules of its Python functions."""
        return self.path / "code"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    def sink(self, name: str) -> Path:
        return self.path / "sinks" / name

    @property
    def scratch(self) -> Path:
        return self.path / "scratch"

    @property
    def record(self) -> Path:
        return self.path / "run.json"

    @property
    def report(self) -> Path:
        return self.path / "report.json"

    @property
    def page(self) -> Path:
        return self.path / "report.html"

    @property
    def verdict(self) -> Path:
        return self.path / "verify.json"

    def clear(self) -> None:
        """Removes what an earlier run made, and nothing else."""
        for folder in (self.surroundings, self.code, self.logs, self.path / "sinks", self.scratch):
            shutil.rmtree(folder, ignore_errors=True)
        for file in (self.job, self.record, self.verdict, self.report, self.page):
            file.unlink(missing_ok=True)
        self.path.mkdir(parents=True, exist_ok=True)
