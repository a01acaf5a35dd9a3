"""What is slow runs in turns, and nothing is left out."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.shares.__main__ import measured, units
from tests.shares.packing import LIMIT, SHARES, UNKNOWN, known, pack, unit
from tests.shares.turns import commits, next_turn, ran, remember


def test_every_unit_is_in_one_share() -> None:
    units = [f"test_{n}" for n in range(23)]
    found = Counter(each for share in pack(units, {"test_3": 400}) for each in share.units)
    assert found == Counter(units)


def test_no_share_takes_longer_than_it_may() -> None:
    """Also with the tests that were not measured yet."""
    shares = pack(units(), known())
    assert max(share.seconds for share in shares) <= LIMIT, [share.seconds for share in shares]


def test_shares_take_about_as_long_as_each_other() -> None:
    seconds = {f"test_{n}": 40 + n for n in range(50)}
    found = [share.seconds for share in pack(seconds, seconds)]
    assert max(found) - min(found) < 50


def test_a_new_test_moves_no_other_one() -> None:
    seconds = {f"test_{n}": 40 + n for n in range(50)}
    before, after = pack(seconds, seconds), pack([*seconds, "test_new"], seconds)
    assert {each for share in after for each in share.units} == {*seconds, "test_new"}
    assert [tuple(u for u in share.units if u != "test_new") for share in after] == [s.units for s in before]
    assert sum(s.seconds for s in after) == sum(s.seconds for s in before) + UNKNOWN


def test_the_tests_of_a_cluster_module_stay_together() -> None:
    assert unit("e2e/test_cuts.py::test_a") == unit("e2e/test_cuts.py::test_b[x]") == "e2e/test_cuts.py"
    assert (
        unit("operator/tests/local/test_x.py::test_a[1-2]") == "operator/tests/local/test_x.py::test_a[1-2]"
    )


def test_as_many_commits_in_a_row_as_there_are_shares_have_every_share() -> None:
    assert {next_turn(437 + n, []).share for n in range(SHARES)} == set(range(1, SHARES + 1))


@pytest.mark.parametrize("step", [0, 1, 3, 10, 14, 25])
def test_remembered_runs_have_every_share_however_many_commits_lie_between(tmp_path: Path, step: int) -> None:
    ledger = tmp_path / "cache" / "shares"
    for n in range(3 * SHARES):
        remember(ledger, next_turn(437 + n * step, ran(ledger)).share)
    for n in range(0, 3 * SHARES, SHARES):
        assert sorted(ran(ledger)[n : n + SHARES]) == list(range(1, SHARES + 1))


def test_a_ledger_that_was_cut_off_is_read_as_far_as_it_means_something(tmp_path: Path) -> None:
    (tmp_path / "shares").write_text("3\n7\n\x00\n99\n4")
    assert ran(tmp_path / "shares") == [3, 7, 4]


def test_the_number_of_a_commit_is_how_many_landings_came_before(tmp_path: Path) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("commit", "-q", "--allow-empty", "-m", "one")
    git("switch", "-q", "-c", "work")
    for word in ("two", "three"):
        git("commit", "-q", "--allow-empty", "-m", word)
    git("switch", "-q", "main")
    git("merge", "-q", "--no-ff", "-m", "landing", "work")
    assert commits(tmp_path) == 2
    git("clone", "-q", "--depth", "1", f"file://{tmp_path}", "shallow")
    assert commits(tmp_path / "shallow") > 100


def test_without_a_git_checkout_there_is_a_share_too(tmp_path: Path) -> None:
    assert commits(tmp_path) == 0
    assert next_turn(0, []).share == 1


def test_what_took_how_long_is_read_from_the_results_of_pytest(tmp_path: Path) -> None:
    results = tmp_path / "share.xml"
    case = '<testcase classname="x" file="operator/tests/local/test_x.py" name="test_a[b]" time="61.6"/>'
    results.write_text(f"<testsuites><testsuite>{case}</testsuite></testsuites>")
    assert measured(results) == {"operator/tests/local/test_x.py::test_a[b]": 62}
