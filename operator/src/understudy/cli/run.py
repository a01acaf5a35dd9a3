"""Runs a StreamJob on this machine: a process for every subjob instance and sink, with the same runtime and
the same protocols as on Kubernetes. It can kill these processes, replaces them as the operator would, and
reports the result. It exits with 1 if a requested fault did not happen because the job ended before, or if a
take-over stopped the output for longer than the subjob's `maxRecovery`. The file is watched: an edit of `ha`,
the mode included, is applied to the running job.

Leaves in --output: report.json, report.html, sinks/NAME/*.jsonl, job.yaml (the job as it was run), run.json,
logs/.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from understudy.cli.console import ANY_PORT, open_console, port
from understudy.cli.fault_options import Programme, programme_of, undone
from understudy.cli.live import Lines, LiveTable, audience, print_report
from understudy.cli.manifest import accepted_job
from understudy.console.board import Board
from understudy.console.finished_run import read_folder
from understudy.console.live_run import LiveRun
from understudy.console.look import view_of
from understudy.console.seen import JobSeen
from understudy.local.effective import effective, endless, watching, write
from understudy.local.environment import lacking
from understudy.local.folder import Folder
from understudy.local.report.finish import tell_of
from understudy.local.run.code import collect
from understudy.local.run.intents import Fail, Finish
from understudy.local.run.jobfile import JobFile
from understudy.local.run.nemesis import Schedule
from understudy.local.run.observed import Observed
from understudy.local.run.supervisor import Audience, Supervisor
from understudy.model.branches import in_use
from understudy.model.plan import plan, warnings
from understudy.model.value import parse_duration

KEPT, NOT_KEPT, BAD_INPUT, LACKING, INTERRUPTED = 0, 1, 2, 3, 130


def add(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "example: understudy run examples/telemonitoring.yaml --duration 40s --kill beats@15s --output out"
    )
    parser.add_argument("job", type=Path, metavar="JOB.yaml")
    parser.add_argument("--duration", metavar="40s", help="generators end with what is due in that time")
    parser.add_argument(
        "--kill",
        action="append",
        default=[],
        metavar="SUBJOB[@primary|standby|protected|recovering|joining]@15s",
        help="SIGKILL to that instance (default: the primary) so long after the start; 10s-20s draws "
        "a moment; sink/NAME@15s kills a sink; may be repeated",
    )
    parser.add_argument(
        "--stop",
        action="append",
        default=[],
        metavar="SUBJOB[@primary|standby|protected|recovering|joining]@15s[+2s]",
        help="SIGSTOP to that instance, and SIGCONT so much later (default: 3s, or twice the time in which "
        "silence is suspected); may be repeated",
    )
    parser.add_argument(
        "--hang",
        action="append",
        default=[],
        metavar="SUBJOB[@primary|standby|protected|recovering|joining]@15s[+20s]",
        help="SIGSTOP to the JVM of that instance and to nothing else, and SIGCONT so much later "
        "(default: 20s): Spark hangs, the process lives; may be repeated",
    )
    parser.add_argument(
        "--partition",
        action="append",
        default=[],
        metavar="A|B@15s+5s",
        help="no byte passes between A and B for so long; a side is SUBJOB, SUBJOB@primary, SUBJOB@standby, "
        "sink/NAME, or * for everybody else and the Leases; may be repeated",
    )
    parser.add_argument(
        "--overload",
        action="append",
        default=[],
        metavar="SUBJOB[@primary|standby]@15s[+20s]",
        help="for so long (default: 20s) that instance gets a fifth of the processor; a primary moves away "
        "from it by itself, by its `ha.overload` or else by the default limits; may be repeated",
    )
    parser.add_argument(
        "--migrate",
        action="append",
        default=[],
        metavar="SUBJOB@15s",
        help="move the primary to a new instance, with its live state; may be repeated",
    )
    parser.add_argument("--output", type=Path, metavar="DIR", help="default: out/ and the name of the job")
    parser.add_argument(
        "--secrets",
        type=Path,
        metavar="DIR",
        help="what Secrets are on Kubernetes: DIR/NAME/KEY is a file for each key (default: secrets, beside "
        "the manifest)",
    )
    parser.add_argument(
        "--console",
        nargs="?",
        type=port,
        const=ANY_PORT,
        metavar="PORT",
        help="show the run as a page in the browser while it runs, on this port of 127.0.0.1 (without "
        "PORT: a free one)",
    )
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
    programme = programme_of(args, job)
    if isinstance(programme, str):
        return _refuse(programme)
    watched = frozenset(
        s.name for s in job.subjobs if s.name in programme.overloaded and s.ha.overload is None
    )
    job = watching(job, watched)
    if programme.seed is not None:
        print(programme.drawn(), file=sys.stderr)
    if missing := lacking():
        print(f"understudy run: {missing}", file=sys.stderr)
        return LACKING
    folder = Folder((args.output or Path("out") / job.name).absolute())
    folder.clear()
    if refusal := collect(job, args.job.parent, folder.code):
        return _refuse(refusal)
    write(in_use(job), folder.job)
    plans = plan(job)
    with audience() as shown:
        for warning in warnings(plans) if isinstance(plans, Mapping) else ():
            shown.note(f"warning: {warning}")
        for name in sorted(watched):
            shown.note(
                f"{name} has no ha.overload: in this run it watches for overloads with the default limits"
            )
        file, schedule = JobFile(args.job, duration, watched), Schedule(programme.faults)
        secrets = args.secrets or args.job.parent / "secrets"
        board = Board()
        server = open_console(board, args.console) if args.console is not None else None
        if isinstance(server, str):
            print(f"understudy run: {server}", file=sys.stderr)
            return LACKING
        live = LiveRun(board)
        everybody: Audience = shown if server is None else Both(shown, live)
        supervisor = Supervisor(
            job, folder, schedule, everybody, file, programme.partitions, programme.planned, secrets
        )
        live.follow(supervisor.record)
        if server is not None:
            shown.note(f"the console is at {server.url} while this runs")
        try:
            return _perform(supervisor, live, folder, programme, shown, as_json=args.json)
        finally:
            if server is not None:
                _show_the_end(board, folder)
                server.stop()


@dataclass(frozen=True, slots=True)
class Both:
    """Two audiences of one run."""

    first: Audience
    second: Audience

    def note(self, text: str) -> None:
        self.first.note(text)
        self.second.note(text)

    def watch(self, observed: Observed, tuples: Mapping[str, int]) -> None:
        self.first.watch(observed, tuples)
        self.second.watch(observed, tuples)


def _show_the_end(board: Board, folder: Folder) -> None:
    """The run as `understudy console` will show it, for pages that are open."""
    seen = read_folder(folder.path)
    if isinstance(seen, JobSeen):
        board.show(view_of(seen))


def _refuse(sentence: str) -> int:
    print(f"understudy run: {sentence}", file=sys.stderr)
    return BAD_INPUT


def _perform(
    supervisor: Supervisor,
    live: LiveRun,
    folder: Folder,
    programme: Programme,
    shown: LiveTable | Lines,
    as_json: bool,
) -> int:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: supervisor.ask_to_stop())
    record = supervisor.run()
    live.end()
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
    shown.close()
    print_report(told, folder, file=sys.stderr if as_json else sys.stdout)
    if as_json:
        print(json.dumps(told.report.to_json(), indent=2))
    missing = list(undone(programme, record))
    for sentence in missing:
        print(f"understudy run: {sentence}", file=sys.stderr)
    if not finish.complete and not endless(job):
        return INTERRUPTED
    return KEPT if told.kept and not missing else NOT_KEPT


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _explain(failure: Fail, supervisor: Supervisor, folder: Folder) -> None:
    print(f"understudy run: {failure.why}", file=sys.stderr)
    if failure.culprit is not None:
        for line in supervisor.tail_of(failure.culprit):
            print(f"  | {line}", file=sys.stderr)
        print(
            f"The whole log is {folder.logs / failure.culprit.name}.log; all others are beside it.",
            file=sys.stderr,
        )
