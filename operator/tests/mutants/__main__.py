"""`make mutants`: changes every guard and comparison of the core, one at a time, and asks who notices."""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.mutants import page, reasons
from tests.mutants.coverage import cover
from tests.mutants.patching import all_mutants, fingerprint
from tests.mutants.seeds import mode
from tests.mutants.sites import Mutant
from tests.mutants.suite import Suite, with_suite
from tests.mutants.trial import Killers, Verdict, apart, judge

LEAST_CAUGHT = 0.55
"""Of a sample. Of all mutants about 0.8 are caught today; a sample of 20 is far from that now and then, so
this notices only that the suites have stopped to look. The goal, 0.95, is held against the whole page."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sample", type=int, metavar="N", help="so many of them, drawn; the rest is left out"
    )
    parser.add_argument(
        "--draw", default="0", metavar="WORD", help="what the sample is drawn by [%(default)s]"
    )
    parser.add_argument("--only", default="", metavar="WORDS", help="those whose name has these words in it")
    parser.add_argument(
        "--record", type=Path, metavar="FILE", help="verdicts are kept here, and not given again"
    )
    parser.add_argument("--again", action="store_true", help="try again what survived in the record")
    parser.add_argument("--quick", action="store_true", help="run no seed against what a unit test catches")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the page, from the whole record")
    args = parser.parse_args()
    every = all_mutants()
    record = Record(args.record)
    known = record.verdicts(every)
    chosen = [mutant for mutant in every if args.only in mutant.key]
    if args.sample:
        chosen = random.Random(args.draw).sample(chosen, min(args.sample, len(chosen)))
    left = [m for m in chosen if m not in known or wanted(known[m], args.again, args.quick)]
    failed = with_suite(partial(trials, left, record, args.quick)) if left else 0
    if args.page:
        known = record.verdicts(every)
        args.page.write_text(page.text(every, [(m, known[m]) for m in every if m in known], reasons.known()))
    return failed


@dataclass(frozen=True)
class Record:
    file: Path | None

    def verdicts(self, every: list[Mutant]) -> dict[Mutant, Verdict]:
        """The newest on each mutant that there still is, if its file is what it was."""
        if self.file is None or not self.file.exists():
            return {}
        lines = [json.loads(line) for line in self.file.read_text().splitlines() if line.endswith("}")]
        found = {line["key"]: Verdict(**line) for line in lines}
        kept = ((mutant, found.get(mutant.key)) for mutant in every)
        return {m: verdict for m, verdict in kept if verdict and verdict.source == fingerprint(m.file)}

    def add(self, verdict: Verdict) -> None:
        if self.file is not None:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            with self.file.open("a") as file:
                file.write(json.dumps(verdict.to_json()) + "\n")


def wanted(verdict: Verdict, again: bool, quick: bool) -> bool:
    """Whether a mutant is tried again."""
    return (again and not verdict.caught) or not (verdict.whole or quick)


def trials(left: list[Mutant], record: Record, quick: bool, suite: Suite) -> int:
    began = time.monotonic()
    coverage = apart(lambda: cover(left, suite.names, suite.fails))
    print(f"\n{len(left)} mutants; {len(coverage.tests)} tests and {len(coverage.seeds)} seeds, "
          f"which the sound core passes, in {time.monotonic() - began:.0f} s", flush=True)  # fmt: skip
    killers: Killers = Counter()
    survivors = []
    for n, mutant in enumerate(left, 1):
        verdict = apart(partial(judge, mutant, coverage, killers, suite.fails, quick))
        record.add(verdict)
        if verdict.seed is not None:
            killers[mode(mutant.file, verdict.seed), verdict.seed] += 1
        if not verdict.caught:
            survivors.append(mutant.key)
        print(f"{n}/{len(left)} {told(mutant, verdict)}", flush=True)
    unknown = [key for key in survivors if key not in reasons.known()]
    caught = f"{len(left) - len(survivors)} of {len(left)} caught"
    print(f"{caught}; survived without a reason: {len(unknown)}", *unknown, sep="\n")
    return int(len(unknown) > (1 - LEAST_CAUGHT) * len(left))


def told(mutant: Mutant, verdict: Verdict) -> str:
    by = [*(["a test"] if verdict.test else []), *([f"seed {verdict.seed}"] if verdict.explored else [])]
    return f"{' and '.join(by) or 'SURVIVED'} ({verdict.tests} tests, {verdict.seeds} seeds): {mutant.key}"


if __name__ == "__main__":
    raise SystemExit(main())
