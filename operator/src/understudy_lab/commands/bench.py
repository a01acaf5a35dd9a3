"""Measures understudy side by side with plain PySpark: the same query, on this machine, in the same run.

recovery     the gap that a kill leaves at the sink, each mode against a restart from Spark's checkpoint
plan         what `understudy plan` predicts against what kills cost, every mode and class of operators
silence      how soon a primary is suspected that is stopped and keeps its connections, each mode
moves        for how long a planned move lets a primary stand still
overhead     a micro-batch while nothing fails, one subjob and its standby against plain PySpark
throughput   tuples per second, modes against amnesia, and amnesia against plain PySpark with the same
             generator
bytes        what is sent so that a failure can be survived: checkpoint strategies against each other,
             savepoint against Spark's checkpoint; the machine may be busy
suspicion    take-overs that nothing called for, with two busy processes for each core beside the job
memory       output queues and processes while a sink is dead and an hour's worth of tuples is made
sinks        rows per second that a sink of each kind writes; no Spark
core         tuples per second through output queue, duplicate filter and acks alone: no Spark, no network
push         requests of one row a second into the ingest process, from 32 connections; no Spark

Exit code 1 if a target is not reached. Nothing else should run on the machine meanwhile.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from understudy.local.environment import lacking
from understudy.model.guarantees import AVAILABLE
from understudy.model.ha import Mode

PAGE = Path("docs/benchmarks.md")


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", choices=list(MEASUREMENTS))
    modes = [mode.value for mode in Mode if mode is not Mode.AUTO]
    parser.add_argument(
        "--mode",
        action="append",
        choices=modes,
        help="only this one, where modes are compared; may be repeated",
    )
    parser.add_argument(
        "--runs",
        type=int,
        metavar="N",
        help="kills, stops or moves (10; plan: 3 of each subjob), seconds (overhead 60, bytes 30, "
        "suspicion 600, memory 3600), million tuples (20; sinks 1), thousand requests (200)",
    )
    parser.add_argument("--json", action="store_true", help="print the figures to standard output")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep logs and output there")


def run(args: argparse.Namespace) -> int:
    if args.what not in ("core", "sinks", "push") and (missing := lacking()):
        print(f"understudy bench: {missing}", file=sys.stderr)
        return 3
    if args.what != "plan" and Mode.AMNESIA in (args.mode or ()):
        print("understudy bench: amnesia is what others are compared with; leave it out", file=sys.stderr)
        return 2
    if args.write and not PAGE.exists():
        print(f"understudy bench: --write needs {PAGE}; run it in the checkout", file=sys.stderr)
        return 2
    if args.keep:
        return _measure(args, args.keep.absolute())
    with tempfile.TemporaryDirectory(prefix="understudy-bench-") as folder:
        return _measure(args, Path(folder))


def _measure(args: argparse.Namespace, folder: Path) -> int:
    from understudy_lab.bench import page
    from understudy_lab.bench.plain import Stuck
    from understudy_lab.bench.watching import Failed

    try:
        found, text = MEASUREMENTS[args.what](args, folder, _teller())
    except (Failed, Stuck) as error:
        print(f"understudy bench: {error}", file=sys.stderr)
        return 1
    if args.write:
        page.put(PAGE, args.what, text)
    if args.json:
        print(json.dumps({**asdict(found), "ratio": found.ratio, "met": found.met}, indent=2))
    else:
        _show(text)
    return 0 if found.met else 1


def _show(text: str) -> None:
    """Elsewhere than on a terminal as the page has it."""
    from understudy.cli.terminal import Terminal
    from understudy_lab.bench import page

    console = Terminal()
    console.show(*(page.drawn(text) if console.is_terminal else [text]))


def _recovery(args: argparse.Namespace, folder: Path, say: Callable[[str], None]) -> tuple[Any, str]:
    from understudy_lab.bench import page, recovery_times

    wanted = [Mode(name) for name in args.mode or ()] or [
        mode for mode in recovery_times.TARGETS if mode in AVAILABLE
    ]
    found = recovery_times.measure(wanted, args.runs or 10, folder, say)
    return found, page.recovery_text(found)


def _plan(args: argparse.Namespace, folder: Path, say: Callable[[str], None]) -> tuple[Any, str]:
    from understudy_lab.bench import page, predicting

    modes = [ha for ha in predicting.MODES if not args.mode or ha.partition(",")[0] in args.mode]
    found = predicting.measure(modes, args.runs or 3, folder, say)
    if args.write:
        found = predicting.write(predicting.MEASURED, found, page.where_and_when())
    return found, page.predictions_text(found)


def _silence(args: argparse.Namespace, folder: Path, say: Callable[[str], None]) -> tuple[Any, str]:
    from understudy_lab.bench import page, silence

    found = silence.measure([Mode(name) for name in args.mode or silence.MODES], args.runs or 10, folder, say)
    return found, page.silence_text(found)


def _moves(args: argparse.Namespace, folder: Path, say: Callable[[str], None]) -> tuple[Any, str]:
    from understudy_lab.bench import move_costs, page

    found = move_costs.measure(
        [Mode(name) for name in args.mode or move_costs.MODES], args.runs or 10, folder, say
    )
    return found, page.moving_text(found)


def _overhead(args: argparse.Namespace, folder: Path, say: Callable[[str], None]) -> tuple[Any, str]:
    from understudy_lab.bench import overhead, page

    found = overhead.measure(args.runs or 60, folder, say)
    return found, page.overhead_text(found)


def _throughput(args: argparse.Namespace, folder: Path, say: Callable[[str], None]) -> tuple[Any, str]:
    from understudy_lab.bench import page, throughput

    found = throughput.measure((args.runs or 20) * 1_000_000, folder, say)
    return found, page.throughput_text(found)


def _bytes(args: argparse.Namespace, folder: Path, say: Callable[[str], None]) -> tuple[Any, str]:
    from understudy_lab.bench import page, shipping

    found = shipping.measure(args.runs or 30, folder, say)
    return found, page.shipping_text(found)


def _suspicion(args: argparse.Namespace, folder: Path, say: Callable[[str], None]) -> tuple[Any, str]:
    from understudy_lab.bench import page, suspicion

    found = suspicion.measure(args.runs or 600, folder, say)
    return found, page.suspicion_text(found)


def _memory(args: argparse.Namespace, folder: Path, say: Callable[[str], None]) -> tuple[Any, str]:
    from understudy_lab.bench import page, sink_memory

    found = sink_memory.measure(
        [Mode(name) for name in args.mode or sink_memory.MODES], args.runs or 3600, folder, say
    )
    return found, page.memory_text(found)


def _sinks(args: argparse.Namespace, folder: Path, say: Callable[[str], None]) -> tuple[Any, str]:
    from understudy_lab.bench import page, sink_speed

    found = sink_speed.measure((args.runs or 1) * 1_000_000, folder, say)
    return found, page.sinks_text(found)


def _core(args: argparse.Namespace, folder: Path, say: Callable[[str], None]) -> tuple[Any, str]:
    from understudy_lab.bench import core, page

    found = core.measure((args.runs or 20) * 1_000_000, 1_000, folder)
    return found, page.core_text(found)


def _push(args: argparse.Namespace, folder: Path, say: Callable[[str], None]) -> tuple[Any, str]:
    from understudy_lab.bench import page, push

    found = push.measure(folder, (args.runs or 200) * 1_000)
    return found, page.push_text(found)


MEASUREMENTS = {
    "recovery": _recovery,
    "plan": _plan,
    "silence": _silence,
    "moves": _moves,
    "overhead": _overhead,
    "throughput": _throughput,
    "bytes": _bytes,
    "suspicion": _suspicion,
    "memory": _memory,
    "sinks": _sinks,
    "core": _core,
    "push": _push,
}


def _teller() -> Callable[[str], None]:
    began = time.monotonic()

    def say(text: str) -> None:
        print(f"[{time.monotonic() - began:6.1f} s] {text}", file=sys.stderr, flush=True)

    return say
