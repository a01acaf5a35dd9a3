"""What drills have shown, as a page."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.drills.kinds import Kind, kinds
from understudy.model.guarantees import PRECISE

HEAD = """# Drills

Real faults on real processes: `make drills` runs every programme of `operator/tests/drills/programmes.py` and
writes this page; continuous integration always runs the first three, in which every mode and every class of
operators meets the faults that need no new instance, and the others in turns. A programme is one run of a job
that holds several modes; faults hit them in turn at moments drawn from the seed; then `understudy verify`
compares the sinks with an execution without failures. `UNDERSTUDY_SEED=… make drills` draws the same moments
again. Times are in milliseconds since the fault.

`build/drills` remembers which programmes have kept their promises: `make drills` runs only the others, and
those that were changed since, and replaces their sections here, so that all of it can be done in several
sittings. `rm -r build/drills` makes it run all of them again.

The times depend on the machine as much as on the protocols: replacements start their own Spark sessions
meanwhile, on the same cores.
"""


MATRIX = """
The table shows which promises were kept, by mode, class and fault, from the sections below: *kept*, and how
often it was tried; *not run*, if no section holds it. If the result of a sink is weaker than promised, the
promise counts as broken for each fault of a subjob on the sink's path. Replica backup and savepoint refuse
arbitrary operators; savepoint keeps one element, which is deterministic here because of a Python function.

- *Both, one after the other*: first a standby or a primary is killed, then the primary, as soon as the next
  standby protects it.
- *Killed while catching up*: a recovering primary is killed, where upstream can give all of its state again
  (savepoint; upstream backup without a log). In other modes there is no second copy of the state at that
  moment, so a new standby is killed while it joins; the sections say which.
- *Stopped for 3 s*: longer than the detector waits. The standby takes over, and the process that was stopped
  comes back as a standby.
- *Stopped for 0.15 s*: shorter than the detector waits, so no role should change. A busy machine may add to
  the stop, and a take-over within a second of it is counted here; it breaks no promise.
""".lstrip()
CAUSED_MS = 1_000
_ROW = re.compile(r"^\| (\S+) \| (\w+) \| (\w+) \| ([^|]+) \| (kept|broken) \| ([\d,]*) ?\|", re.MULTILINE)


def section(result: Mapping[str, Any]) -> str:
    report = result["report"]
    lines = [f"## {result['name']}\n", f"`--seed {result['seed']}`\n"]
    lines += [
        "| subjob | mode | class | fault | promise | detected | first output | caught up | replayed |",
        "|" + "---|" * 9,
    ]
    for incident in report["incidents"]:
        subjob = report["subjobs"][incident["subjob"]]
        times = [incident[key] for key in ("detectedMs", "firstOutputMs", "caughtUpMs")]
        cells = [incident["subjob"], incident["mode"], subjob["operatorClass"], incident["cause"]]
        cells.append("kept" if result["kept"][incident["subjob"]] else "broken")
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
    return "\n".join([HEAD, matrix(kept), *kept])


def _name(text: str) -> str:
    return text.removeprefix("## ").split("\n")[0] if text.startswith("## ") else ""


def matrix(sections: Iterable[str]) -> str:
    """What became of each mode with each class of operators under each kind of fault."""
    found: dict[tuple[str, str, Kind], list[tuple[bool, bool]]] = defaultdict(list)
    for text in sections:
        for mode, operator_class, kind, kept, caused in _tried(text):
            found[mode, operator_class, kind].append((kept, caused))
    lines = [MATRIX, "| mode | class | " + " | ".join(Kind) + " |", "|" + "---|" * (2 + len(Kind))]
    for mode, precise in PRECISE.items():
        for operator_class in precise:
            cells = [_cell(kind, found[mode, operator_class, kind]) for kind in Kind]
            lines.append(f"| {mode} | {operator_class} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _tried(text: str) -> Iterator[tuple[str, str, Kind, bool, bool]]:
    """(mode, class, kind of fault, whether the promise was kept, whether a role changed soon after)."""
    rows = defaultdict(list)
    for subjob, mode, operator_class, cause, kept, detected in _ROW.findall(text):
        rows[subjob, mode, operator_class].append((cause, kept == "kept", detected.replace(",", "")))
    for (_, mode, operator_class), struck in rows.items():
        for kind, at in kinds([cause for cause, _, _ in struck]):
            _, kept, detected = struck[at]
            yield mode, operator_class, kind, kept, bool(detected) and int(detected) < CAUSED_MS


def _cell(kind: Kind, tried: list[tuple[bool, bool]]) -> str:
    if not tried:
        return "not run"
    broken, caused = sum(not kept for kept, _ in tried), sum(caused for _, caused in tried)
    said = f"broken {broken} of {len(tried)}" if broken else f"kept {len(tried)}"
    if kind is Kind.STOPPED_SHORTLY and caused:
        said += f", {caused} take-over" + ("s" if caused > 1 else "")
    return said
