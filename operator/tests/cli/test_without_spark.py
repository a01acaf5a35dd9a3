"""The kubectl plugin needs three small libraries: no Spark, no Arrow, no Kafka, no pydantic."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MODULES = {"confluent-kafka": "confluent_kafka", "prometheus-client": "prometheus_client"}
BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocked())
from {module} import main
sys.exit(main({words!r}))
"""


def names_of(requirements: list[str]) -> set[str]:
    found = {re.split(r"[^a-z0-9-]", each.lower())[0] for each in requirements}
    return {MODULES.get(name, name) for name in found}


def without_runtime(module: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a program as where only the base dependencies are installed."""
    names = names_of(PROJECT["optional-dependencies"]["runtime"])
    assert {"pyspark", "pyarrow", "confluent_kafka", "pydantic"} <= names
    program = BLOCKED.format(names=names, module=module, words=list(words))
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_the_plugin_runs_with_its_own_dependencies_only() -> None:
    done = without_runtime("understudy.cli.plugin", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "kubectl understudy" in done.stdout


@pytest.mark.parametrize("command", ["status", "logs", "support", "versions", "drill", "migrate", "report"])
def test_each_command_of_the_plugin_explains_itself_without_spark(command: str) -> None:
    done = without_runtime("understudy.cli.plugin", command, "--help")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_command_that_needs_more_says_what_to_install() -> None:
    done = without_runtime("understudy.cli", "plan", "job.yaml")
    assert done.returncode == 3
    assert "pip install 'understudy[runtime]'" in done.stderr


def test_the_base_dependencies_stay_small() -> None:
    assert names_of(PROJECT["dependencies"]) == {"argcomplete", "pyyaml", "rich"}
    assert PROJECT["optional-dependencies"]["kubectl"] == []
