"""`kubectl understudy`: what a StreamJob is up to, and the commands of the day after. Everything goes through
kubectl, so its context and credentials are the ones in use."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from understudy import __version__
from understudy.cli import (
    completion,
    drilling,
    fencing,
    logs,
    moving,
    output,
    pages,
    reporting,
    support,
    tailing,
    versions,
)
from understudy.cli.kubectl import DRILLS, INCIDENTS, JOBS, MIGRATIONS, Kubectl, NoAnswer, NoSuchJob
from understudy.cli.pipes import until_closed
from understudy.control import names

Json = dict[str, Any]

CODES: Final = """\
Exit codes: 0 safe, completed or passed; 1 not safe now, refused or failed; 2 bad input, such as a job that
does not exist; 3 no kubectl or no answer; 141 the reader of its output was gone, as with `| head`.
"""


@dataclass(frozen=True, slots=True)
class PluginCommand:
    name: str
    group: str
    summary: str
    example: str
    add: Callable[[argparse.ArgumentParser], None]
    run: Callable[[Kubectl, argparse.Namespace], int]


def main(argv: Sequence[str] | None = None) -> int:
    return until_closed(lambda: _main(argv))


def complete(words: Sequence[str] | None = None) -> int:
    """`kubectl_complete-understudy`: kubectl runs it with the words so far, and the last is completed."""
    for line in completion.answer_to_kubectl(parser_of(), sys.argv[1:] if words is None else words):
        print(line)
    return 0


def _main(argv: Sequence[str] | None) -> int:
    given = sys.argv[1:] if argv is None else argv
    if given[:1] == ["__complete"]:
        return complete(given[1:])
    args = parser_of().parse_args(argv)
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


def parser_of() -> argparse.ArgumentParser:
    where = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    where.add_argument("-n", "--namespace", help="the job's namespace (default: that of the context)")
    where.add_argument("--context", help="the kubeconfig context (default: the current one)")
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        "kubectl understudy", description=overview(), epilog=CODES, parents=[where], formatter_class=layout
    )
    parser.add_argument("--version", action="version", version=f"kubectl-understudy {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", help=argparse.SUPPRESS)
    for each in COMMANDS:
        command = commands.add_parser(
            each.name,
            help=each.summary,
            description=f"{each.summary[0].upper()}{each.summary[1:]}.",
            epilog=f"Examples:\n{each.example}\n{CODES}",
            parents=[where],
            formatter_class=layout,
        )
        each.add(command)
        completion.know_names(command)
        command.set_defaults(run=each.run)
    return parser


def overview() -> str:
    lines = [__doc__ or ""]
    for group in dict.fromkeys(each.group for each in COMMANDS):
        lines += ["", f"{group}:"]
        lines += [f"  {each.name:<11} {each.summary}" for each in COMMANDS if each.group == group]
    return "\n".join([*lines, "", "`kubectl understudy COMMAND --help` shows arguments and examples."])


# ---- see -------------------------------------------------------------------------------------------------


def _of_job(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job")
    output.add(parser)


def _status(kubectl: Kubectl, args: argparse.Namespace) -> int:
    job = kubectl.job(args.job)
    page = pages.status_page(job, _incidents_of(kubectl, args.job), int(time.time() * 1000))
    output.tell(args, page.facts, *page.parts)
    return 0 if page.safe else 1


def _add_incidents(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", nargs="?")
    output.add(parser)


def _incidents(kubectl: Kubectl, args: argparse.Namespace) -> int:
    if args.job:
        kubectl.job(args.job)
    found = _incidents_of(kubectl, args.job)
    output.tell(args, [pages.incident_facts(each) for each in found], pages.incident_table(found))
    return 0


def _incidents_of(kubectl: Kubectl, job: str | None) -> list[Json]:
    return kubectl.list(INCIDENTS, *(["-l", f"{names.JOB}={job}"] if job else []))


def _add_report(parser: argparse.ArgumentParser) -> None:
    _of_job(parser)
    parser.add_argument("--json", action="store_const", const="json", dest="output", help="same as -o json")


def _report(kubectl: Kubectl, args: argparse.Namespace) -> int:
    report = reporting.report_of(kubectl.job(args.job), _incidents_of(kubectl, args.job))
    output.tell(args, report, *reporting.parts(report))
    return 0


# ---- prove and change ------------------------------------------------------------------------------------


def _drill(kubectl: Kubectl, args: argparse.Namespace) -> int:
    _subjob_or_refuse(kubectl.job(args.job), args.subjob)
    return drilling.follow(kubectl.create, lambda name: kubectl.get(DRILLS, name), args)


def _switchover(kubectl: Kubectl, args: argparse.Namespace) -> int:
    def annotate(annotation: str) -> None:
        kubectl.annotate(JOBS, args.job, annotation)

    _subjob_or_refuse(kubectl.job(args.job), args.subjob)
    return moving.switchover(annotate, lambda: kubectl.job(args.job), args)


def _migrate(kubectl: Kubectl, args: argparse.Namespace) -> int:
    _subjob_or_refuse(kubectl.job(args.job), args.subjob)
    return moving.migrate(kubectl.create, lambda name: kubectl.get(MIGRATIONS, name), args)


def _failover(kubectl: Kubectl, args: argparse.Namespace) -> int:
    return _take_away(fencing.failover, kubectl, args)


def _fence(kubectl: Kubectl, args: argparse.Namespace) -> int:
    return _take_away(fencing.fence, kubectl, args)


def _take_away(
    command: Callable[[fencing.Hands, argparse.Namespace], int], kubectl: Kubectl, args: argparse.Namespace
) -> int:
    _subjob_or_refuse(kubectl.job(args.job), args.subjob)
    chosen = f"{names.JOB}={args.job},{names.SUBJOB}={args.subjob},{names.INSTANCE}"
    said: list[str] = []
    hands = fencing.Hands(
        job=lambda: kubectl.job(args.job),
        lease=lambda: kubectl.get("leases.coordination.k8s.io", names.lease(args.job, args.subjob)),
        pods=lambda: [pod["metadata"]["name"] for pod in kubectl.list("pods", "-l", chosen)],
        kill=kubectl.kill,
        say=said.append if args.output else print,
    )
    code = command(hands, args)
    if args.output:
        facts = {"job": args.job, "subjob": args.subjob, "succeeded": code == 0, "messages": said}
        output.tell(args, facts)
    return code


def _subjob_or_refuse(job: Json, name: str) -> None:
    subjobs = [each["name"] for each in job["spec"].get("subjobs") or ()]
    if name not in subjobs:
        raise NoSuchJob(f"{job['metadata']['name']} has no subjob {name}. Write one of {', '.join(subjobs)}")


SEE: Final = "See"
PROVE: Final = "Prove"
CHANGE: Final = "Change"
HELP: Final = "Get help"

COMMANDS: Final = (
    PluginCommand(
        "status",
        SEE,
        "whether it is safe now, which pods have which role, and what a failure at this moment would cost",
        "  kubectl understudy status telemonitoring\n  kubectl understudy status telemonitoring -o json\n",
        _of_job,
        _status,
    ),
    PluginCommand(
        "incidents",
        SEE,
        "what has failed, and how long each recovery took",
        "  kubectl understudy incidents\n  kubectl understudy incidents telemonitoring -o yaml\n",
        _add_incidents,
        _incidents,
    ),
    PluginCommand(
        "report",
        SEE,
        "what a local run's report says: incidents step by step, moves, tuples of each sink",
        "  kubectl understudy report telemonitoring\n",
        _add_report,
        _report,
    ),
    PluginCommand(
        "logs",
        SEE,
        "follow the logs of all pods of a job, of a subjob or of a sink",
        logs.EXAMPLE,
        logs.add,
        logs.run,
    ),
    PluginCommand(
        "tail",
        SEE,
        "follow what a sink writes",
        tailing.EXAMPLE,
        tailing.add,
        tailing.run,
    ),
    PluginCommand(
        "drill",
        PROVE,
        "make a real fault, and see whether the recovery is as expected",
        "  kubectl understudy drill telemonitoring beats --recovery 3s\n",
        drilling.add,
        _drill,
    ),
    PluginCommand(
        "switchover",
        CHANGE,
        "make the standby primary, with no loss",
        "  kubectl understudy switchover telemonitoring beats\n",
        lambda parser: moving.add(parser, to_node=False),
        _switchover,
    ),
    PluginCommand(
        "failover",
        CHANGE,
        "take the primary away now, so that the standby takes over",
        "  kubectl understudy failover telemonitoring beats\n",
        lambda parser: fencing.add(parser, pod=False),
        _failover,
    ),
    PluginCommand(
        "fence",
        CHANGE,
        "take an instance away for good, and wait until it can not write any more",
        "  kubectl understudy fence telemonitoring beats telemonitoring-beats-0\n",
        lambda parser: fencing.add(parser, pod=True),
        _fence,
    ),
    PluginCommand(
        "migrate",
        CHANGE,
        "move the primary to a node, with no loss",
        "  kubectl understudy migrate telemonitoring beats --to node-3\n",
        lambda parser: moving.add(parser, to_node=True),
        _migrate,
    ),
    PluginCommand(
        "versions",
        HELP,
        "what runs where, in which version, and what does not fit together",
        versions.EXAMPLE,
        versions.add,
        versions.run,
    ),
    PluginCommand(
        "support",
        HELP,
        "write objects, status pages, logs, incidents and versions into one file, without secrets",
        support.EXAMPLE,
        support.add,
        support.run,
    ),
)


if __name__ == "__main__":
    sys.exit(main())
