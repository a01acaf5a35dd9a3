"""One mutant, in a process of its own: the unit tests, then the seeds, each until one catches it."""

from __future__ import annotations

import os
import pickle
import resource
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias, TypeVar

from tests.mutants.coverage import Coverage
from tests.mutants.patching import fingerprint, put
from tests.mutants.seeds import Only, finding, mode, rarely_collecting
from tests.mutants.sites import Mutant

MEMORY = 3 * 2**30
Found = TypeVar("Found")


@dataclass(frozen=True)
class Verdict:
    key: str
    tests: int
    """So many tests come to it; the first one that failed, if any."""
    test: str | None
    seeds: int
    seed: int | None
    problem: str | None
    seconds: float
    source: str
    """What the file was when it was judged."""
    whole: bool = True
    """Whether the seeds were run, too. A quick trial leaves them out if a test fails."""

    @property
    def caught(self) -> bool:
        return self.test is not None or self.seed is not None

    @property
    def explored(self) -> bool:
        return self.seed is not None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def apart(work: Callable[[], Found]) -> Found:
    """What it comes to in a fork of this process."""
    here, there = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(here)
        _tell(there, work)
    os.close(there)
    with os.fdopen(here, "rb") as pipe:
        said = pipe.read()
    os.waitpid(pid, 0)
    if not said:
        raise RuntimeError("the process ended without a word")
    ok, found = pickle.loads(said)
    if not ok:
        raise RuntimeError(found)
    result: Found = found
    return result


def _tell(pipe: int, work: Callable[[], Found]) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        said: tuple[bool, object] = True, work()
    except BaseException:
        said = False, traceback.format_exc()
    with os.fdopen(pipe, "wb") as stream:
        pickle.dump(said, stream)
    os._exit(0)


Killers: TypeAlias = Counter[tuple[Only, int]]
"""How many mutants each seed has caught."""


def judge(
    mutant: Mutant,
    coverage: Coverage,
    killers: Killers,
    fails: Callable[[str], bool],
    quick: bool = False,
) -> Verdict:
    began = time.process_time()
    put(mutant)
    rarely_collecting()
    tests = coverage.of_tests(mutant)
    test = next((name for name in tests if fails(name)), None)
    whole = test is None or not quick
    seeds = coverage.of_seeds(mutant) if whole else []
    ordered = sorted(seeds, key=lambda n: (-killers[mode(mutant.file, n), n], n))
    found = ((n, finding(n, mode(mutant.file, n))) for n in ordered)
    seed, problem = next(((n, said) for n, said in found if said is not None), (None, None))
    seconds = round(time.process_time() - began, 1)
    source = fingerprint(mutant.file)
    return Verdict(mutant.key, len(tests), test, len(seeds), seed, problem, seconds, source, whole)
