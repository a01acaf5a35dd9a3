"""The failure process of a local run: what the Job's first container would run, as a process of this
machine."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LIMIT_SECONDS = 120.0


def run_process(template: Mapping[str, Any], env: Mapping[str, str], log: Path) -> str:
    """Until it has ended. Returns how, in words."""
    container = _container(template)
    command = [*container.get("command", ()), *container.get("args", ())]
    if not command:
        return "its container names no command, and an image cannot be run here"
    given = {str(e["name"]): str(e.get("value", "")) for e in container.get("env", ())}
    log.parent.mkdir(parents=True, exist_ok=True)
    try:
        with log.open("ab") as out:
            done = subprocess.run(
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env={**env, **given},
                timeout=LIMIT_SECONDS,
                check=False,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it could not be run: {error}"
    return f"it ended with exit code {done.returncode}, see {log}"


def _container(template: Mapping[str, Any]) -> Mapping[str, Any]:
    pod = ((template.get("spec") or {}).get("template") or {}).get("spec") or {}
    found: Mapping[str, Any] = next(iter(pod.get("containers") or ()), {})
    return found
