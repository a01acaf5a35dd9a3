"""The results as they stand in docs/benchmarks.md, between markers that name the benchmark."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from statistics import median

from understudy.cli.terminal import Part, table
from understudy_lab.bench.core import TARGET, Core
from understudy_lab.bench.move_costs import Moving
from understudy_lab.bench.overhead import Overhead, Steady
from understudy_lab.bench.predicting import FACTOR, Predictions
from understudy_lab.bench.push import CONNECTIONS, Pushed
from understudy_lab.bench.push import TARGET as PUSH_TARGET
from understudy_lab.bench.recovery_times import DETECTION_MS, TARGETS, Recovery
from understudy_lab.bench.shipping import SAVEPOINT_TARGET, SWEEPING_TARGET, Shipping
from understudy_lab.bench.silence import Silence
from understudy_lab.bench.sink_memory import Memory
from understudy_lab.bench.sink_speed import MESSAGE, Sinks
from understudy_lab.bench.sink_speed import TARGETS as SINK_TARGETS
from understudy_lab.bench.suspicion import Suspicion
from understudy_lab.bench.throughput import LEAST, Throughput

Row = Sequence[str]
MEBI = 1 << 20


def recovery_text(found: Recovery) -> str:
    rows = [
        (
            mode.value,
            *_spread(kills.excess),
            f"{found.ratio_of(mode):.3f} (at most {TARGETS[mode]:.3f})",
            _middle(kills.silence),
            _middle(kills.detected),
        )
        for mode, kills in found.modes.items()
    ]
    plain = (
        "plain PySpark, restarted at once",
        *_spread(found.plain.excess),
        "1",
        _middle(found.plain.silence),
        "",
    )
    soon = f"detection (at most {DETECTION_MS} ms)"
    head = ("excess gap at the sink", "median", "least", "most", "ratio", "fault to new output", soon)
    counts = {len(kills.excess) for kills in (*found.modes.values(), found.plain)}
    return _table(head, [*rows, plain]) + f"{min(counts)} kills each; the last two columns are medians."


def predictions_text(found: Predictions) -> str:
    rows = [
        (
            row.ha,
            row.operator_class,
            *(f"{ms:,.0f} ms" for ms in (row.planned_ms, row.batch_ms, row.predicted_ms)),
            *_spread(row.recovery),
            f"{row.predicted_ms / row.measured_ms:.2f}",
            *(_middle(values) for values in (row.detected, row.promoted, row.silence)),
            f"{len(row.recovery)}",
        )
        for row in found.rows
    ]
    times = (
        "plan says",
        "micro-batch",
        "predicted",
        "measured",
        "least",
        "most",
        "ratio",
        "detected",
        "promoted",
    )
    outside = ", ".join(f"{row.ha} {row.operator_class}" for row in found.outside) or "none"
    missing = ", ".join(f"{ha} {kind}" for ha, kind in found.missing) or "none"
    said = f"Not within {1 / FACTOR} to {FACTOR}: {outside}. Not measured yet: {missing}."
    return _table(("mode", "class", *times, "silence at the sink", "kills"), rows) + said


def silence_text(found: Silence) -> str:
    rows = [(mode.value, *_spread(ms), f"{found.allowed} ms") for mode, ms in found.modes.items()]
    said = f"{min(len(ms) for ms in found.modes.values())} stops each."
    return (
        _table(("from the stop to the suspicion", "median", "least", "most", "median, at most"), rows) + said
    )


def moving_text(found: Moving) -> str:
    rows = [(mode.value, *_spread(m.pauses), f"{median(m.moved):,.0f}") for mode, m in found.modes.items()]
    said = f"{min(len(m.pauses) for m in found.modes.values())} moves each; bytes are the median."
    return _table(("the primary stood still", "median", "least", "most", "moved bytes"), rows) + said


def overhead_text(found: Overhead) -> str:
    rows = [
        ("understudy, passiveStandby with its standby beside it", *_steady(found.understudy)),
        ("of which from input to output", f"{found.inside_ms:,.0f} ms", ""),
        ("plain PySpark, default settings", *_steady(found.plain_default)),
        ("plain PySpark, `spark.sql.shuffle.partitions=2`", *_steady(found.plain_tuned)),
    ]
    said = (
        f"Ratio to default settings **{found.ratio:.2f}** (to reach: at most 0.7), to the tuned ones "
        f"{found.understudy.ms / found.plain_tuned.ms:.2f}."
    )
    return _table(("", "one micro-batch", "measured"), rows) + said


def _steady(found: Steady) -> Row:
    return f"{found.ms:,.0f} ms", f"{found.batches:,}"


def throughput_text(found: Throughput) -> str:
    rows = [
        (mode, f"{value:,.0f}", _share(found, mode), f"{value / found.plain:.2f}")
        for mode, value in found.modes.items()
    ]
    plain = ("plain PySpark", f"{found.plain:,.0f}", "", "1")
    ratio = f"Amnesia against plain PySpark **{found.ratio:.2f}** (to reach: at least 0.8)"
    said = f"{ratio}, {found.tuples:,} tuples each."
    return _table(("tuples per second", "", "of amnesia", "of plain PySpark"), [*rows, plain]) + said


def _share(found: Throughput, mode: str) -> str:
    return f"{found.of_amnesia(mode):.2f}" + (f" (at least {LEAST[mode]})" if mode in LEAST else "")


def shipping_text(found: Shipping) -> str:
    base = found.synchronous
    rows = [
        (f"passiveStandby, {name}", f"{value:,.0f}", f"{value / base:.2f}{goal}")
        for name, value, goal in (
            ("synchronous", found.synchronous, ""),
            ("individual", found.individual, ""),
            ("sweeping", found.sweeping, f" (at most {SWEEPING_TARGET})"),
        )
    ]
    chain = _table(("four subjobs of two elements", "bytes/s", "ratio"), rows)
    goal = f"{found.savepoint / found.plain:.4f} (at most {SAVEPOINT_TARGET})"
    rows = [
        ("savepoint", f"{found.savepoint:,.0f}", goal),
        ("plain PySpark's checkpoint", f"{found.plain:,.0f}", "1"),
    ]
    return (
        chain
        + _table(("windows over heart beats", "bytes/s", "ratio"), rows)
        + f"{found.tuples:,} tuples a second."
    )


def suspicion_text(found: Suspicion) -> str:
    rows = [(mode, f"{count}", "0") for mode, count in found.take_overs.items()]
    said = f"{found.seconds} s for each mode, {found.burners} busy processes beside the job."
    return _table(("take-overs while nothing failed", "seen", "to reach"), rows) + said


def memory_text(found: Memory) -> str:
    rows = [
        (
            mode.value,
            f"{max(absence.queues.values()) / MEBI:.1f} of {absence.bound / MEBI:.0f} MiB",
            ", ".join(absence.full) or "nobody",
            f"{max(absence.most.values()) / MEBI:.0f} MiB",
            f"{absence.grown / MEBI:.0f} MiB",
            f"{absence.arrived:,} of {found.tuples:,}, {'precise' if absence.precise else 'NOT PRECISE'}",
        )
        for mode, absence in found.modes.items()
    ]
    head = (
        "while the sink was dead",
        "fullest queue",
        "waited for room",
        "largest process",
        "grown by",
        "arrived",
    )
    return _table(head, rows) + f"{found.tuples:,} tuples, made while no sink ran."


def core_text(found: Core) -> str:
    rows = [(f"in Arrow batches of {found.batch:,}", f"{found.per_second:,.0f}", f"{TARGET:,}")]
    said = f"{found.tuples:,} tuples on one core; every tenth batch arrived twice."
    return _table(("tuples per second", "measured", "to reach"), rows) + said


def push_text(found: Pushed) -> str:
    cpu = f"{found.server_cpu / found.requests * 1e6:.0f} µs"
    rows = [
        ("requests per second", f"{found.rate:,.0f}", f"{PUSH_TARGET:,}"),
        ("median wait for an ack", f"{found.median_ms:.1f} ms", ""),
        ("processor time of the server for a request", cpu, ""),
    ]
    said = (
        f"{found.requests:,} requests of one row on {CONNECTIONS} connections, {found.in_log:,} in the log; "
    )
    return _table(("push", "measured", "to reach"), rows) + said + "each acked after the sync."


def sinks_text(found: Sinks) -> str:
    rows = [
        (
            kind,
            f"{speed.per_second:,.0f}",
            f"{speed.per_core:,.0f}",
            f"{SINK_TARGETS[kind]:,}" if kind in SINK_TARGETS else "",
        )
        for kind, speed in found.kinds.items()
    ]
    count = next(iter(found.kinds.values())).rows
    said = f"{count:,} rows of four columns, in messages of {MESSAGE:,}. {found.left_out}".rstrip()
    return _table(("sink", "rows per second", "per second of one core", "to reach"), rows) + said


def _spread(values: Sequence[int]) -> Row:
    return tuple(f"{value:,.0f} ms" for value in (median(values), min(values), max(values)))


def _middle(values: Sequence[int]) -> str:
    return f"{median(values):,.0f} ms"


def _table(head: Row, rows: Sequence[Row]) -> str:
    lines = [head, ("---", *("---:" for _ in head[1:])), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n\n"


def drawn(text: str) -> list[Part]:
    """The same for a terminal."""
    return [_drawn_table(block) if block.startswith("|") else block for block in text.split("\n\n")]


def _drawn_table(block: str) -> Part:
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines())
    return table(head, rows)


def where_and_when() -> str:
    spark, arrow = version("pyspark"), version("pyarrow")
    return (
        f"Measured on {date.today().isoformat()}: {_processor()}, {os.cpu_count()} cores, {_memory()}, "
        f"{platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}, PySpark {spark}, pyarrow {arrow}."
    )


def _processor() -> str:
    names = [
        line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")
    ]
    return names[0] if names else platform.machine()


def _memory() -> str:
    total = [int(line.split()[1]) for line in _lines("/proc/meminfo") if line.startswith("MemTotal")]
    return f"{total[0] / (1 << 20):.0f} GiB" if total else "memory unknown"


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines() if Path(path).exists() else []


def put(page: Path, name: str, text: str) -> None:
    """Replace what stands between the markers of this benchmark."""
    begin, end = f"<!-- bench:{name} -->", f"<!-- /bench:{name} -->"
    found = page.read_text()
    if begin not in found or end not in found:
        raise ValueError(f"{page} has no {begin} … {end} to write between")
    inside = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    page.write_text(inside.sub(lambda _: f"{begin}\n{text}\n\n{where_and_when()}\n{end}", found))
