"""The report as one self-contained page: text, tables and pictures in SVG."""

from __future__ import annotations

import html
import platform
from collections.abc import Iterable, Sequence
from importlib.resources import files
from string import Template

from understudy import __version__
from understudy.local.report import pictures
from understudy.local.report.comparison import Comparison, keeps
from understudy.local.report.fault_effects import Incident
from understudy.local.report.report import Report, blame, too_late
from understudy.local.sink_guarantees import promised, promises
from understudy.model.guarantees import Recovery

Row = Sequence[object]


def render(report: Report) -> str:
    template = Template((files(__package__) / "report.html").read_text())
    sections = [
        _stream(report),
        _failovers(report),
        _sinks(report),
        _incidents(report),
        _migrations(report),
        _subjobs(report),
    ]
    return template.substitute(
        title=html.escape(report.job.name),
        subtitle=html.escape(_subtitle(report)),
        verdict=_verdict(report),
        body="\n".join(s for s in sections if s),
        footer=html.escape(
            f"understudy {__version__}, Python {platform.python_version()}, {platform.platform()}"
        ),
    )


def _subtitle(report: Report) -> str:
    record = report.record
    seconds = ((record.ended_ms or 0) - (record.started_ms or record.ended_ms or 0)) / 1000
    kills = "1 kill" if len(record.done) == 1 else f"{len(record.done)} kills"
    return f"ran for {seconds:.1f} s, {kills}, {len(report.job.subjobs)} subjobs"


def _verdict(report: Report) -> str:
    found = report.comparisons
    late = too_late(report.record, report.incidents, report.job)
    right = all(
        keeps(c.recovery, promised(report.job, s.input)) for s in report.job.sinks if (c := found.get(s.name))
    )
    kept = right and not late
    words = "; ".join(
        [*(f"{html.escape(name)}: {_sentence(c)}" for name, c in found.items()), *map(html.escape, late)]
    )
    if not found:
        words = "; ".join(
            ["The sinks were not compared with an execution without failures", *map(html.escape, late)]
        )
        return f"{words}."
    mark = (
        '<b class="good">Every promise was kept.</b>'
        if kept
        else '<b class="bad">A promise was not kept.</b>'
    )
    return f"{mark} {words}"


def _sentence(found: Comparison) -> str:
    if found.recovery is Recovery.PRECISE:
        return f"precise, all {found.tuples:,} tuples once and in order"
    counts = f"{found.lost:,} lost, {found.duplicated:,} duplicated, {found.reordered:,} out of order"
    return f"{found.recovery}, {counts}"


# --- sections


def _stream(report: Report) -> str:
    started, ended = report.record.started_ms, report.record.ended_ms
    if started is None or ended is None:
        return ""
    faults = [(d.at_ms - started, d.victim.name) for d in report.record.done]
    drawn = [
        _card(
            f"<p>Tuples per second at <b>{html.escape(name)}</b></p>"
            + pictures.rates([(a.at_ms - started, a.tuples) for a in arrivals], ended - started, faults)
        )
        for name, arrivals in report.record.arrivals.items()
        if arrivals
    ]
    return "<h2>What arrived</h2>" + "".join(drawn) if drawn else ""


def _failovers(report: Report) -> str:
    drawn = [_card(_failover(i, report)) for i in report.incidents if i.successor]
    return "<h2>Failovers</h2>" + "".join(drawn) if drawn else ""


def _failover(incident: Incident, report: Report) -> str:
    at = (incident.at_ms - (report.record.started_ms or incident.at_ms)) / 1000
    said = (
        f"<p><b>{html.escape(incident.subjob)}</b>: {html.escape(incident.victim)}, "
        f"{html.escape(incident.cause)} at "
        f"{at:.1f} s; {html.escape(incident.successor or '')} took over</p>"
    )
    steps = (
        ("detected", incident.detected_ms),
        ("promoted", incident.promoted_ms),
        ("state restored", incident.restored_ms),
        ("first new output", incident.first_output_ms),
        ("caught up", incident.caught_up_ms),
    )
    return said + pictures.steps([(name, at) for name, at in steps if at is not None])


def _sinks(report: Report) -> str:
    def row(name: str) -> Row:
        found = report.comparisons.get(name)
        counts = (
            (found.lost, found.duplicated, found.reordered, found.recovery.value) if found else ("?",) * 4
        )
        lags = report.record.lags.get(name)
        return (name, report.received(name), *counts, *((lags.most, lags.last) if lags else ("?", "?")))

    head = (
        "sink",
        "tuples",
        "lost",
        "duplicated",
        "out of order",
        "recovery",
        "furthest behind",
        "behind at the end",
    )
    return (
        "<h2>Sinks</h2>" + _table(head, [row(s.name) for s in report.job.sinks]) if report.job.sinks else ""
    )


def _incidents(report: Report) -> str:
    if not report.incidents:
        return ""
    head = (
        *("subjob", "cause", "detected", "promoted", "first output", "caught up", "protected again"),
        *("no output for", "replayed", "lost", "duplicated"),
    )
    rows = [
        (
            *(
                i.subjob,
                i.cause,
                _ms(i.detected_ms),
                _ms(i.promoted_ms),
                _ms(i.first_output_ms),
                _ms(i.caught_up_ms),
            ),
            *(_ms(i.reprotected_ms), _ms(i.recovery_ms), i.replayed, caused.lost, caused.duplicated),
        )
        for i, caused in zip(report.incidents, blame(report), strict=True)
    ]
    return '<h2>Incidents</h2><p class="soft">Times since the fault.</p>' + _table(head, rows)


def _migrations(report: Report) -> str:
    if not report.migrations:
        return ""
    head = (
        "subjob",
        "from",
        "to",
        "why",
        "pause",
        "moved bytes",
        "stood still",
        "handed over",
        "promoted",
        "output",
    )
    rows = [
        (
            *(m.subjob, m.source, m.target, m.failure or m.why, _ms(m.pause_ms), m.moved_bytes),
            *(_ms(m.settled_ms), _ms(m.handed_over_ms), _ms(m.promoted_ms), _ms(m.first_output_ms)),
        )
        for m in report.migrations
    ]
    return '<h2>Migrations</h2><p class="soft">Times since the primary was asked.</p>' + _table(head, rows)


def _subjobs(report: Report) -> str:
    given = [(s, promises(report.job)[s.name]) for s in report.job.subjobs]
    rows = [
        (s.name, p.mode.value, p.operator_class.value, p.guarantee.value, ", ".join(s.inputs))
        for s, p in given
    ]
    return "<h2>Subjobs</h2>" + _table(("subjob", "mode", "class", "guarantee", "reads"), rows)


# --- pieces


def _card(content: str) -> str:
    return f'<section class="card">{content}</section>'


def _table(head: Iterable[str], rows: Iterable[Row]) -> str:
    top = "".join(f"<th>{html.escape(h)}</th>" for h in head)
    body = "".join(f"<tr>{''.join(_cell(c) for c in row)}</tr>" for row in rows)
    return _card(f'<div class="scroll"><table><tr>{top}</tr>{body}</table></div>')


def _cell(value: object) -> str:
    return f"<td>{value:,}</td>" if isinstance(value, int) else f"<td>{html.escape(str(value))}</td>"


def _ms(value: int | None) -> str:
    return "" if value is None else f"{value:,} ms"
