"""What became of the mutants, as a page: docs/simulation/mutants.md."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import TypeAlias

from tests.mutants.seeds import SEEDS
from tests.mutants.sites import Mutant
from tests.mutants.trial import Verdict

Found: TypeAlias = Sequence[tuple[Mutant, Verdict]]
NO_REASON = "**not looked at yet**"

HEAD = f"""# Mutants

Do the tests notice when a guard of the core is wrong? `make mutants` changes every guard and comparison in
`protocol/` and `modes/`, one at a time, and runs the unit tests in `operator/tests/protocol` and
`operator/tests/modes`, and {SEEDS} seeds of [exploration](README.md), every second one with weather, against
each:

- a comparison becomes its opposite (`<` becomes `>=`, `is` becomes `is not`);
- a condition of an `if`, a `while`, a comprehension or a case becomes its opposite, or is removed: the code
  that it guards runs always, or, where it guards a `return` or the like, never;
- an operand of `and` or `or` is left out.

A mutant is *caught* if a test fails, or if a seed has a finding that it does not have without the mutant.
Each mutant runs in a fork of one process; tests and seeds that never reach the changed expression, or only
with values for which the change makes no difference, are not run. Jobs of one mode explore the file of that
mode, jobs of all modes explore all other files. If a seed uses the processor for five seconds, the mutant
counts as caught: the seed does not end.

`make mutants` continues where the last run stopped (`build/mutants.jsonl`; remove it to begin from the
start) and writes this page; all of it takes several hours on one free core. `make mutants ARGS=--quick`
runs no seeds where a unit test fails: it takes much less time, says as well what is caught, and nothing
about exploration. `make mutants SAMPLE=20` runs a sample, as continuous integration does; the commit
decides which mutants it has. The reasons below are kept in [survivors.yaml](survivors.yaml).
"""


def text(every: Sequence[Mutant], found: Found, reasons: Mapping[str, str]) -> str:
    survivors = [mutant for mutant, verdict in found if not verdict.caught]
    lines = [HEAD, _summary(every, found, reasons), "", *_table(found), "", "## Survivors", ""]
    if survivors:
        lines += ["| mutant | why no test notices |", "|---|---|"]
        lines += [f"| {_shown(m.key)} | {reasons.get(m.key, NO_REASON)} |" for m in survivors]
    else:
        lines.append("None.")
    return "\n".join([*lines, "", *_not_explored(found)]) + "\n"


def _summary(every: Sequence[Mutant], found: Found, reasons: Mapping[str, str]) -> str:
    caught = _share(v.caught for _, v in found)
    tried = [v for _, v in found if v.whole]
    explored = _share(v.explored for v in tried)
    of = f" of the {len(tried)} that it was tried on" if len(tried) < len(found) else ""
    silent = sum(not v.caught and m.key not in reasons for m, v in found)
    part = " The others are not known yet." if len(found) < len(every) else ""
    return (
        f"On {date.today():%-d %B %Y}: {len(every)} mutants, of which {len(found)} were run. **{caught} were "
        "caught, "
        f"{explored} by exploration alone{of}.** {silent} survived without a reason.{part}"
    )


def _share(answers: Iterable[bool]) -> str:
    known = list(answers)
    return f"{100 * sum(known) / len(known):.1f} %" if known else "none"


def _table(found: Found) -> Iterator[str]:
    yield "| file | mutants run | caught | by a unit test | by exploration | never reached by exploration |"
    yield "|---|---|---|---|---|---|"
    for file in sorted({mutant.file for mutant, _ in found}):
        of = [verdict for mutant, verdict in found if mutant.file == file]
        tried = [verdict for verdict in of if verdict.whole]
        counts = (len(of), sum(v.caught for v in of), sum(v.test is not None for v in of))
        explored = f"{sum(v.explored for v in tried)} of {len(tried)}" if tried else ""
        unreached = sum(v.seeds == 0 for v in tried) if tried else ""
        yield f"| `{file}` | " + " | ".join(map(str, (*counts, explored, unreached))) + " |"


def _not_explored(found: Found) -> Iterator[str]:
    """Where exploration has no weather for it, by function."""
    yield "## Caught by unit tests only"
    yield ""
    yield "By function; in brackets those that no seed reaches with a value that matters."
    yield ""
    missed = [(m, v) for m, v in found if v.caught and not v.explored and v.whole]
    for name in sorted({(m.file, m.function) for m, _ in missed}):
        of = [v for m, v in missed if (m.file, m.function) == name]
        yield f"- `{name[0]}` {name[1]}: {len(of)} ({sum(v.seeds == 0 for v in of)})"


def _shown(key: str) -> str:
    return "`" + key.replace("|", "\\|") + "`"
