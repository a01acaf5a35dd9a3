"""`kubectl understudy migrate` and `switchover`: order a move, wait for its end, and say how it went."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from understudy.cli import output
from understudy.control.names import MOVE
from understudy.model.words import GROUP, VERSION, MigrationPhase

Json = dict[str, Any]

PATIENCE_SECONDS: Final = 360.0
OVER: Final = (MigrationPhase.COMPLETED, MigrationPhase.FAILED)


def add(parser: argparse.ArgumentParser, *, to_node: bool) -> None:
    parser.add_argument("job")
    parser.add_argument("subjob")
    if to_node:
        parser.add_argument("--to", required=True, metavar="NODE", help="the node to move it to")
    output.add(parser)


def manifest(args: argparse.Namespace, number: int) -> Json:
    metadata = {"name": f"{args.job}-{args.subjob}-{number}", "labels": {"understudy.dev/job": args.job}}
    spec = {"job": args.job, "subjob": args.subjob, "toNode": args.to}
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Migration", "metadata": metadata, "spec": spec}


def migrate(create: Callable[[str], None], look: Callable[[str], Json], args: argparse.Namespace) -> int:
    """0 moved, 1 not moved or without an end."""
    body = manifest(args, int(time.time()))
    name = body["metadata"]["name"]
    create(json.dumps(body))

    def ended() -> Json | None:
        status: Json = look(name).get("status") or {}
        return status if status.get("phase") in OVER else None

    return _told(args, _until(ended), lambda status: bool(status["phase"] == MigrationPhase.COMPLETED))


def switchover(annotate: Callable[[str], None], look: Callable[[], Json], args: argparse.Namespace) -> int:
    def last() -> Json:
        subjobs = (look().get("status") or {}).get("subjobs") or ()
        found: Json = next((s.get("lastMove") or {} for s in subjobs if s["name"] == args.subjob), {})
        return found

    before = last()
    annotate(f"{MOVE}/{args.subjob}=standby")
    return _told(
        args,
        _until(lambda: found if (found := last()) != before else None),
        lambda move: bool(move["succeeded"]),
    )


def _until(look: Callable[[], Json | None]) -> Json | None:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        if (found := look()) is not None:
            return found
        time.sleep(0.5)
    return None


def _told(
    args: argparse.Namespace,
    status: Mapping[str, Any] | None,
    succeeded: Callable[[Mapping[str, Any]], bool],
) -> int:
    told = {"job": args.job, "subjob": args.subjob}
    if status is None:
        unknown = "the move has not ended; is the operator there? kubectl understudy versions"
        output.tell(args, {**told, "succeeded": False, "message": unknown}, unknown)
        return 1
    lines = [str(status.get("message", ""))]
    for key, label, unit in (
        ("pauseSeconds", "pause", " s"),
        ("movedBytes", "bytes moved", ""),
        ("lost", "lost", ""),
    ):
        if key in status:
            lines.append(f"{label}: {status[key]}{unit}")
    moved = succeeded(status)
    output.tell(args, {**told, **status, "succeeded": moved}, "\n".join(lines))
    return 0 if moved else 1
