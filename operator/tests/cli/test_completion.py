"""Shell completion: kubectl's convention for plugins, and the scripts for `understudy` itself."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from .cluster import BIN, Cluster


def completed(demo: Cluster, *words: str) -> list[str]:
    """What kubectl is told: the candidates without their descriptions."""
    environment = {**os.environ, "PATH": f"{demo.home}:{os.environ['PATH']}"}
    command = [str(BIN / "kubectl_complete-understudy"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    *candidates, directive = done.stdout.splitlines()
    assert directive == ":4"
    return [each.partition("\t")[0] for each in candidates]


def test_kubectl_completes_commands_with_their_summaries(demo: Cluster) -> None:
    assert completed(demo, "sw") == ["switchover"]
    assert {"status", "logs", "support"} <= set(completed(demo, ""))


def test_kubectl_completes_names_that_are_on_the_cluster(demo: Cluster) -> None:
    assert completed(demo, "status", "") == ["demo"]
    assert completed(demo, "logs", "demo", "") == ["keep", "out"]
    assert completed(demo, "tail", "demo", "") == ["out"]
    assert completed(demo, "fence", "demo", "keep", "demo-keep-") == ["demo-keep-0", "demo-keep-1"]


def test_kubectl_completes_options_and_their_values(demo: Cluster) -> None:
    assert "--recovery" in completed(demo, "drill", "demo", "keep", "--re")
    assert completed(demo, "status", "demo", "-o", "") == ["json", "yaml"]


def test_without_an_answer_nothing_is_completed(demo: Cluster) -> None:
    demo.forbid("streamjobs")
    assert completed(demo, "status", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_there_is_a_script_for_each_shell(shell: str) -> None:
    done = subprocess.run(
        [str(BIN / "understudy"), "completion", shell], capture_output=True, text=True, check=True
    )
    assert "_ARGCOMPLETE" in done.stdout


def test_bash_completes_a_command_by_the_script() -> None:
    program = (
        "source <(understudy completion bash); COMP_WORDS=(understudy comp); COMP_CWORD=1; "
        'COMP_LINE="understudy comp"; '
        "COMP_POINT=${#COMP_LINE}; COMP_TYPE=9; _python_argcomplete understudy; "
        "printf '%s' \"${COMPREPLY[@]}\""
    )
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.strip() == "completion"


def test_another_shell_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "understudy.cli", "completion", "csh"], capture_output=True, check=False
    )
    assert done.returncode == 2
