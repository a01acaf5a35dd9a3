"""Writes crds/, docs/reference, the tables of docs/modes and the chart's dashboards from the code, or says
which of them are out of date."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from understudy.cli.plugin_reference import plugin_files
from understudy.metrics.dashboards import dashboard_files
from understudy.metrics.reference import metrics_files
from understudy.model.crd import crd_files
from understudy.model.reference import reference_files
from understudy.modes.transition_tables import transition_files


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")
    parser.add_argument(
        "--root", type=Path, default=Path(), metavar="DIR", help="the repository (default: here)"
    )


def run(args: argparse.Namespace) -> int:
    generated = {
        **crd_files(),
        **reference_files(),
        **transition_files(),
        **metrics_files(),
        **dashboard_files(),
        **plugin_files(),
    }
    files = {args.root / name: text for name, text in generated.items()}
    stale = [
        path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale:
        if args.check:
            print(f"{path} is not what the code says; run understudy generate", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], encoding="utf-8")
            print(f"wrote {path}")
    return 1 if stale and args.check else 0
