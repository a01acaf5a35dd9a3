"""The papers' experiments, small: who is better than whom and what grows with what must be as in the
paper."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from understudy.cli import main
from understudy_lab.experiments import hwang, koldehofe, osiris, page, planner, xiao, xiao_placement, zhang
from understudy_lab.experiments.catalogue import EXPERIMENTS
from understudy_lab.experiments.experiment import Experiment, falls, flat, rises
from understudy_lab.experiments.plot import draw

RESULTS = Path(__file__).parents[3] / "docs/simulation/results"

Small = Callable[[Callable[[str], None], int], Experiment]

SMALL: dict[str, Small] = {
    "hwang-table6": hwang.table6,
    "hwang-table7": partial(hwang.table7, windows=(100, 300)),
    "hwang-table8": partial(hwang.table8, advances=(100, 10, 5)),
    "hwang-figure6": partial(hwang.figure6, intervals=(25, 100)),
    "hwang-figure7": partial(hwang.figure7, longest=2),
    "xiao-figure3": partial(xiao.figure3, seconds=3),
    "xiao-figure4": partial(xiao.figure4, delays=(5, 20)),
    "xiao-figure5": partial(xiao.figure5, heartbeats=(5, 50)),
    "xiao-figure6": xiao_placement.figure6,
    "xiao-figure7": xiao_placement.figure7,
    "koldehofe-figure10": partial(koldehofe.figure10, widest=2),
    "koldehofe-figure11": partial(koldehofe.figure11, longest=3),
    "koldehofe-figure12": partial(koldehofe.figure12, frequencies=(1, 3)),
    "zhang-sweeping": partial(zhang.sweeping, seconds=3.5),
    "zhang-hybrid": partial(zhang.hybrid, seconds=1.5, heartbeats=(50, 500)),
    "osiris-backups": partial(osiris.backups, seconds=2),
    "planner": partial(planner.planner, jobs=2),
}
NOT_AS_IN_THE_PAPER = {"before, upstream backup's gets a little shorter as the advance does"}


@cache
def conduct(name: str) -> Experiment:
    return SMALL[name](lambda text: None, 1)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_trends_and_orderings_are_those_of_the_paper(name: str) -> None:
    found = conduct(name)
    broken = {check.says for check in found.checks if not check.holds}
    assert found.checks
    assert broken <= NOT_AS_IN_THE_PAPER, found.cells
    assert found.name == name


def test_the_same_seed_gives_the_same_figures() -> None:
    setup = xiao.Setup(xiao.UPSTREAM, (300,), 800)
    assert xiao.watch(setup, 3).arrivals == xiao.watch(setup, 3).arrivals


# ---- pages and plots ---------------------------------------------------------------------------------------


def test_a_page_gives_back_the_figures_that_were_written_there(tmp_path: Path) -> None:
    found = conduct("hwang-table8")
    path = page.write(found, tmp_path, "Today.")
    again = page.read(path)
    assert (again.name, again.title, again.x, again.against) == (
        found.name,
        found.title,
        "advance (tuples)",
        "paper",
    )
    assert again.cells == [
        replace(c, measured=round(c.measured, 2), error=None if c.error is None else round(c.error, 2))
        for c in found.cells
    ]


def test_a_plot_names_its_title_rows_metrics_and_origin(tmp_path: Path) -> None:
    found = conduct("planner")
    page.write(found, tmp_path, "Today.")
    drawn = ElementTree.parse(tmp_path / "planner.svg").getroot()
    texts = {text.strip() for element in drawn.iter() if (text := element.text)}
    assert {found.title, "predicted"} <= texts
    assert {c.row for c in found.cells} | {c.metric for c in found.cells} <= texts


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_plot_in_the_docs_is_the_one_of_its_page_byte_for_byte(name: str, tmp_path: Path) -> None:
    """After another version of matplotlib: `understudy simulate redraw`."""
    drawn = draw(page.read(RESULTS / f"{name}.md"), tmp_path)
    assert drawn.read_bytes() == (RESULTS / f"{name}.svg").read_bytes()


def test_redraw_draws_the_plot_of_each_page_but_the_index(tmp_path: Path) -> None:
    found = conduct("xiao-figure6")
    page.write(found, tmp_path, "Today.")
    page.write_index([found], tmp_path, "Today.")
    before = (tmp_path / "xiao-figure6.svg").read_bytes()
    (tmp_path / "xiao-figure6.svg").unlink()
    assert main(["simulate", "redraw", "--into", str(tmp_path)]) == 0
    assert [path.name for path in tmp_path.glob("*.svg")] == ["xiao-figure6.svg"]
    assert (tmp_path / "xiao-figure6.svg").read_bytes() == before


def test_redraw_without_results_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "redraw", "--into", str(tmp_path)]) == 2
    assert "there are no results" in capsys.readouterr().err


def test_without_matplotlib_an_experiment_says_what_to_install_before_it_runs(tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None; from understudy.cli import main; "
        f"sys.exit(main(['simulate', 'xiao-figure6', '--into', {str(tmp_path)!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 3
    assert done.stderr == (
        "understudy simulate: the plots are drawn with matplotlib, which is not installed: "
        "pip install matplotlib\n"
    )
    assert not list(tmp_path.iterdir())


# ---- the judges can say no ---------------------------------------------------------------------------------


def turned(found: Experiment) -> Experiment:
    """The same cells with the measured values of each metric in reverse order."""
    cells = []
    for metric in dict.fromkeys(c.metric for c in found.cells):
        own = [c for c in found.cells if c.metric == metric]
        cells += [replace(c, measured=o.measured) for c, o in zip(own, reversed(own), strict=True)]
    return Experiment(found.name, found.title, cells)


@pytest.mark.parametrize(
    ("name", "judge"),
    [
        ("hwang-table6", hwang.judge_table6),
        ("xiao-figure3", lambda found: xiao.judge_figure3(found, 250)),
        ("koldehofe-figure10", koldehofe.judge_figure10),
        ("zhang-hybrid", zhang.judge_hybrid),
        ("osiris-backups", osiris.judge),
        ("planner", planner.judge),
    ],
)
def test_a_judge_refuses_figures_that_are_the_other_way_round(
    name: str, judge: Callable[[Experiment], None]
) -> None:
    found = turned(conduct(name))
    judge(found)
    assert any(not check.holds for check in found.checks)


def test_rises_falls_and_flat_are_strict_enough() -> None:
    assert rises([1, 2, 2, 3])
    assert not rises([1, 2, 1.5, 3])
    assert not rises([2, 2, 2])
    assert falls([3, 2])
    assert not falls([3, 4])
    assert flat([100, 101, 99], 0.02)
    assert not flat([100, 120], 0.02)


def test_a_cell_knows_its_ratio_and_its_interval() -> None:
    found = Experiment("x", "x")
    found.add("row", 1, "metric", 10.0, [11.0, 13.0])
    (cell,) = found.cells
    assert cell.ratio == pytest.approx(1.2)
    assert cell.error == pytest.approx(12.71)
