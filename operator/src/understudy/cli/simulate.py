"""The papers' experiments on the protocol core, in simulated time, and the exploration of faults.

understudy simulate hwang-table6          one experiment: the paper's figures beside ours
understudy simulate all                   all of them
understudy simulate faults --seeds 2000   random networks, workloads and failures against an oracle
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="an experiment, 'all', 'list' or 'faults'")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--runs", type=int, default=10, help="runs for each cell (the papers have 25)")
    parser.add_argument("--plots", type=Path, metavar="FOLDER", help="draw plots (SVG) into this folder")
    parser.add_argument("--seeds", type=int, default=2_000, help="faults: how many")
    parser.add_argument("--first", type=int, default=0, help="faults: the first seed")
    parser.add_argument("--mode", help="faults: only this mode")
    parser.add_argument("--story", action="store_true", help="faults: print what happened (with --seeds 1)")


def run(args: argparse.Namespace) -> int:
    from understudy.backends.simulation.catalogue import EXPERIMENTS

    if args.name == "faults":
        return _faults(args)
    if args.name == "list":
        print("\n".join(EXPERIMENTS))
        return 0
    names = list(EXPERIMENTS) if args.name == "all" else [args.name]
    unknown = [n for n in names if n not in EXPERIMENTS]
    if unknown:
        print(f"no experiment {unknown[0]!r}: there are {', '.join(EXPERIMENTS)}, all, faults", file=sys.stderr)
        return 2
    found = [_one(name, args) for name in names]
    if args.json:
        print(json.dumps(found[0] if len(found) == 1 else found, indent=2))
    return 0


def _one(name: str, args: argparse.Namespace) -> dict[str, object]:
    from understudy.backends.simulation.catalogue import EXPERIMENTS
    from understudy.backends.simulation.plots import draw

    experiment = EXPERIMENTS[name](_progress(name), args.runs)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    path = draw(experiment, args.plots) if args.plots is not None else None
    if not args.json:
        _show(experiment)
        if path is not None:
            print(f"plot: {path}")
    return experiment.to_json()


def _progress(name: str) -> Callable[[str], None]:
    def show(text: str) -> None:
        end = "" if sys.stderr.isatty() else "\n"
        print(f"{chr(13) + chr(27) + '[K' if not end else ''}{name}: {text} …", end=end, file=sys.stderr, flush=True)

    return show


def _show(experiment: object) -> None:
    from rich.console import Console
    from rich.table import Table

    from understudy.backends.simulation.experiment import Experiment

    assert isinstance(experiment, Experiment)
    console = Console()
    console.print(f"\n[bold]{experiment.title}[/bold]", highlight=False)
    table = Table("", "", "metric", "paper", "measured", "± 95 %", "ratio", box=None, padding=(0, 2))
    for cell in experiment.cells:
        paper = "" if cell.paper is None else f"{cell.paper:g}"
        error = "" if cell.error is None else f"{cell.error:.2f}"
        ratio = "" if cell.ratio is None else f"{cell.ratio:.2f}"
        style = "yellow" if cell.ratio is not None and not 0.85 <= cell.ratio <= 1.15 else ""
        table.add_row(cell.row, cell.column, cell.metric, paper, f"{cell.measured:.2f}", error, ratio, style=style)
    console.print(table)
    for check in experiment.checks:
        console.print(
            f"{'[green]holds[/green]' if check.holds else '[red]does not hold[/red]'}: {check.says}", highlight=False
        )
    for note in experiment.notes:
        console.print(f"[dim]assumed: {note}[/dim]", highlight=False)


def _faults(args: argparse.Namespace) -> int:
    from understudy.backends.simulation.faults import explore, story

    if args.story:
        print(story(args.first, args.mode))
        return 0
    report = explore(args.first, args.seeds, args.mode, _progress("faults"))
    if args.json:
        print(json.dumps(report.to_json(), indent=2))
    else:
        print(report.text())
    return 0 if not report.failures else 1
