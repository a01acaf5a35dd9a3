"""What is changed, that the change is in force, and who notices."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.mutants import page, reasons
from tests.mutants.__main__ import Record, wanted
from tests.mutants.coverage import Coverage
from tests.mutants.patching import Value, all_mutants, files, fingerprint, put, put_probes
from tests.mutants.seeds import TooLong, limited, modes
from tests.mutants.sites import Mutant, mutants, tree_with
from tests.mutants.trial import Verdict, apart, judge
from understudy.protocol.timer import due

CODE = """
LIMIT = 3 if __debug__ else 4

def early(a, b):
    if a is None or b:
        return 0
    return 1 if a < b else 2

class Some:
    def many(self, them):
        return [each for each in them if each]

    def of(self, event):
        match event:
            case int() if event > 3:
                return True
        while event:
            event = not event
"""


@pytest.fixture
def made(tmp_path: Path) -> dict[str, Mutant]:
    (tmp_path / "some.py").write_text(CODE)
    return {mutant.key: mutant for mutant in mutants(tmp_path / "some.py", "some.py")}


def test_every_guard_and_comparison_in_a_function_is_removed_or_inverted(made: dict[str, Mutant]) -> None:
    assert [key.removeprefix("some.py ") for key in made] == [
        "early: a is None or b → False",
        "early: a is None or b → not (a is None or b)",
        "early: or a is None → left out of a is None or b",
        "early: a is None → a is not None",
        "early: or b → left out of a is None or b",
        "early: a < b → True",
        "early: a < b → a >= b",
        "Some.many: each → True",
        "Some.many: each → not each",
        "Some.of: event > 3 → True",
        "Some.of: event > 3 → event <= 3",
        "Some.of: event → False",
        "Some.of: event → not event",
    ]


@pytest.mark.parametrize(
    ("key", "arguments", "result"),
    [
        ("some.py early: a is None or b → False", (1, 2), 1),
        ("some.py early: a < b → a >= b", (1, 0), 1),
        ("some.py early: or b → left out of a is None or b", (1, 2), 1),
        ("some.py early: a < b → True", (0, 0), 1),
    ],
)
def test_a_mutant_does_what_it_says(
    made: dict[str, Mutant], tmp_path: Path, key: str, arguments: tuple[int, int], result: int
) -> None:
    for mutant, expected in ((None, {(1, 2): 0, (1, 0): 2, (0, 0): 2}[arguments]), (made[key], result)):
        path = tmp_path / "some.py"
        tree = ast.parse(CODE) if mutant is None else tree_with(path, mutant)
        names: dict[str, object] = {}
        exec(compile(tree, str(path), "exec"), names)
        early = names["early"]
        assert callable(early)
        assert early(*arguments) == expected


def test_names_are_unique_and_every_file_is_explored_by_some_jobs() -> None:
    every = all_mutants()
    assert len({mutant.key for mutant in every}) == len(every) > 1_000
    assert {file: bool(modes(file)) for file in files()} == dict.fromkeys(files(), True)


def of(words: str) -> Mutant:
    (found,) = [mutant for mutant in all_mutants() if words in mutant.key]
    return found


NEVER = "timer.py due: last is None → last is not None"


def test_functions_that_are_imported_already_are_changed_in_a_fork_and_nowhere_else() -> None:
    def changed() -> bool:
        put(of(NEVER))
        return due(last=None, now=5, interval=0)  # type: ignore[arg-type]

    assert apart(changed) is True
    assert due(None, 5, 10)  # type: ignore[arg-type]


def test_mutants_can_be_put_in_place() -> None:
    def many() -> int:
        for mutant in all_mutants()[::40]:
            put(mutant)
        return 1

    assert apart(many) == 1


def test_probes_tell_which_values_an_expression_had() -> None:
    mutant = of(NEVER)

    def seen() -> set[Value]:
        told: set[Value] = set()
        put_probes([mutant], told.add)
        due(3, 5, 10)  # type: ignore[arg-type]
        return told

    assert apart(seen) == {(mutant.file, mutant.node, False)}


HOLE = of("DuplicateFilter.accept: arrived.start > self.expected → arrived.start <= self.expected")


def test_a_test_and_a_seed_are_run_only_where_the_change_makes_a_difference() -> None:
    never = of("DuplicateFilter.accept: arrived.start > self.expected → False")
    true, false = (never.file, never.node, True), (never.file, never.node, False)
    coverage = Coverage(
        {"a": {true}, "b": {false}, "c": set()}, {(None, 3): {false}, (None, 7): {false, true}}
    )
    assert (coverage.of_tests(never), coverage.of_seeds(never)) == (["a"], [7])


def test_a_default_that_is_left_out_makes_a_difference_whatever_its_value(tmp_path: Path) -> None:
    code = "def f(a, b):\n    return (a or 0, a is None or b, a or b is None)\n"
    (tmp_path / "other.py").write_text(code)
    found = {
        m.before: m.matters_if for m in mutants(tmp_path / "other.py", "other.py") if m.kind == "left out"
    }
    assert found == {"or a": True, "or 0": None, "or a is None": True, "or b": None, "or b is None": True}


def test_a_mutant_is_judged_by_tests_and_by_seeds() -> None:
    seen: set[Value] = {(HOLE.file, HOLE.node, True)}
    coverage = Coverage({"passes": seen, "fails": seen}, {(None, n): seen for n in range(3)})
    found = apart(lambda: judge(HOLE, coverage, Counter(), lambda test: test == "fails"))
    assert (found.test, found.tests, found.seeds) == ("fails", 2, 3)
    assert found.seed is not None
    assert found.problem
    alone = apart(lambda: judge(HOLE, Coverage({"passes": seen}), Counter(), lambda _: False))
    assert not alone.caught


def test_a_quick_trial_runs_seeds_only_against_what_no_test_catches() -> None:
    seen: set[Value] = {(HOLE.file, HOLE.node, True)}
    coverage = Coverage({"fails": seen}, {(None, n): seen for n in range(3)})
    caught = apart(lambda: judge(HOLE, coverage, Counter(), lambda _: True, quick=True))
    assert (caught.test, caught.seeds, caught.seed, caught.whole) == ("fails", 0, None, False)
    missed = apart(lambda: judge(HOLE, coverage, Counter(), lambda _: False, quick=True))
    assert (missed.test, missed.seeds, missed.explored, missed.whole) == (None, 3, True, True)


def test_what_a_quick_trial_left_out_is_tried_by_a_whole_one() -> None:
    quick, survived = verdict(HOLE, "a", whole=False), verdict(HOLE)
    assert [wanted(quick, again=False, quick=quick_one) for quick_one in (False, True)] == [True, False]
    assert [wanted(survived, again=again, quick=False) for again in (False, True)] == [False, True]


def verdict(
    mutant: Mutant,
    test: str | None = None,
    seed: int | None = None,
    source: str | None = None,
    whole: bool = True,
) -> Verdict:
    return Verdict(mutant.key, 1, test, 1, seed, None, 0.1, source or fingerprint(mutant.file), whole)


def test_a_verdict_counts_as_long_as_its_file_is_what_it_was(tmp_path: Path) -> None:
    record, other = Record(tmp_path / "record"), of(NEVER)
    record.add(verdict(HOLE, "a test"))
    record.add(verdict(other, "a test", source="another"))
    with (tmp_path / "record").open("a") as file:
        file.write('{"key": "cut o')
    assert list(record.verdicts([HOLE, other])) == [HOLE]


def test_the_page_says_how_many_were_caught_and_why_the_others_were_not() -> None:
    every = all_mutants()
    found = [(every[0], verdict(every[0], "a")), (every[1], verdict(every[1], "a", 3)), (HOLE, verdict(HOLE))]
    text = page.text(every, found, {HOLE.key: "it is asked before"})
    assert (
        "of which 3 were run. **66.7 % were caught, 33.3 % by exploration alone.** 0 survived without" in text
    )
    assert f"| `{HOLE.key}` | it is asked before |" in text
    assert page.NO_REASON in page.text(every, found, {})


def test_the_page_counts_for_exploration_only_what_it_was_tried_on() -> None:
    every = all_mutants()
    quick = [(mutant, verdict(mutant, "a", whole=False)) for mutant in every[2:4]]
    text = page.text(every, [(every[0], verdict(every[0], "a", 3)), *quick], {})
    assert "**100.0 % were caught, 100.0 % by exploration alone of the 1 that it was tried on.**" in text


def test_every_reason_is_one_of_a_mutant_that_there_is() -> None:
    assert set(reasons.known()) - {mutant.key for mutant in all_mutants()} == set()


def test_what_does_not_end_is_ended() -> None:
    def work() -> None:
        while True:
            pass

    with pytest.raises(TooLong), limited(0.2):
        work()
