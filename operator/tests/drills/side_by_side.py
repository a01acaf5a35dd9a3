"""Subjobs that know nothing of each other, each between its own sources and its own sink: what breaks a
promise of one is what was done to that one.

While somebody catches up, the new primary is killed where upstream can give again all that it had. Elsewhere
(where a state was shipped, or a log of steps) there is no second copy at that moment: a new standby is killed
while it joins.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.drills.programme import COUNT, FILTER, MARKED, UNION, Programme
from understudy.model.classes import OperatorClass
from understudy.model.guarantees import PRECISE, Addition
from understudy.model.ha import Mode

Parts = Mapping[str, tuple[Mode, OperatorClass]]
NAMES: Mapping[OperatorClass, str] = {
    OperatorClass.REPEATABLE: "rep",
    OperatorClass.CONVERGENT: "con",
    OperatorClass.DETERMINISTIC: "det",
    OperatorClass.ARBITRARY: "arb",
}


def spec(parts: Parts) -> str:
    subjobs = [
        f"    - {{name: {n}, {_query(*part)}, ha: {{mode: {part[0]}}}}}\n" for n, part in parts.items()
    ]
    sinks = [f"    - {{name: {n}s, input: {n}, files: {{path: out/{n}}}}}\n" for n in parts]
    return "".join(["  subjobs:\n", *subjobs, "  sinks:\n", *sinks])


def _query(mode: Mode, kind: OperatorClass) -> str:
    match kind:
        case OperatorClass.REPEATABLE:
            return f"inputs: [odd], operators: [{FILTER}]"
        case OperatorClass.CONVERGENT:
            return f"inputs: [odd], operators: [{COUNT}]"
        case OperatorClass.DETERMINISTIC:  # a savepoint keeps one element
            return f"inputs: [odd], operators: [{MARKED if mode is Mode.SAVEPOINT else COUNT}, {COUNT}]"
        case OperatorClass.ARBITRARY:
            return f"inputs: [odd, even], operators: [{UNION}]"


def upstream_has_all(mode: Mode, kind: OperatorClass) -> bool:
    empty = mode in (Mode.UPSTREAM_BACKUP, Mode.SAVEPOINT)
    return empty and PRECISE[mode][kind] is not Addition.DETERMINANTS


LONG, LONGER = 260, 340  # every new instance takes most of a minute beside so many others


def classes(mode: Mode) -> Programme:
    """Every class of operators that the mode takes, under every fault. A primary is killed when the next
    standby is there, so both of a pair are lost one after the other; whoever joins too early to be struck,
    another follows it.
    """
    parts = {NAMES[kind]: (mode, kind) for kind in PRECISE[mode]}
    kills = [kill for name, part in parts.items() for kill in _kills(name, upstream_has_all(*part))]
    stops = [stop for name in parts for stop in (f"{name}@4s-6s+150ms", f"{name}@9s-12s+3s")]
    seconds = LONGER if any("recovering" in kill for kill in kills) else LONG
    return Programme(f"classes-{mode.lower()}", spec(parts), seconds, tuple(kills), tuple(stops))


def _kills(name: str, upstream_has_all: bool) -> tuple[str, ...]:
    first = (f"{name}@standby@18s-20s", f"{name}@protected@30s-45s")
    if upstream_has_all:
        return (*first, f"{name}@recovering@24s-30s", f"{name}@protected@90s-110s")
    return (*first, f"{name}@joining@24s-50s")


MODES: Parts = {
    "act": (Mode.ACTIVE_STANDBY, OperatorClass.ARBITRARY),
    "rep": (Mode.REPLICA_BACKUP, OperatorClass.REPEATABLE),
    "pas": (Mode.PASSIVE_STANDBY, OperatorClass.DETERMINISTIC),
    "ups": (Mode.UPSTREAM_BACKUP, OperatorClass.CONVERGENT),
    "sav": (Mode.SAVEPOINT, OperatorClass.DETERMINISTIC),
}

# Every mode, and every class of operators with one of them. One that was stopped is the standby when it goes
# on, so nobody has to be started before the primaries are killed.
PRIMARIES = Programme(
    "modes",
    spec(MODES),
    45,
    tuple(f"{name}@protected@12s-20s" for name in MODES),
    tuple(f"{name}@3s-5s+3s" for name in MODES),
)
STANDBYS = Programme("modes-standbys", spec(MODES), 25, tuple(f"{name}@standby@4s-12s" for name in MODES))
