"""What `understudy plan` predicts against what kills cost: every mode with every class of operators.

What was measured is kept in a file of its own, so that modes can be measured one after the other, and so that
a change of the model is held against it without another run. A prediction is right within a factor of two.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Final

from understudy.local.folder import Folder
from understudy.local.report.fault_effects import Incident, incidents_of
from understudy.model.classes import OperatorClass
from understudy.model.costs import loads
from understudy.model.guarantees import PRECISE
from understudy.model.ha import Mode
from understudy.model.job import StreamJob
from understudy.model.measured import MICRO_BATCH
from understudy.model.prediction import predictions
from understudy.protocol.statuspage import InstancePage, StatusPage
from understudy_lab.bench.jobs import side_by_side
from understudy_lab.bench.recovery_times import gaps
from understudy_lab.bench.watching import Failed, KillEach, Say, detections, perform

RATE: Final = 100
QUIET_MS: Final = 2_000
FACTOR: Final = 2.0
MEASURED: Final = Path("docs/predictions.json")
ENOUGH: Final = 15
"""Micro-batches of an instance that tell how long one takes."""
AT_ONCE: Final = 2
"""Subjobs side by side, so that two cores are enough for the primaries."""
MODES: Final = (*PRECISE, "amnesia, spare: true")
"""As they are written in `ha`."""


Cell = tuple[str, OperatorClass]
"""`ha` and the class of operators."""


@dataclass(frozen=True, slots=True)
class Row:
    """Milliseconds, one figure per kill of a primary."""

    ha: str
    operator_class: str
    recovery: tuple[int, ...]
    """From the kill to the first tuple that the successor put out, as the report has it."""
    silence: tuple[int, ...]
    """From the kill to the end of the longest gap around it at the sink."""
    detected: tuple[int, ...]
    promoted: tuple[int, ...]
    batch_ms: float
    """The median micro-batch of its instances in this run: what the machine had to give."""

    @property
    def measured_ms(self) -> float:
        return median(self.recovery)

    @property
    def planned_ms(self) -> float:
        """What `understudy plan` says: where a micro-batch takes 100 ms."""
        return self._predicted(MICRO_BATCH)

    @property
    def predicted_ms(self) -> float:
        """The same for this machine."""
        return self._predicted(self.batch_ms / 1000)

    def _predicted(self, batch: float) -> float:
        job = job_of([self.cell])
        (subjob,) = job.subjobs
        found = predictions(subjob, loads(job)[subjob.name], batch)[subjob.ha.mode]
        return found.recovery.total_seconds() * 1000

    @property
    def cell(self) -> Cell:
        return self.ha, OperatorClass(self.operator_class)

    @property
    def factor(self) -> float:
        """By which the prediction is wrong, either way."""
        ratio = self.predicted_ms / max(self.measured_ms, 1)
        return max(ratio, 1 / ratio)


@dataclass(frozen=True, slots=True)
class Predictions:
    rows: tuple[Row, ...]

    @property
    def missing(self) -> list[Cell]:
        """What has not been measured yet."""
        known = {row.cell for row in self.rows}
        return [cell for cell in cells_of(MODES) if cell not in known]

    @property
    def ratio(self) -> dict[str, float]:
        return {f"{row.ha}, {row.operator_class}": row.factor for row in self.rows}

    @property
    def outside(self) -> list[Row]:
        return [row for row in self.rows if row.factor > FACTOR]

    @property
    def met(self) -> bool:
        return not self.outside


def cells_of(modes: Sequence[str]) -> list[Cell]:
    """Every class that a mode takes; of amnesia, which keeps nothing of any, the first two."""
    return [(ha, kind) for ha in modes for kind in (PRECISE[_mode(ha)] or list(OperatorClass)[:2])]


def job_of(cells: Sequence[Cell]) -> StreamJob:
    return side_by_side(RATE, {_name(cell): cell for cell in cells})


def _name(cell: Cell) -> str:
    ha, kind = cell
    return f"{_mode(ha).lower()}-{kind}"


def _mode(ha: str) -> Mode:
    return Mode(ha.partition(",")[0])


def measure(modes: Sequence[str], kills: int, folder: Path, say: Say) -> Predictions:
    """`kills` of each primary."""
    cells = cells_of(modes)
    runs = [cells[n : n + AT_ONCE] for n in range(0, len(cells), AT_ONCE)]
    found = [_measure(run, kills, folder / f"{n}", say) for n, run in enumerate(runs)]
    return Predictions(tuple(row for rows in found for row in rows))


def _measure(cells: Sequence[Cell], kills: int, folder: Path, say: Say) -> list[Row]:
    job = job_of(cells)
    names = tuple(subjob.name for subjob in job.subjobs)
    say(f"{kills} kills of each: {', '.join(names)}")
    alone = frozenset(subjob.name for subjob in job.subjobs if subjob.ha.instances == 1)
    record = perform(job, Folder(folder), KillEach(names, kills * len(names), QUIET_MS, alone), say)
    struck = {done.at_ms for done in record.done}
    incidents = [i for i in incidents_of(record, job) if i.role == "primary" and i.at_ms in struck]
    rows = []
    for name, cell in zip(names, cells, strict=True):
        mine = [i for i in incidents if i.subjob == name]
        times = [a.at_ms for a in record.arrivals[f"{name}s"] if a.at_ms != record.ended_ms]
        silence = gaps(times, [i.at_ms for i in mine]).silence
        rows.append(row_of(cell, mine, silence, batch_ms(record.last.values(), name)))
        say(f"{name}: {', '.join(map(str, rows[-1].recovery))} ms to the first output")
    return rows


def batch_ms(pages: Iterable[StatusPage | None], subjob: str) -> float:
    """Of those of its instances that ran for long enough to tell."""
    found = [page.batches for page in pages if isinstance(page, InstancePage) and page.subjob == subjob]
    medians = [each.median_ms for each in found if each.median_ms is not None and each.count >= ENOUGH]
    if not medians:
        raise Failed(f"no instance of {subjob} ran for {ENOUGH} micro-batches")
    return float(median(medians))


def row_of(cell: Cell, mine: Sequence[Incident], silence: tuple[int, ...], batch: float) -> Row:
    first = tuple(i.first_output_ms for i in mine if i.first_output_ms is not None)
    promoted = tuple(i.promoted_ms for i in mine if i.promoted_ms is not None)
    if not mine or len(first) < len(mine):
        raise Failed(f"{_name(cell)}: {len(first)} of {len(mine)} kills were followed by an output")
    return Row(str(cell[0]), str(cell[1]), first, silence, detections(mine), promoted, batch)


# ---- the file --------------------------------------------------------------------------------------------


def read(path: Path) -> Predictions:
    raw = json.loads(path.read_text()) if path.exists() else {"rows": []}
    return Predictions(tuple(_row(found) for found in raw["rows"]))


def write(path: Path, found: Predictions, where: str) -> Predictions:
    """Rows of the same mode and class are replaced, the others stay."""
    new = {(row.ha, row.operator_class): row for row in found.rows}
    old = {(row.ha, row.operator_class): row for row in read(path).rows}
    merged = sorted((old | new).values(), key=lambda row: (MODES.index(row.ha), _generality(row)))
    path.write_text(json.dumps({"where": where, "rows": [asdict(row) for row in merged]}, indent=1) + "\n")
    return Predictions(tuple(merged))


def _row(raw: Mapping[str, object]) -> Row:
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()}
    return Row(**values)  # type: ignore[arg-type]


def _generality(row: Row) -> int:
    return OperatorClass(row.operator_class).generality
