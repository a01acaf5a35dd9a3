"""Executors in pods of their own. The operator says how, in the environment of the driver; without, tasks run there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

EXECUTORS: Final = "UNDERSTUDY_EXECUTORS"
"""JSON: `conf`, settings for Spark, and `template`, what an executor's pod is made from."""


def remote_conf(scratch: Path) -> dict[str, str]:
    told = os.environ.get(EXECUTORS)
    if told is None:
        return {}
    given = json.loads(told)
    template = scratch / "executor.json"
    template.write_text(json.dumps(given["template"]))
    return {**given["conf"], "spark.kubernetes.executor.podTemplateFile": str(template)}
