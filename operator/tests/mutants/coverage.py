"""Which tests and which seeds come to an expression, and with which values: a mutant that no difference could
be seen of there is not run there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from tests.mutants.patching import Value, put_probes
from tests.mutants.seeds import SEEDS, Only, finding, mode, modes
from tests.mutants.sites import Mutant


@dataclass
class Coverage:
    tests: dict[str, set[Value]] = field(default_factory=dict)
    seeds: dict[tuple[Only, int], set[Value]] = field(default_factory=dict)
    """Those that the sound core passes."""

    def of_tests(self, mutant: Mutant) -> list[str]:
        return [test for test, values in self.tests.items() if _matter(mutant) & values]

    def of_seeds(self, mutant: Mutant) -> list[int]:
        wanted = _matter(mutant)
        return [n for n in range(SEEDS) if wanted & self.seeds.get((mode(mutant.file, n), n), set())]


def _matter(mutant: Mutant) -> set[Value]:
    truths = (True, False, None) if mutant.matters_if is None else (mutant.matters_if,)
    return {(mutant.file, mutant.node, truth) for truth in truths}


def cover(among: list[Mutant], tests: Iterable[str], fails: Callable[[str], bool]) -> Coverage:
    """`fails`: runs a test. Leaves the probes where they are: to be called in a process of its own."""
    found: dict[Any, set[Value]] = defaultdict(set)
    now: list[Any] = [None]
    put_probes(among, lambda value: found[now[0]].add(value))
    covered = Coverage()
    for test in tests:
        now[0] = test
        if not fails(test):
            covered.tests[test] = found[test]
    drawn = {(mode(m, n), n) for m in {mutant.file for mutant in among} for n in range(SEEDS) if modes(m)}
    for only, seed in sorted(drawn, key=str):
        now[0] = (only, seed)
        if finding(seed, only) is None:
            covered.seeds[only, seed] = found[only, seed]
    return covered
