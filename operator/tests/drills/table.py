"""What drills have shown, as a page."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

HEAD = """# Drills

Real faults on real processes: `make drills` runs every programme of `operator/tests/drills/programmes.py` and writes
this page; continuous integration runs the first two. A programme is one run of a job that holds several modes, each
hurt in turn; then `understudy verify` compares the sinks with an execution without failures. Times are in milliseconds
since the fault. A stop that is shorter than the detector's timeout changes no role; a longer one does, and the process
that was stopped comes back as a standby.

They tell as much of the machine as of the protocols: replacements start their own Spark sessions meanwhile, on the same
cores.
"""


def page(results: Iterable[dict[str, Any]]) -> str:
    return HEAD + "".join(_section(result) for result in results)


def _section(result: dict[str, Any]) -> str:
    report = result["report"]
    lines = [f"\n## {result['name']}\n", f"`--seed {result['seed']}`\n"]
    lines += [
        "| subjob | mode | class | fault | detected | first output | caught up | replayed |",
        "|" + "---|" * 8,
    ]
    for incident in report["incidents"]:
        subjob = report["subjobs"][incident["subjob"]]
        times = [incident[key] for key in ("detectedMs", "firstOutputMs", "caughtUpMs")]
        cells = [incident["subjob"], incident["mode"], subjob["operatorClass"], incident["cause"]]
        cells += ["" if at is None else f"{at:,}" for at in times]
        lines.append("| " + " | ".join([*cells, str(incident["replayed"])]) + " |")
    lines += ["", "| sink | tuples | lost | duplicated | recovery | promised |", "|---|---|---|---|---|---|"]
    for name, sink in report["sinks"].items():
        cells = [name, f"{sink['tuples']:,}", sink["lost"], sink["duplicated"], sink["recovery"]]
        lines.append("| " + " | ".join(str(cell) for cell in [*cells, result["promised"][name]]) + " |")
    return "\n".join(lines) + "\n"


def write(folder: Path, names: Iterable[str], target: Path) -> None:
    """The page of all results in a folder, in the order of the programmes."""
    files = [folder / f"{name}.json" for name in names]
    target.write_text(page(json.loads(file.read_text()) for file in files if file.exists()))
