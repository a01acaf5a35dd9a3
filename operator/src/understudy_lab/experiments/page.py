"""An experiment as a page of Markdown, with its plot beside it; and the list of all of them.

The plot shows the figures of the page's table as they are printed there, so it can be drawn again from the
page alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from understudy_lab.experiments.experiment import Cell, Experiment
from understudy_lab.experiments.plot import draw

INDEX = "README"
CLOSE = 0.15  # how far a figure may be from the paper's before it is marked


def write(experiment: Experiment, folder: Path, made: str) -> Path:
    """`made` says when and with how many runs."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{experiment.name}.md"
    path.write_text(_page(experiment, made), encoding="utf-8")
    draw(read(path), folder)
    return path


def redraw(folder: Path) -> list[Path]:
    """Draws the plots of all pages there again."""
    pages = [page for page in sorted(folder.glob("*.md")) if page.stem != INDEX]
    return [draw(read(page), folder) for page in pages]


def read(path: Path) -> Experiment:
    """Title and cells of the experiment that was written there."""
    lines = path.read_text(encoding="utf-8").splitlines()
    head, _, *rows = [_columns(line) for line in lines if line.startswith("|")]
    _, x, _, against, *_ = head
    cells = [
        Cell(row, column, metric, _figure(paper), float(measured), _figure(error))
        for row, column, metric, paper, measured, error, _ in rows
    ]
    return Experiment(path.stem, lines[0].removeprefix("# "), cells, x=x, against=against)


def _columns(line: str) -> list[str]:
    return [text.strip() for text in line.split("|")[1:-1]]


def _figure(text: str) -> float | None:
    return float(text) if text else None


def write_index(experiments: Iterable[Experiment], folder: Path, made: str) -> Path:
    lines = [
        "# Results of the experiments",
        "",
        made,
        "",
        "| experiment | figures of the paper within 15 % | trends and orderings that hold |",
        "|---|---|---|",
    ]
    for one in experiments:
        known = [c for c in one.cells if c.ratio is not None]
        near = f"{sum(is_close(c) for c in known)} of {len(known)}" if known else "the paper has no table"
        held = f"{sum(c.holds for c in one.checks)} of {len(one.checks)}"
        lines.append(f"| [{one.name}]({one.name}.md) | {near} | {held} |")
    path = folder / f"{INDEX}.md"
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")
    return path


def is_close(cell: Cell) -> bool:
    return cell.ratio is None or abs(cell.ratio - 1) <= CLOSE


def _page(experiment: Experiment, made: str) -> str:
    head = [f"# {experiment.title}", "", f"`understudy simulate {experiment.name}`. {made}", ""]
    plot = [f"![{experiment.title}]({experiment.name}.svg)", ""]
    checks = [f"- {'holds' if c.holds else '**does not hold**'}: {c.says}" for c in experiment.checks]
    notes = [f"- {note}" for note in experiment.notes]
    parts = [*head, *plot, *_table(experiment), "", "Trends and orderings:", "", *checks]
    return "\n".join([*parts, "", "Where the paper is silent, it is assumed:", "", *notes, ""])


def _table(experiment: Experiment) -> list[str]:
    rows = [
        f"| | {experiment.x} | metric | {experiment.against} | measured | ± 95 % | ratio |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    for cell in experiment.cells:
        paper, error, ratio = texts(cell)
        bold = "" if is_close(cell) else "**"
        place = f"| {cell.row} | {cell.column} | {cell.metric} "
        rows.append(f"{place}| {paper} | {cell.measured:.2f} | {error} | {bold}{ratio}{bold} |")
    return rows


def texts(cell: Cell) -> tuple[str, str, str]:
    paper = "" if cell.paper is None else f"{cell.paper:g}"
    error = "" if cell.error is None else f"{cell.error:.2f}"
    ratio = "" if cell.ratio is None else f"{cell.ratio:.2f}"
    return paper, error, ratio
