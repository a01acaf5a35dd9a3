"""The output of a run while it runs: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import IO, Final

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from understudy.cli.terminal import Terminal
from understudy.local.folder import Folder
from understudy.local.report.fault_effects import Incident
from understudy.local.report.finish import Telling
from understudy.local.report.move_costs import Migration
from understudy.local.report.report import Blame, blame
from understudy.local.run.members import Kind
from understudy.local.run.observed import Observed, Seen
from understudy.protocol.statuspage import InstancePage, Queue, State

REDRAW_SECONDS: Final = 0.25
LINE_SECONDS: Final = 5.0
STYLES: Final = {"ready": "green", "finished": "dim", "failed": "red", "dead": "red"}


def audience(stream: IO[str] | None = None) -> LiveTable | Lines:
    """Standard error by default: standard output stays free for `--json`."""
    console = Terminal(file=stream or sys.stderr)
    return LiveTable(console) if console.is_terminal else Lines(console)


class Lines:
    """Prints every event, and now and then a line about the whole job."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = self._said = time.monotonic()

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        pass

    def note(self, text: str) -> None:
        elapsed = time.monotonic() - self._began
        self._console.print(f"[{elapsed:6.1f} s] {text}", markup=False, highlight=False, soft_wrap=True)

    def watch(self, observed: Observed, tuples: Mapping[str, int]) -> None:
        if time.monotonic() - self._said >= LINE_SECONDS:
            self._said = time.monotonic()
            self.note(_summary(observed, tuples))


def _summary(observed: Observed, tuples: Mapping[str, int]) -> str:
    if observed.started_ms is None:
        waiting = [
            f"{s.process.name} {s.state} ({s.age_ms / 1000:.0f} s)" for s in observed.seen if not s.ready
        ]
        ready = sum(s.ready for s in observed.seen)
        return f"{ready} ready, waiting for {', '.join(waiting) or 'the next ones'}"
    primaries = [_primary_words(s) for s in observed.seen if s.alive and s.instance.leads]
    sinks = [f"{name} {count} tuples{_behind(observed, name)}" for name, count in tuples.items()]
    return "; ".join([f"running for {_elapsed(observed):.0f} s", *primaries, *sinks])


def _behind(observed: Observed, sink: str) -> str:
    lag = observed.lag(sink)
    return f", behind by {lag}" if lag is not None and lag.tuples else ""


def _primary_words(seen: Seen) -> str:
    page = seen.instance
    protection = "protected" if page.protected else "not protected"
    full = "".join(f", queue of {name} full" for name in _full(page))
    state = "" if seen.state.serves else f" {seen.state},"
    return f"{seen.process.name}{state} epoch {page.epoch} {protection} lag {_lag(page)}{full}"


class LiveTable:
    """One line per process, redrawn; events stay above the table."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, transient=True)
        self._began = time.monotonic()
        self._drawn = 0.0

    def __enter__(self) -> LiveTable:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._live.stop()

    def note(self, text: str) -> None:
        elapsed = time.monotonic() - self._began
        self._console.print(Text(f"{elapsed:6.1f} s  ", style="dim") + Text(text))

    def watch(self, observed: Observed, tuples: Mapping[str, int]) -> None:
        if time.monotonic() - self._drawn >= REDRAW_SECONDS:
            self._drawn = time.monotonic()
            self._live.update(Group(_headline(observed), _table(observed, tuples)), refresh=True)


def _headline(observed: Observed) -> Text:
    if observed.started_ms is None:
        ready = sum(s.ready for s in observed.seen)
        return Text(
            f"starting: {ready} of {len(observed.seen)} ready (a Spark session takes its time)",
            style="yellow",
        )
    return Text(f"running for {_elapsed(observed):.1f} s", style="bold")


def _table(observed: Observed, tuples: Mapping[str, int]) -> Table:
    table = Table(box=None, padding=(0, 2), header_style="dim")
    for head in ("process", "role", "state"):
        table.add_column(head, overflow="fold")
    for head in ("epoch", "lag", "queue", "protected", "tuples"):
        table.add_column(head, justify="right", overflow="fold")
    shown = [s for s in observed.seen if s.alive or s.process.kind is Kind.SINK or s.age_ms < 600_000][-40:]
    for seen in sorted(shown, key=lambda s: (s.process.kind is Kind.SINK, s.process.owner, s.process.number)):
        table.add_row(*_row(seen, observed, tuples))
    return table


def _row(seen: Seen, observed: Observed, tuples: Mapping[str, int]) -> list[Text | str]:
    gone = not seen.alive and seen.exit_code != 0
    state = (
        "dead"
        if gone
        else seen.state
        if seen.state is not State.STARTING
        else f"starting, {seen.age_ms / 1000:.0f} s"
    )
    said = Text(state, style=STYLES.get(state, "yellow"))
    if seen.process.kind is Kind.SINK:
        lag, written = observed.lag(seen.process.owner), tuples.get(seen.process.owner, 0)
        return [seen.process.name, "sink", said, "", "" if lag is None else str(lag), "", "", f"{written:,}"]
    if gone:
        return [seen.process.name, "", said, "", "", "", "", ""]
    page = seen.instance
    epoch = str(page.epoch or "")
    protected = ("yes" if page.protected else "no") if page.leads else ""
    produced = f"{page.outputs.get(page.subjob, Queue()).next:,}" if page.leads else ""
    queued = Text(f"{_queued(page):,}", style="yellow" if _full(page) else "")
    return [seen.process.name, page.role or "", said, epoch, f"{_lag(page):,}", queued, protected, produced]


# --- content of a status page


def _lag(page: InstancePage) -> int:
    """Input that has arrived but is not processed yet."""
    return sum(stream.waiting for stream in page.inputs.values())


def _queued(page: InstancePage) -> int:
    return sum(queue.next - queue.trimmed for queue in page.outputs.values())


def _full(page: InstancePage) -> list[str]:
    """Streams whose queue has no room: their producers wait."""
    return [name for name, queue in page.outputs.items() if queue.full]


def _elapsed(observed: Observed) -> float:
    return max(0.0, observed.now_ms - (observed.started_ms or observed.now_ms)) / 1000


# --- afterwards


def print_report(told: Telling, folder: Folder, file: IO[str]) -> None:
    report = told.report
    console = Terminal(file=file, highlight=False)
    for incident, caused in zip(report.incidents, blame(report), strict=True):
        console.print(
            f"[bold]{incident.victim}[/bold]: {incident.cause}", _steps(incident, caused), soft_wrap=True
        )
    for migration in report.migrations:
        words = f"[bold]{migration.subjob}[/bold]: {migration.source} to {migration.target}, {migration.why}"
        console.print(words, _move_steps(migration), soft_wrap=True)
    table = Table(box=None, padding=(0, 2), header_style="dim")
    table.add_column("sink", overflow="fold")
    for head in ("tuples", "lost", "duplicated", "out of order"):
        table.add_column(head, justify="right", overflow="fold")
    for head in ("recovery", "furthest behind", "behind at the end"):
        table.add_column(head, overflow="fold")
    for name, found in report.to_json()["sinks"].items():
        counts = [
            "?" if found[k] is None else f"{found[k]:,}"
            for k in ("tuples", "lost", "duplicated", "reordered")
        ]
        lags = report.record.lags.get(name)
        behind = (str(lags.most), str(lags.last)) if lags else ("?", "?")
        table.add_row(name, *counts, found["recovery"] or "not compared", *behind)
    console.print(table)
    for sentence in told.broken():
        console.print("[bold red]not kept[/bold red]", Text(sentence), soft_wrap=True)
    console.print(f"report: {folder.page}", soft_wrap=True)


def _steps(incident: Incident, caused: Blame) -> str:
    steps = {
        "detected after": incident.detected_ms,
        "promoted": incident.promoted_ms,
        "first new output": incident.first_output_ms,
        "caught up": incident.caught_up_ms,
    }
    said = ", ".join(f"{name} {at:,} ms" for name, at in steps.items() if at is not None)
    if incident.recovery_ms is not None:
        said += f"; no output for {incident.recovery_ms:,} ms"
    return f"→ {said or 'nobody noticed'}; {incident.replayed:,} replayed, {caused.lost:,} lost"


def _move_steps(migration: Migration) -> str:
    if migration.failure is not None:
        return f"→ did not take place: {migration.failure}"
    steps = {
        "stood still": migration.settled_ms,
        "handed over": migration.handed_over_ms,
        "promoted": migration.promoted_ms,
        "first new output": migration.first_output_ms,
    }
    said = ", ".join(f"{name} after {at:,} ms" for name, at in steps.items() if at is not None)
    return f"→ {said}; a pause of {migration.pause_ms:,} ms, {migration.moved_bytes:,} bytes moved"
