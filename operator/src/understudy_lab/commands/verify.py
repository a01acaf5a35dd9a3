"""Compares the sinks of a run with an execution of the same query without failures: a batch in Spark over the
same input, and a second one in plain Python where the query is simple enough; the two must agree. Tells
precise, repeating, convergent, divergent and gap recovery apart and counts what was lost, duplicated and out
of order. Where inputs meet in the order of arrival or tuples are drawn, a run is held to what all executions
without failures have in common.

Exit code 1 if a sink got less than the subjobs on its path promise.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from understudy.cli.terminal import Part, Terminal, table
from understudy.local.environment import for_children, lacking
from understudy.local.folder import Folder
from understudy.local.report.verdicts import Verdict, verdict_to_json
from understudy_lab.verify.check import NotARun, Run, check, read_run

KEPT, NOT_KEPT, BAD_INPUT, LACKING = 0, 1, 2, 3


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", type=Path, metavar="DIR", help="what `understudy run --output DIR` wrote")
    parser.add_argument("--json", action="store_true", help="print the verdicts to standard output")


def run(args: argparse.Namespace) -> int:
    try:
        found = read_run(Folder(args.folder.absolute()))
    except NotARun as error:
        print(f"understudy verify: {error}", file=sys.stderr)
        return BAD_INPUT
    if missing := lacking():
        print(f"understudy verify: {missing}", file=sys.stderr)
        return LACKING
    verdicts = _check(found)
    if isinstance(verdicts, str):
        print(f"understudy verify: {verdicts}", file=sys.stderr)
        return LACKING
    told = {name: verdict_to_json(verdict) for name, verdict in verdicts.items()}
    found.folder.verdict.write_text(json.dumps(told))
    if args.json:
        print(json.dumps(told, indent=2))
    else:
        Terminal().show(verdict_table(verdicts))
    return KEPT if all(v.kept for v in verdicts.values()) else NOT_KEPT


def _check(found: Run) -> dict[str, Verdict] | str:
    """The verdicts, or what this machine lacks."""
    from understudy.engine.session import Lacking
    from understudy_lab.verify.batch import batch_reference
    from understudy_lab.verify.topics import Gone

    os.environ.update(for_children())
    sys.path.insert(0, str(found.folder.code))
    print("computing the result without failures, as a batch in Spark …", file=sys.stderr, flush=True)
    try:
        with (
            _spark_writes_to(found.folder.logs / "reference.log"),
            batch_reference(found.job.name, found.elsewhere) as reference,
        ):
            return check(found, reference)
    except (Lacking, Gone) as error:
        return str(error)


@contextmanager
def _spark_writes_to(log: Path) -> Iterator[None]:
    """Java inherits file descriptor 2; what it has to say is of no interest to who waits for a verdict."""
    log.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    own = os.dup(2)
    try:
        with log.open("ab") as file:
            os.dup2(file.fileno(), 2)
        yield
    finally:
        sys.stderr.flush()
        os.dup2(own, 2)
        os.close(own)


def verdict_table(verdicts: dict[str, Verdict]) -> Part:
    rows = []
    for name, verdict in verdicts.items():
        rows.append(("kept" if verdict.kept else "NOT KEPT", f"{name}: {verdict.sentence()}"))
        if verdict.remark and verdict.comparison:
            rows.append(("", verdict.remark))
    return table(("", ""), rows)
