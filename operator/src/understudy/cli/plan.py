"""For each subjob of a job: its class, what each high-availability mode would guarantee and cost, which mode
it runs in and why. Reads the manifest only: no Spark, no cluster."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

from understudy.cli.manifest import accepted_job, refuse_manifest
from understudy.model.costs import print_overhead
from understudy.model.ha import Mode
from understudy.model.plan import ModePlan, SubjobPlan, assumption, plan, to_json
from understudy.model.value import show_size, show_time

HEADS = ("mode", "guarantee", "killed", "node lost", "bandwidth", "pods", "cores", "memory")
LEGEND = (
    "killed, node lost: predicted time from the end of the primary's process, or of its machine, to the "
    "first new "
    "output that is due, if each driver has a core of its own; "
    "bandwidth: extra bytes over the bytes of the inputs; pods, cores, memory: what all instances ask for"
)


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
        console.print(
            f"\n[bold]{name}[/bold]  class {one.verdict.operator_class}: {one.verdict.why}", highlight=False
        )
        table = Table(box=None, padding=(0, 1))
        for head in HEADS:
            table.add_column(head, overflow="fold")
        for mode, entry in one.modes.items():
            style = "bold green" if mode is one.choice.mode else "" if entry.is_available else "dim"
            table.add_row(*_cells(mode, entry, mode is one.choice.mode), style=style)
        console.print(table)
        console.print(f"[bold]takes {one.choice.mode}[/bold]: {one.choice.why}", highlight=False)
        if one.warning:
            console.print(f"[bold yellow]warning[/bold yellow]: {one.warning}", highlight=False)
        elif one.assumed_rates:
            console.print(assumption(one.assumed_rates), highlight=False)
    console.print(f"\n{LEGEND}", highlight=False)


def _cells(mode: Mode, entry: ModePlan, chosen: bool) -> tuple[str, ...]:
    found = entry.prediction
    return (
        f"{'→' if chosen else ' '} {mode}",
        str(entry.promise.guarantee) if entry.is_available else "not yet",
        show_time(found.recovery),
        show_time(found.lost_node),
        print_overhead(found.bandwidth_overhead),
        str(found.takes.pods),
        str(found.takes.cores),
        show_size(found.takes.memory_mi),
    )
