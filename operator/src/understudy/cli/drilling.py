"""`kubectl understudy drill`: makes a FailoverDrill, waits for its end, and says how it went."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from understudy.cli import output
from understudy.model.words import GROUP, VERSION, DrillPhase, Fault

Json = dict[str, Any]

PATIENCE_SECONDS: Final = 240.0
OVER: Final = (DrillPhase.PASSED, DrillPhase.FAILED)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job")
    parser.add_argument("subjob")
    parser.add_argument(
        "--fault",
        choices=[str(fault) for fault in Fault],
        default=str(Fault.POD_KILL),
        help="what is done to the primary (default: podKill)",
    )
    parser.add_argument(
        "--recovery", metavar="3s", help="the longest time to the first new output that passes"
    )
    parser.add_argument("--force", action="store_true", help="even if the job is not Protected")
    output.add(parser)


def manifest(args: argparse.Namespace, number: int) -> Json:
    expect = {"recovery": args.recovery} if args.recovery else {}
    spec = {
        "job": args.job,
        "subjob": args.subjob,
        "fault": args.fault,
        "force": args.force,
        "expect": expect,
    }
    metadata = {"name": f"{args.job}-{args.subjob}-{number}", "labels": {"understudy.dev/job": args.job}}
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "FailoverDrill", "metadata": metadata, "spec": spec}


def follow(create: Callable[[str], None], look: Callable[[str], Json], args: argparse.Namespace) -> int:
    """0: passed; 1: failed, or not finished in time."""
    body = manifest(args, int(time.time()))
    name = body["metadata"]["name"]
    create(json.dumps(body))
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        status = look(name).get("status") or {}
        if status.get("phase") in OVER:
            output.tell(args, {"drill": name, **status}, result(name, status))
            return 0 if status["phase"] == DrillPhase.PASSED else 1
        time.sleep(0.5)
    unknown = f"{name} has not ended; is the operator there? kubectl get failoverdrill {name}"
    output.tell(args, {"drill": name, "message": unknown}, unknown)
    return 1


def result(name: str, status: Mapping[str, Any]) -> str:
    figures = status.get("measured") or {}
    told = [
        f"{label}: {figures[key]}{unit}"
        for key, label, unit in (
            ("recoverySeconds", "without output", " s"),
            ("lost", "tuples lost", ""),
            ("duplicated", "tuples duplicated", ""),
        )
        if key in figures
    ]
    return "\n".join([f"{name}: {status['phase'].upper()}. {status.get('message', '')}", *told])
