"""`understudy subjob`: one instance of a subjob. Started by the operator or by `understudy run`, not by
people."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from understudy.cli.places import add_place_arguments, load_or_refuse, surroundings_of


def add(parser: argparse.ArgumentParser) -> None:
    add_place_arguments(parser)
    parser.add_argument("--subjob", required=True, metavar="NAME", help="which subjob of the job")
    parser.add_argument(
        "--instance", required=True, metavar="ID", help="this instance's name, never used before"
    )
    parser.add_argument(
        "--scratch", required=True, type=Path, metavar="DIR", help="a folder of its own, emptied at start"
    )


def run(args: argparse.Namespace) -> int:
    from understudy.engine.function import Unsuited
    from understudy.engine.session import Lacking
    from understudy.instance.process import Place, SubjobProcess, leave
    from understudy.process.logs import configure
    from understudy.process.secrets import NoSecret

    configure(instance=args.instance)
    job = load_or_refuse(args.job)
    subjob = job.subjob(args.subjob)
    if subjob is None:
        print(
            f"{args.job}: there is no subjob {args.subjob!r}; there are "
            f"{', '.join(s.name for s in job.subjobs)}"
        )
        return 2
    surroundings = surroundings_of(args.surroundings, job)
    place = Place(
        args.instance,
        args.host,
        args.port,
        args.status_port,
        args.scratch,
        folder=Path(os.environ.get("UNDERSTUDY_FOLDER", args.job.parent)),
    )
    try:
        code = SubjobProcess(job, subjob, surroundings, place).run()
    except Lacking as error:
        print(f"understudy subjob: {error}", file=sys.stderr)
        code = 3
    except (Unsuited, NoSecret) as error:
        print(f"understudy subjob: {error}", file=sys.stderr)
        code = 2
    leave(code)
    return code
