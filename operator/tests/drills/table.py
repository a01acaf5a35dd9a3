"""What drills have shown, as a page."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from understudy.model.guarantees import PRECISE

HEAD = """# Drills

Real faults on real processes: `make drills` runs every programme of `operator/tests/drills/programmes.py` and writes
this page; continuous integration runs the first two. A programme is one run of a job that holds several modes, each
hurt in turn; then `understudy verify` compares the sinks with an execution without failures. Times are in milliseconds
since the fault. A stop that is shorter than the detector's timeout changes no role; a longer one does, and the process
that was stopped comes back as a standby.

`build/drills` remembers which programmes have kept their promises: `make drills` runs only the others and replaces
their sections here, so that all of it can be done in several sittings. `rm -r build/drills` begins anew.

They tell as much of the machine as of the protocols: replacements start their own Spark sessions meanwhile, on the same
cores.
"""


COVERAGE = """
How often which fault has struck whom, in the sections below. Replica backup and savepoint refuse arbitrary operators;
savepoint keeps one element, which is deterministic here because of a Python function.
A recovering primary is killed where upstream can give all of its state again; elsewhere there is no second copy of
the state at that moment, and a standby that is on its way is killed instead.
""".lstrip()
COLUMNS: Final = (
    "primary killed",
    "recovering primary killed",
    "standby killed",
    "stopped for 3 s",
    "stopped for 0.15 s",
)
"""Kinds of faults, by a part of how their cause is told."""


def section(result: Mapping[str, Any]) -> str:
    report = result["report"]
    lines = [f"## {result['name']}\n", f"`--seed {result['seed']}`\n"]
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


def put(page: str, new: str, names: Iterable[str]) -> str:
    """The page with a section replaced or added; sections are in the order of the names."""
    found = {_name(text): text for text in re.split(r"^(?=## )", page, flags=re.MULTILINE) if _name(text)}
    found[_name(new)] = new
    kept = [found[name].rstrip() + "\n" for name in names if name in found]
    return "\n".join([HEAD, coverage(kept), *kept])


def _name(text: str) -> str:
    return text.removeprefix("## ").split("\n")[0] if text.startswith("## ") else ""


def coverage(sections: Iterable[str]) -> str:
    """How often each kind of fault has struck each mode with each class of operators."""
    counts: dict[tuple[str, str, str], int] = defaultdict(int)
    for text in sections:
        for mode, kind, cause in re.findall(r"^\| \S+ \| (\w+) \| (\w+) \| ([^|]+) \|", text, re.MULTILINE):
            for column in COLUMNS:
                counts[mode, kind, column] += column in cause
    lines = [COVERAGE]
    lines += ["| mode | class | " + " | ".join(COLUMNS) + " |", "|" + "---|" * (2 + len(COLUMNS))]
    for mode, precise in PRECISE.items():
        for kind in precise:
            cells = [str(counts[mode, kind, column] or "") for column in COLUMNS]
            lines.append(f"| {mode} | {kind} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"
