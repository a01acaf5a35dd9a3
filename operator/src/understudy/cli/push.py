"""`understudy push`: the sensor's side of a `push` source (docs/push.md)."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from pathlib import Path
from urllib.parse import urlsplit

from understudy.model.value import mebibytes

TOKEN = "UNDERSTUDY_PUSH_TOKEN"


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="of the ingest process, such as https://job.example:8443")
    parser.add_argument("stream", metavar="STREAM", help="the name of the source")
    parser.add_argument(
        "file", metavar="FILE", nargs="?", help="JSON objects, one in each line (default: standard input)"
    )
    parser.add_argument(
        "--spool",
        type=Path,
        metavar="DIR",
        help="where lines wait (default: one folder for each URL, STREAM and FILE)",
    )
    parser.add_argument("--spool-size", default="1Gi", metavar="SIZE", help="its bound (default: 1Gi)")
    parser.add_argument(
        "--token-file", type=Path, metavar="FILE", help=f"the bearer token (default: ${TOKEN}, or none)"
    )
    parser.add_argument(
        "--authority", metavar="FILE", help="certificates that the server's is checked against"
    )


def run(args: argparse.Namespace) -> int:
    from understudy.push.lines import bodies_of_file, bodies_of_pipe
    from understudy.push.run import Feed
    from understudy.push.sender import Refused, Sender, Target
    from understudy.push.spool import InUse, Spool

    if urlsplit(args.url).scheme not in ("http", "https") or not urlsplit(args.url).hostname:
        print(f"{args.url!r} is no URL such as https://job.example:8443", file=sys.stderr)
        return 2
    try:
        token = args.token_file.read_text().strip() if args.token_file else os.environ.get(TOKEN)
        spool = Spool(args.spool or _default_spool(args.url, args.stream, args.file))
        sender = Sender(Target(args.url, args.stream, token, args.authority), spool.producer)
        file = Path(args.file) if args.file else None
        bodies = bodies_of_file(file, spool.offset) if file else bodies_of_pipe(sys.stdin.buffer)
        Feed(spool, sender, mebibytes(args.spool_size) << 20).run(bodies)
    except (Refused, InUse, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _default_spool(url: str, stream: str, file: str | None) -> Path:
    """The same file continues with its own spool."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    name = f"{url}\n{stream}\n{Path(file).resolve() if file else ''}"
    return state / "understudy" / "push" / f"{stream}-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
