"""What each subjob of a job is, what each high-availability mode would guarantee it and cost it, which mode it takes
and why. Reads the manifest only: no Spark, no cluster."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from understudy.cli.manifest import accepted_job, refuse_manifest
from understudy.model.costs import print_overhead
from understudy.model.ha import Mode
from understudy.model.plan import ModePlan, SubjobPlan, plan, to_json


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", type=Path, metavar="JOB.yaml", help="a StreamJob manifest")
    parser.add_argument("--json", action="store_true", help="print the plan as JSON")


def run(args: argparse.Namespace) -> int:
    job = accepted_job(args.job)
    plans = plan(job)
    if isinstance(plans, list):
        refuse_manifest(args.job, [refusal.message for refusal in plans])
    elif args.json:
        print(json.dumps(to_json(plans), indent=2))
    else:
        _show(job.name, plans)
    return 0


def _show(job: str, plans: Mapping[str, SubjobPlan]) -> None:
    from rich.table import Table

    from understudy.cli.terminal import Terminal

    console = Terminal()
    console.print(f"[bold]{job}[/bold]")
    for name, one in plans.items():
        console.print(f"\n[bold]{name}[/bold]  class {one.verdict.operator_class}: {one.verdict.why}", highlight=False)
        table = Table("mode", "guarantee", "recovery", "bandwidth", "", box=None, padding=(0, 2))
        for mode, entry in one.modes.items():
            style = "bold green" if mode is one.choice.mode else "" if entry.is_available else "dim"
            table.add_row(*_cells(mode, entry, mode is one.choice.mode), style=style)
        console.print(table)
        console.print(f"[bold]takes {one.choice.mode}[/bold]: {one.choice.why}", highlight=False)
    detection = next(iter(plans.values())).detection.total_seconds() * 1000
    console.print(
        f"\nrecovery: predicted time after detection (about {detection:.0f} ms) until the lost state is there again; "
        "bandwidth: extra bytes for it over the bytes of the inputs",
        highlight=False,
    )


def _cells(mode: Mode, entry: ModePlan, chosen: bool) -> tuple[str, ...]:
    return (
        f"{'→' if chosen else ' '} {mode}",
        str(entry.promise.guarantee),
        f"{entry.recovery.total_seconds() * 1000:.0f} ms",
        print_overhead(entry.bandwidth_overhead),
        "" if entry.is_available else "not available yet",
    )
