"""`understudy ingest`: takes tuples over HTTP into a log on disk (docs/push.md). No job can read it yet."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from understudy.model.value import mebibytes


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stream", required=True, metavar="NAME", help="what requests call the stream")
    parser.add_argument("--schema", required=True, metavar="TEXT", help="its columns, in Spark's notation")
    parser.add_argument("--log", required=True, type=Path, metavar="DIR", help="where its tuples are kept")
    parser.add_argument("--log-size", default="1Gi", metavar="SIZE", help="its bound (default: 1Gi)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=0, help="port of the HTTP server (default: any)")
    parser.add_argument("--secrets", type=Path, metavar="DIR", help="where DIR/NAME/KEY holds each Secret")
    parser.add_argument(
        "--secret",
        metavar="NAME",
        help="the Secret with the key token, and with tls.crt and tls.key if the server speaks TLS",
    )
    parser.add_argument(
        "--life", type=int, default=0, metavar="N", help="greater than of those before (default: 0)"
    )
    parser.add_argument(
        "--run-id", default="", metavar="ID", help="lives of another run are not compared with"
    )


def run(args: argparse.Namespace) -> int:
    from understudy.ingest.log import Log
    from understudy.ingest.process import Place, serve
    from understudy.ingest.records import Damaged
    from understudy.ingest.schema import arrow_schema
    from understudy.process.logs import configure
    from understudy.sinks.port import Life

    configure(source=args.stream)
    if (args.secret is None) != (args.secrets is None):
        print("write both --secrets and --secret, or none of them", file=sys.stderr)
        return 2
    secret = args.secrets / args.secret if args.secret is not None else None
    try:
        schema = arrow_schema(args.schema)
        token = (secret / "token").read_text().strip() if secret is not None else None
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 2
    if token == "":
        print(f"{secret}/token is empty", file=sys.stderr)
        return 2
    tls = secret if secret is not None and (secret / "tls.crt").exists() else None
    try:
        kept = Log(args.log, Life(args.run_id, args.life))
    except (OSError, Damaged) as error:
        print(f"{args.log}: {error}", file=sys.stderr)
        return 1
    bound = mebibytes(args.log_size) << 20
    return serve(args.stream, schema, kept, bound, Place(args.host, args.port, tls, token))
