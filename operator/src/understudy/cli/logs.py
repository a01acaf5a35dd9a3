"""`kubectl understudy logs`: the logs of a job's pods in one stream, each line with the name of its pod.

Unlike `kubectl logs --selector`, it also follows pods that are created later, such as the new standby after a
take-over, and containers that are started again.
"""

from __future__ import annotations

import argparse
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from rich.text import Text

from understudy.cli.kubectl import Kubectl, NoSuchJob
from understudy.cli.terminal import Terminal
from understudy.control import names

Json = Mapping[str, Any]

LOOK_SECONDS: Final = 2.0
WAITING_LINES: Final = 10_000
COLOURS: Final = (
    "cyan",
    "green",
    "yellow",
    "magenta",
    "blue",
    "bright_cyan",
    "bright_green",
    "bright_magenta",
)
OVER: Final = ("Succeeded", "Failed")

EXAMPLE: Final = """\
  kubectl understudy logs telemonitoring                       all pods, until Ctrl-C
  kubectl understudy logs telemonitoring beats --role primary  the primary of one subjob
  kubectl understudy logs telemonitoring alerts --no-follow --since 10m
"""


@dataclass(frozen=True, slots=True)
class Life:
    """A container from its start to its end: the log of one life is read once."""

    pod: str
    restarts: int


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job")
    parser.add_argument("part", nargs="?", metavar="SUBJOB|SINK", help="only the pods of this one")
    parser.add_argument("--role", choices=("primary", "standby"), help="only pods that have this role")
    parser.add_argument(
        "-f",
        "--follow",
        action="store_true",
        default=True,
        help="stay and show what comes, from new pods, too (default)",
    )
    parser.add_argument(
        "--no-follow", action="store_false", dest="follow", help="end with the last line that there is"
    )
    parser.add_argument(
        "--tail",
        type=int,
        default=100,
        metavar="N",
        help="begin with the last N lines of each pod (default: 100)",
    )
    parser.add_argument("--since", metavar="10m", help="begin with lines that are not older than this")


def run(kubectl: Kubectl, args: argparse.Namespace) -> int:
    selector = selector_of(kubectl.job(args.job), args.part)

    def look() -> list[Json]:
        return list(kubectl.list("pods", "-l", selector))

    printer = Printer(Terminal())
    begin = [f"--tail={args.tail}", *([f"--since={args.since}"] if args.since else [])]
    if not args.follow:
        return _once(kubectl, look(), args.role, begin, printer)
    return Follower(kubectl, look, args.role, begin, printer).run()


def selector_of(job: Json, part: str | None) -> str:
    """Selects the pods of the job, or of a subjob or sink of it."""
    name = job["metadata"]["name"]
    whole = f"{names.JOB}={name}"
    subjobs, sinks = ([each["name"] for each in job["spec"].get(kind) or ()] for kind in ("subjobs", "sinks"))
    if part is None:
        return whole
    if part in subjobs:
        return f"{whole},{names.SUBJOB}={part}"
    if part in sinks:
        return f"{whole},{names.SINK}={part}"
    raise NoSuchJob(
        f"{name} has no subjob or sink {part}. Write one of {', '.join([*subjobs, *sinks])}, "
        "or none for all pods"
    )


def lives(pods: Iterable[Json], role: str | None) -> list[Life]:
    """The containers that have begun, of pods that have the role."""
    return [
        Life(pod["metadata"]["name"], _restarts(pod))
        for pod in pods
        if _has(pod, role) and (pod.get("status") or {}).get("phase", "Running") != "Pending"
    ]


def _has(pod: Json, role: str | None) -> bool:
    labels = pod["metadata"].get("labels") or {}
    if role is None:
        return True
    if names.SUBJOB not in labels or names.DRIVER in labels:
        return False  # a sink has no standby, and an executor has no role
    return bool((labels.get(names.ROLE) == "primary") is (role == "primary"))


def _restarts(pod: Json) -> int:
    containers = (pod.get("status") or {}).get("containerStatuses") or ()
    return sum(int(each.get("restartCount") or 0) for each in containers)


def _once(
    kubectl: Kubectl, pods: Sequence[Json], role: str | None, begin: Sequence[str], printer: Printer
) -> int:
    found = lives(pods, role)
    if not found:
        printer.note("no pod of it runs now; `kubectl understudy status JOB` says why")
        return 1
    for life in found:
        for line in kubectl.read("logs", life.pod, *begin).splitlines():
            printer.line(life.pod, line)
    return 0


class Printer:
    """Lines with the name of their pod before them, in a colour of its own on a terminal."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._pods: dict[str, str] = {}

    def line(self, pod: str, line: str) -> None:
        colour = self._pods.setdefault(pod, COLOURS[len(self._pods) % len(COLOURS)])
        if self._terminal.is_terminal:
            self._terminal.print(Text.assemble((f"[{pod}] ", colour), line), soft_wrap=True)
        else:
            print(f"[{pod}] {line}", flush=True)

    def note(self, sentence: str) -> None:
        import sys

        print(sentence, file=sys.stderr)


@dataclass
class Follower:
    kubectl: Kubectl
    look: Callable[[], list[Json]]
    role: str | None
    begin: Sequence[str]
    printer: Printer
    _lines: queue.Queue[tuple[str, str]] = field(default_factory=lambda: queue.Queue(WAITING_LINES))
    _known: set[Life] = field(default_factory=set)
    _open: set[Life] = field(default_factory=set)
    _programs: list[Any] = field(default_factory=list)

    def run(self) -> int:
        with self._ended_at_last():
            begin, next_look = self.begin, 0.0
            while True:
                if time.monotonic() >= next_look:
                    pods = self.look()
                    if self._over(pods):
                        return 0
                    for life in lives(pods, self.role):
                        self._begin(life, begin)
                    begin, next_look = (), time.monotonic() + LOOK_SECONDS
                self._print(next_look)

    def _over(self, pods: Sequence[Json]) -> bool:
        """Whether nothing can come any more: all logs have been read, and no pod runs or will run."""
        running = [pod for pod in pods if (pod.get("status") or {}).get("phase") not in OVER]
        unread = [life for life in lives(pods, self.role) if life not in self._known]
        return not (running or unread or self._open) and self._lines.empty()

    def _begin(self, life: Life, begin: Sequence[str]) -> None:
        if life in self._known:
            return
        self._known.add(life)
        self._open.add(life)
        program = self.kubectl.follow("logs", "--follow", life.pod, *begin)
        self._programs.append(program)
        threading.Thread(target=self._read, args=(life, program.stdout), daemon=True).start()

    def _read(self, life: Life, stream: Iterable[str]) -> None:
        for line in stream:
            self._lines.put((life.pod, line.rstrip("\n")))
        self._open.discard(life)

    def _print(self, until: float) -> None:
        while (left := until - time.monotonic()) > 0:
            try:
                self.printer.line(*self._lines.get(timeout=left))
            except queue.Empty:
                return

    @contextmanager
    def _ended_at_last(self) -> Iterator[None]:
        try:
            yield
        finally:
            for program in self._programs:
                program.kill()
                program.wait()
