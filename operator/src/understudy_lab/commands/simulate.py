"""The papers' experiments on the protocol core, in simulated time, and the exploration of faults.

understudy simulate hwang-table6          one experiment: the paper's figures beside ours
understudy simulate all                   all of them
understudy simulate redraw                draws the plots of the stored results again
understudy simulate faults --seeds 2000   random networks, workloads and failures against an oracle
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from understudy_lab.experiments.experiment import Experiment

DOCS = Path("docs/simulation")
LONG = ("hwang-figure6", "planner", "osiris-backups")  # begun first, so that nobody waits for them at the end


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="an experiment, 'all', 'list', 'redraw' or 'faults'")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--runs", type=int, default=10, help="runs for each cell (default 10; the papers have 25)"
    )
    parser.add_argument(
        "--into",
        type=Path,
        metavar="FOLDER",
        help=f"write result and plot (Markdown, SVG) there; default {DOCS}/results where there is a {DOCS}",
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="all, faults: processes that share the work"
    )
    parser.add_argument("--seeds", type=int, default=2_000, help="faults: how many")
    parser.add_argument("--first", type=int, default=0, help="faults: the first seed")
    parser.add_argument("--mode", help="faults: only this mode")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="faults: write progress there, and go on from it"
    )
    parser.add_argument(
        "--histories",
        type=Path,
        metavar="FILE",
        help="faults: write a digest of each seed's history there, to compare two versions of the core",
    )
    parser.add_argument("--story", action="store_true", help="faults: print what happened (with --seeds 1)")


def run(args: argparse.Namespace) -> int:
    from understudy_lab.experiments.catalogue import EXPERIMENTS
    from understudy_lab.experiments.plot import missing

    if args.name == "faults":
        return _faults(args)
    if args.name == "list":
        print("\n".join(EXPERIMENTS))
        return 0
    names = list(EXPERIMENTS) if args.name == "all" else [args.name]
    if args.name not in (*EXPERIMENTS, "all", "redraw"):
        print(
            f"no experiment {args.name!r}: there are {', '.join(EXPERIMENTS)}, all, redraw, faults",
            file=sys.stderr,
        )
        return 2
    if args.runs < 1:
        print("--runs: write 1 or more", file=sys.stderr)
        return 2
    if _folder(args) is not None and (lacking := missing()):
        print(f"understudy simulate: {lacking}", file=sys.stderr)
        return 3
    if args.name == "redraw":
        return _redraw(args)
    found = _conduct_all(names, args) if args.name == "all" else [_conduct(args.name, args.runs)]
    if args.name != "all":
        _write(found[0], args)
    _print(found, args)
    return 0


# ---- conducting --------------------------------------------------------------------------------------------


def _conduct(name: str, runs: int) -> Experiment:
    from understudy_lab.experiments.catalogue import EXPERIMENTS

    found = EXPERIMENTS[name](_progress(name), runs)
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    return found


def _conduct_all(names: Sequence[str], args: argparse.Namespace) -> list[Experiment]:
    """Several at a time; each result is written as soon as it is there."""
    started, found = time.monotonic(), dict[str, "Experiment"]()
    with ProcessPoolExecutor(max_workers=max(args.jobs, 1)) as pool:
        underway = {pool.submit(_conduct, name, args.runs): name for name in sorted(names, key=_begun_late)}
        for done in as_completed(underway):
            name = underway[done]
            found[name] = done.result()
            _write(found[name], args)
            spent = time.monotonic() - started
            print(
                f"{len(found)} of {len(names)} done after {spent:.0f} s: {name}", file=sys.stderr, flush=True
            )
    ordered = [found[name] for name in names]
    _write_index(ordered, args, time.monotonic() - started)
    return ordered


def _begun_late(name: str) -> bool:
    return name not in LONG


def _progress(name: str) -> Callable[[str], None]:
    def show(text: str) -> None:
        end = "" if sys.stderr.isatty() else "\n"
        print(
            f"{chr(13) + chr(27) + '[K' if not end else ''}{name}: {text} …",
            end=end,
            file=sys.stderr,
            flush=True,
        )

    return show


# ---- showing -----------------------------------------------------------------------------------------------


def _print(found: Sequence[Experiment], args: argparse.Namespace) -> None:
    if args.json:
        results = [one.to_json() for one in found]
        print(json.dumps(results if args.name == "all" else results[0], indent=2))
        return
    from understudy.cli.terminal import Terminal

    for one in found:
        show(one, Terminal())
    if (folder := _folder(args)) is not None:
        print(f"written: {folder / ('README' if args.name == 'all' else args.name)}.md")


def _folder(args: argparse.Namespace) -> Path | None:
    folder: Path | None = args.into
    return folder or (DOCS / "results" if DOCS.is_dir() else None)


def _made(args: argparse.Namespace) -> str:
    day = datetime.now(UTC)
    return f"{day.day} {day:%B %Y}, {args.runs} runs per cell."


def _write(one: Experiment, args: argparse.Namespace) -> None:
    from understudy_lab.experiments import page

    if (folder := _folder(args)) is not None:
        page.write(one, folder, _made(args))


def _write_index(found: Sequence[Experiment], args: argparse.Namespace, seconds: float) -> None:
    from understudy_lab.experiments import page

    if (folder := _folder(args)) is not None:
        page.write_index(
            found, folder, f"{_made(args)} {seconds:.0f} s with {args.jobs} experiments at a time."
        )


def _redraw(args: argparse.Namespace) -> int:
    from understudy_lab.experiments import page

    folder = _folder(args)
    drawn = page.redraw(folder) if folder is not None else []
    if not drawn:
        print("redraw: there are no results; name their folder with --into", file=sys.stderr)
        return 2
    print(f"drawn: {len(drawn)} plots in {folder}")
    return 0


def show(experiment: Experiment, console: Console) -> None:
    from rich.table import Table

    from understudy_lab.experiments.page import is_close, texts

    console.print(f"\n[bold]{experiment.title}[/bold]", highlight=False)
    table = Table(box=None, padding=(0, 2))
    for head in ("", "", "metric", experiment.against, "measured", "± 95 %", "ratio"):
        table.add_column(head, overflow="fold")
    for cell in experiment.cells:
        paper, error, ratio = texts(cell)
        style = "" if is_close(cell) else "yellow"
        table.add_row(
            cell.row, cell.column, cell.metric, paper, f"{cell.measured:.2f}", error, ratio, style=style
        )
    console.print(table)
    for check in experiment.checks:
        verdict = "[green]holds[/green]" if check.holds else "[red]does not hold[/red]"
        console.print(f"{verdict}: {check.says}", highlight=False)
    for note in experiment.notes:
        console.print(f"[dim]assumed: {note}[/dim]", highlight=False)


# ---- faults ------------------------------------------------------------------------------------------------


def _faults(args: argparse.Namespace) -> int:
    from understudy_lab.exploration.explore import explore, has_weather
    from understudy_lab.exploration.fault_schedules import story

    if args.story:
        print(story(args.first, args.mode, has_weather(args.first)))
        return 0
    report = explore(args.first, args.seeds, args.mode, _progress("faults"), args.jobs, args.record)
    if args.histories:
        args.histories.write_text("".join(f"{seed} {digest}\n" for seed, digest in report.digests.items()))
    if args.json:
        print(json.dumps(report.to_json(), indent=2))
    else:
        print(report.text())
    return 0 if not report.failures else 1
