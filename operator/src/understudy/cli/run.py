"""Runs a StreamJob on this machine: a process for every subjob instance and sink, with the same runtime and the same
protocols as on Kubernetes. It can kill what it started, replaces it as the operator would, and says what came of it.
The file is watched: an edit of `ha`, the mode included, is applied to the running job.

Leaves in --output: report.json, report.html, sinks/NAME/*.jsonl, job.yaml (the job as it was run), run.json, logs/.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
from datetime import timedelta
from pathlib import Path

from understudy.backends.local.aftermath import tell_of
from understudy.backends.local.direction import Fail, Finish, Schedule
from understudy.backends.local.effective import effective, endless, length, write
from understudy.backends.local.environment import lacking
from understudy.backends.local.faults import Fault, parse_kill, parse_stop
from understudy.backends.local.folder import Folder
from understudy.backends.local.jobfile import JobFile
from understudy.backends.local.partitions import Partition, parse_partition
from understudy.backends.local.supervisor import Supervisor
from understudy.cli.manifest import accepted_job
from understudy.cli.stage import Lines, LiveTable, audience, print_report
from understudy.model.branches import in_use
from understudy.model.job import StreamJob
from understudy.model.value import parse_duration, print_duration

KEPT, NOT_KEPT, BAD_INPUT, LACKING, INTERRUPTED = 0, 1, 2, 3, 130


def add(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "example: understudy run examples/telemonitoring.yaml --duration 40s --kill beats@15s --output out"
    parser.add_argument("job", type=Path, metavar="JOB.yaml")
    parser.add_argument("--duration", metavar="40s", help="generators end with what is due in that time")
    parser.add_argument(
        "--kill",
        action="append",
        default=[],
        metavar="SUBJOB[@primary|standby|protected]@15s",
        help="SIGKILL to that instance (default: the primary) so long after the start; 10s-20s draws a moment; "
        "sink/NAME@15s kills a sink; may be repeated",
    )
    parser.add_argument(
        "--stop",
        action="append",
        default=[],
        metavar="SUBJOB[@primary|standby|protected]@15s+2s",
        help="SIGSTOP to that instance, and SIGCONT so much later; may be repeated",
    )
    parser.add_argument(
        "--partition",
        action="append",
        default=[],
        metavar="A|B@15s+5s",
        help="no byte passes between A and B for so long; a side is SUBJOB, SUBJOB@primary, SUBJOB@standby, sink/NAME, "
        "or * for everybody else and the Leases; may be repeated",
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="default: out/ and the name of the job")
    parser.add_argument("--json", action="store_true", help="print the report to standard output")
    parser.add_argument("--seed", type=int, metavar="N", help="for moments drawn at random")


def run(args: argparse.Namespace) -> int:
    job = accepted_job(args.job)
    try:
        duration = parse_duration(args.duration) if args.duration else None
    except ValueError as error:
        return _refuse(f"--duration: {error}")
    if duration is not None and not duration:
        return _refuse("--duration: write more than 0, such as 40s")
    job = effective(job, duration, args.job.parent)
    faults = _faults(args.kill, args.stop, job, args.seed)
    if isinstance(faults, str):
        return _refuse(faults)
    partitions = _partitions(args.partition, job, args.seed)
    if isinstance(partitions, str):
        return _refuse(partitions)
    if missing := lacking():
        print(f"understudy run: {missing}", file=sys.stderr)
        return LACKING
    folder = Folder((args.output or Path("out") / job.name).absolute())
    folder.clear()
    write(in_use(job), folder.job)
    with audience() as shown:
        supervisor = Supervisor(job, folder, Schedule(faults), shown, JobFile(args.job, duration), partitions)
        return _perform(supervisor, folder, faults, shown, as_json=args.json)


def _refuse(sentence: str) -> int:
    print(f"understudy run: {sentence}", file=sys.stderr)
    return BAD_INPUT


def _faults(kills: list[str], stops: list[str], job: StreamJob, seed: int | None) -> tuple[Fault, ...] | str:
    seed = random.randrange(1 << 31) if seed is None else seed
    drawn = random.Random(seed)
    found = [parse_kill(text, job, drawn) for text in kills] + [parse_stop(text, job, drawn) for text in stops]
    faults = tuple(f for f in found if isinstance(f, Fault))
    if refusal := next((f for f in found if isinstance(f, str)), None):
        return refusal
    end = length(job)
    if late := next((f for f in faults if end is not None and timedelta(milliseconds=f.at_ms) > end), None):
        assert end is not None
        at = print_duration(timedelta(milliseconds=late.at_ms))
        return f"{late.owner}@{at}: the streams end after {print_duration(end)}; write an earlier time"
    if any("-" in text.rpartition("@")[2] for text in (*kills, *stops)):
        moments = ", ".join(f"{f} at {print_duration(timedelta(milliseconds=f.at_ms))}" for f in faults)
        print(f"--seed {seed}: {moments}", file=sys.stderr)
    return faults


def _partitions(texts: list[str], job: StreamJob, seed: int | None) -> tuple[Partition, ...] | str:
    found = [parse_partition(text, job, random.Random(seed)) for text in texts]
    refusal = next((each for each in found if isinstance(each, str)), None)
    return refusal or tuple(each for each in found if isinstance(each, Partition))


def _perform(
    supervisor: Supervisor, folder: Folder, faults: tuple[Fault, ...], shown: LiveTable | Lines, as_json: bool
) -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: supervisor.ask_to_stop())
    record = supervisor.run()
    job = record.versions[-1]
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    match record.outcome:
        case Fail() as failure:
            _explain(failure, supervisor, folder)
            return failure.exit_code
        case Finish() if record.started_ms is None:
            shown.note("stopped before everything was ready; nothing ran")
            return INTERRUPTED
        case Finish() as finish:
            told = tell_of(job, folder, record, shown)
    for fault in faults[len(record.done) :]:
        shown.note(f"the job was over before the {fault} could be {fault.done}")
    shown.close()
    print_report(told, folder, file=sys.stderr if as_json else sys.stdout)
    if as_json:
        print(json.dumps(told.report.to_json(), indent=2))
    if not finish.complete and not endless(job):
        return INTERRUPTED
    return KEPT if told.kept else NOT_KEPT


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _explain(failure: Fail, supervisor: Supervisor, folder: Folder) -> None:
    print(f"understudy run: {failure.why}", file=sys.stderr)
    if failure.culprit is not None:
        for line in supervisor.tail_of(failure.culprit):
            print(f"  | {line}", file=sys.stderr)
        print(f"The whole log is {folder.logs / failure.culprit.name}.log; all others are beside it.", file=sys.stderr)
