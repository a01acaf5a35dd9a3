"""`understudy sink`: writes one stream out. Started by the operator or by `understudy run`, not by people."""

from __future__ import annotations

import argparse
import signal
from pathlib import Path

from understudy.cli.places import add_place_arguments, load_or_refuse, surroundings_of


def add(parser: argparse.ArgumentParser) -> None:
    add_place_arguments(parser)
    parser.add_argument("--sink", required=True, metavar="NAME", help="which sink of the job")
    parser.add_argument("--output", required=True, type=Path, metavar="DIR", help="where its files go")
    parser.add_argument(
        "--life", type=int, default=0, metavar="N", help="greater than of those before (default: 0)"
    )
    parser.add_argument(
        "--run-id", default="", metavar="ID", help="lives of another run are not compared with"
    )


def run(args: argparse.Namespace) -> int:
    from understudy.process.http import StatusServer
    from understudy.process.logs import configure
    from understudy.protocol.statuspage import State
    from understudy.sinks.disk import Disk
    from understudy.sinks.port import Life, Opening
    from understudy.sinks.sink import SinkProcess, status_of
    from understudy.sinks.writers import writer_of

    configure(sink=args.sink)
    job = load_or_refuse(args.job)
    sink = job.sink(args.sink)
    if sink is None:
        print(f"{args.job}: there is no sink {args.sink!r}; there are {', '.join(s.name for s in job.sinks)}")
        return 2
    surroundings = surroundings_of(args.surroundings, job)
    process: SinkProcess | None = None
    disk = Disk()
    disk.watch()
    page = StatusServer(
        args.host,
        args.status_port,
        lambda: process.status() if process is not None else status_of(job, sink, State.STARTING, disk),
        lambda: process is not None and process.is_ready(),
        lambda: disk.stalled,
    )
    surroundings.announce(f"sink/{sink.name}", f"sink-{sink.name}", page.address, page.address)
    try:
        life, elsewhere = Life(args.run_id, args.life), (surroundings.identity(), surroundings.secrets())
        opening = Opening(job, sink, args.output, life, disk, *elsewhere)
        process = SinkProcess(opening, writer_of(opening), surroundings)
    except OSError as error:  # such as Superseded
        print(f"sink {sink.name} does not start: {error}")
        return 1
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: process.stop())
    return process.run()
