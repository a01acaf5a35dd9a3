"""The Python functions of a run. Modules beside the manifest are copied into its folder, so that it is whole:
whoever verifies it later needs them too."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from understudy.model.elements import functions_of
from understudy.model.job import StreamJob


def collect(job: StreamJob, beside: Path, folder: Path) -> str | None:
    """Copies what is beside the manifest; why a function is not to be had, if one is not."""
    called = {
        function.function.partition(":")[0] for subjob in job.subjobs for function in functions_of(subjob)
    }
    for module in sorted(called):
        file = beside / f"{module}.py"
        if file.is_file():
            folder.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, folder)
        elif find_spec(module.partition(".")[0]) is None:
            return f"there is no {file.name} beside the manifest, and no module {module} is installed"
    return None


def finding(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that finds the modules there."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), environment.get("PYTHONPATH"))))}
