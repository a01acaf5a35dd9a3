"""`kubectl understudy tail`: follows what a sink writes, from one file to the next."""

from __future__ import annotations

import argparse
from typing import Final

from understudy.cli.kubectl import Kubectl, NoSuchJob
from understudy.control import names

# Follows the newest part of a sink's lines: $1 their folder, $2 how many lines to begin with, $3 how the
# names begin. Ends when nobody listens.
FOLLOW: Final = r"""
last=; lines=$2
while [ -z "$last" ] || kill -0 $pid 2>/dev/null; do
  for newest in "$1"/"${3:-part}"-*.jsonl; do :; done
  if [ "$newest" != "$last" ]; then
    if [ -n "$last" ]; then sleep 1; kill $pid; fi
    tail -n "$lines" -F "$newest" & pid=$!
    last=$newest; lines=+1
  fi
  sleep 0.5
done
"""

EXAMPLE: Final = """\
  kubectl understudy tail telemonitoring alerts
  kubectl understudy tail telemonitoring alerts --lines 1000 | jq .patient
"""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job")
    parser.add_argument("sink")
    parser.add_argument(
        "--lines", type=int, default=10, help="how many of the last lines to begin with (default: 10)"
    )


def run(kubectl: Kubectl, args: argparse.Namespace) -> int:
    job = kubectl.job(args.job)
    sinks = {sink["name"]: sink for sink in job["spec"].get("sinks") or ()}
    if args.sink not in sinks:
        raise NoSuchJob(f"{args.job} has no sink {args.sink}; it has {', '.join(sinks) or 'none'}")
    pod = names.sink(args.job, args.sink)
    files = sinks[args.sink].get("files")
    if files is None:
        return kubectl.attach("logs", "--follow", f"--tail={args.lines}", pod)
    name = "_manifest" if files.get("format") == "parquet" else "part"
    return kubectl.attach("exec", pod, "--", "sh", "-c", FOLLOW, "sh", "/output", str(args.lines), name)
