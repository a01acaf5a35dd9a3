"""`kubectl understudy`: what a StreamJob is up to, for people. Everything goes through kubectl, so its
context and credentials are the ones in use.

  status JOB       is it safe now? which pods play which part, what a failure at this moment would cost
  incidents [JOB]  what has failed, and how long each recovery took
  report JOB       what a local run's report tells: incidents step by step, moves, tuples of each sink
  tail JOB SINK    follow what a sink writes
  drill JOB SUBJOB make a real fault, and see whether the recovery is as expected
  switchover JOB SUBJOB         make the standby primary, with no loss
  failover JOB SUBJOB           take the primary away now, so that the standby takes over
  fence JOB SUBJOB POD          take an instance away for good, and wait until it can not write any more
  migrate JOB SUBJOB --to NODE  move the primary to a node, with no loss

Exit codes: 0 safe, completed or passed, 1 not safe now, refused or failed, 2 no such job, 3 no kubectl or no
answer, 141 the reader of its output was gone, as with `| head`.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from understudy.cli import drilling, fencing, moving, pages, reporting
from understudy.cli.pipes import until_closed
from understudy.cli.terminal import Terminal
from understudy.control import names

# Follows the newest part of a sink's lines: $1 their folder, $2 how many lines to begin with, $3 how the
# names begin. Ends when nobody listens.
FOLLOW = r"""
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


class NoAnswer(Exception):
    """kubectl could not do what it was asked; its own words say why."""


class NoSuchJob(Exception):
    pass


def main(argv: Sequence[str] | None = None) -> int:
    return until_closed(lambda: _main(argv))


def _main(argv: Sequence[str] | None) -> int:
    parser = _parser()
    args = parser.parse_args(argv)
    try:
        return int(args.run(Kubectl(getattr(args, "namespace", None), getattr(args, "context", None)), args))
    except NoSuchJob as error:
        print(error, file=sys.stderr)
        return 2
    except NoAnswer as error:
        print(error, file=sys.stderr)
        return 3
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    where = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    where.add_argument("-n", "--namespace", help="the job's namespace (default: that of the context)")
    where.add_argument("--context", help="the kubeconfig context (default: the current one)")
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "kubectl understudy", description=__doc__, parents=[where], formatter_class=layout
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    status = commands.add_parser("status", help="is it safe now?", parents=[where])
    status.add_argument("job")
    status.set_defaults(run=_status)
    incidents = commands.add_parser(
        "incidents", help="what has failed and how it was recovered from", parents=[where]
    )
    incidents.add_argument("job", nargs="?")
    incidents.set_defaults(run=_incidents)
    tail = commands.add_parser("tail", help="follow what a sink writes", parents=[where])
    tail.add_argument("job")
    tail.add_argument("sink")
    tail.add_argument(
        "--lines", type=int, default=10, help="how many of the last lines to begin with (default: 10)"
    )
    tail.set_defaults(run=_tail)
    drill = commands.add_parser("drill", help="make a real fault, and see what follows", parents=[where])
    drilling.add(drill)
    drill.set_defaults(run=_drill)
    switchover = commands.add_parser("switchover", help="make the standby primary", parents=[where])
    moving.add(switchover, to_node=False)
    switchover.set_defaults(run=_switchover)
    failover = commands.add_parser("failover", help="take the primary away now", parents=[where])
    fencing.add(failover, pod=False)
    failover.set_defaults(run=_failover)
    fence = commands.add_parser("fence", help="take an instance away for good", parents=[where])
    fencing.add(fence, pod=True)
    fence.set_defaults(run=_fence)
    report = commands.add_parser("report", help="what a local run's report tells", parents=[where])
    report.add_argument("job")
    report.add_argument("--json", action="store_true", help="for programs")
    report.set_defaults(run=_report)
    migrate = commands.add_parser("migrate", help="move the primary to a node", parents=[where])
    moving.add(migrate, to_node=True)
    migrate.set_defaults(run=_migrate)
    return parser


class Kubectl:
    def __init__(self, namespace: str | None, context: str | None) -> None:
        self._common = ["kubectl"]
        self._common += ["--namespace", namespace] if namespace else []
        self._common += ["--context", context] if context else []

    def get(self, kind: str, *arguments: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._run(None, "get", kind, *arguments, "-o", "json"))
        return found

    def create(self, body: str) -> None:
        self._run(body, "create", "-f", "-")

    def annotate(self, kind: str, name: str, annotation: str) -> None:
        self._run(None, "annotate", "--overwrite", kind, name, annotation)

    def kill(self, pod: str) -> None:
        self._run(None, "delete", "pod", pod, "--grace-period=0", "--force", "--wait=false")

    def _run(self, given: str | None, *arguments: str) -> str:
        command = [*self._common, *arguments]
        try:
            done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            raise NoAnswer("kubectl is not on the PATH") from error
        if done.returncode:
            raise (NoSuchJob if "NotFound" in done.stderr else NoAnswer)(done.stderr.strip())
        return done.stdout

    def attach(self, *arguments: str) -> int:
        try:
            code = subprocess.run([*self._common, *arguments], check=False).returncode
        except FileNotFoundError as error:
            raise NoAnswer("kubectl is not on the PATH") from error
        return code if code >= 0 else 128 - code  # a signal, as a shell says it: 141 if nobody reads on


def _status(kubectl: Kubectl, args: argparse.Namespace) -> int:
    job = kubectl.get("streamjobs.understudy.dev", args.job)
    incidents = kubectl.get("incidents.understudy.dev", "-l", f"understudy.dev/job={args.job}")["items"]
    page = pages.status_page(job, incidents, int(time.time() * 1000))
    Terminal().show(*page.parts)
    return 0 if page.safe else 1


def _incidents(kubectl: Kubectl, args: argparse.Namespace) -> int:
    chosen = ["-l", f"understudy.dev/job={args.job}"] if args.job else []
    Terminal().show(pages.incident_table(kubectl.get("incidents.understudy.dev", *chosen)["items"]))
    return 0


def _drill(kubectl: Kubectl, args: argparse.Namespace) -> int:
    kubectl.get("streamjobs.understudy.dev", args.job)
    return drilling.follow(
        kubectl.create, lambda name: kubectl.get("failoverdrills.understudy.dev", name), args
    )


def _switchover(kubectl: Kubectl, args: argparse.Namespace) -> int:
    def annotate(annotation: str) -> None:
        kubectl.annotate("streamjobs.understudy.dev", args.job, annotation)

    return moving.switchover(annotate, lambda: kubectl.get("streamjobs.understudy.dev", args.job), args)


def _migrate(kubectl: Kubectl, args: argparse.Namespace) -> int:
    kubectl.get("streamjobs.understudy.dev", args.job)
    return moving.migrate(kubectl.create, lambda name: kubectl.get("migrations.understudy.dev", name), args)


def _failover(kubectl: Kubectl, args: argparse.Namespace) -> int:
    return fencing.failover(_hands(kubectl, args), args)


def _fence(kubectl: Kubectl, args: argparse.Namespace) -> int:
    return fencing.fence(_hands(kubectl, args), args)


def _hands(kubectl: Kubectl, args: argparse.Namespace) -> fencing.Hands:
    chosen = f"{names.JOB}={args.job},{names.SUBJOB}={args.subjob},{names.INSTANCE}"
    return fencing.Hands(
        job=lambda: kubectl.get("streamjobs.understudy.dev", args.job),
        lease=lambda: kubectl.get("leases.coordination.k8s.io", names.lease(args.job, args.subjob)),
        pods=lambda: [pod["metadata"]["name"] for pod in kubectl.get("pods", "-l", chosen)["items"]],
        kill=kubectl.kill,
    )


def _report(kubectl: Kubectl, args: argparse.Namespace) -> int:
    job = kubectl.get("streamjobs.understudy.dev", args.job)
    incidents = kubectl.get("incidents.understudy.dev", "-l", f"{names.JOB}={args.job}")["items"]
    report = reporting.report_of(job, incidents)
    if args.json:
        print(json.dumps(report, indent=2))
    else:
        Terminal().show(*reporting.parts(report))
    return 0


def _tail(kubectl: Kubectl, args: argparse.Namespace) -> int:
    job = kubectl.get("streamjobs.understudy.dev", args.job)
    sinks = {sink["name"]: sink for sink in job["spec"].get("sinks") or ()}
    if args.sink not in sinks:
        raise NoSuchJob(f"{args.job} has no sink {args.sink}; it has {', '.join(sinks) or 'none'}")
    pod = f"{args.job}-sink-{args.sink}"
    files = sinks[args.sink].get("files")
    if files is None:
        return kubectl.attach("logs", "--follow", f"--tail={args.lines}", pod)
    name = "_manifest" if files.get("format") == "parquet" else "part"
    return kubectl.attach("exec", pod, "--", "sh", "-c", FOLLOW, "sh", "/output", str(args.lines), name)


if __name__ == "__main__":
    sys.exit(main())
