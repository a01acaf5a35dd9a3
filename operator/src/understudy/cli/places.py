"""Command-line arguments that the processes of a job share."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.model.job import StreamJob
from understudy.model.load import load

if TYPE_CHECKING:
    from understudy.process.ports import Surroundings


def add_place_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--job", required=True, type=Path, metavar="FILE", help="the StreamJob manifest")
    parser.add_argument(
        "--surroundings",
        required=True,
        metavar="local:DIR|kubernetes",
        help="where Lease, addresses and start time are found",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=0, help="Flight port (default: any)")
    parser.add_argument("--status-port", type=int, default=0, help="port of the status page (default: any)")


def load_or_refuse(path: Path) -> StreamJob:
    """The job, or exit 2 with a sentence for each fault."""
    job = load(path.read_text())
    if isinstance(job, StreamJob):
        return job
    for refusal in job:
        print(f"{path}: {refusal.message}", file=sys.stderr)
    raise SystemExit(2)


def surroundings_of(where: str, job: StreamJob) -> Surroundings:
    kind, _, folder = where.partition(":")
    match kind:
        case "local" if folder:
            from understudy.local.surroundings import LocalSurroundings

            return LocalSurroundings(Path(folder))
        case "kubernetes":
            from understudy.kubernetes.surroundings import KubernetesSurroundings

            return KubernetesSurroundings.from_pod(job)
        case _:
            print(f"--surroundings: write local:DIR or kubernetes, not {where!r}", file=sys.stderr)
            raise SystemExit(2)
