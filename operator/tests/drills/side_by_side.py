"""Subjobs that know nothing of each other, each between its own sources and its own sink: what breaks a promise of one
is what was done to that one.

While somebody catches up, the new primary is killed where upstream can give again all that it had. Elsewhere (where a
state was shipped, or a log of steps) there is no second copy at that moment: a new standby is killed while it joins.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.drills.programme import COUNT, FILTER, MARKED, UNION, Programme
from understudy.model.classes import OperatorClass
from understudy.model.guarantees import PRECISE
from understudy.model.ha import Mode

Parts = Mapping[str, tuple[Mode, OperatorClass]]
NAMES: Mapping[OperatorClass, str] = {
    OperatorClass.REPEATABLE: "rep",
    OperatorClass.CONVERGENT: "con",
    OperatorClass.DETERMINISTIC: "det",
    OperatorClass.ARBITRARY: "arb",
}


def spec(parts: Parts) -> str:
    subjobs = [f"    - {{name: {n}, {_query(*part)}, ha: {{mode: {part[0]}}}}}\n" for n, part in parts.items()]
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
    logged = kind in (OperatorClass.DETERMINISTIC, OperatorClass.ARBITRARY)
    return mode is Mode.SAVEPOINT or (mode is Mode.UPSTREAM_BACKUP and not logged)


def classes(mode: Mode) -> Programme:
    """Every class of operators that the mode takes, under every fault. A primary is killed when the next standby is
    there, so both of a pair are lost one after the other; whoever joins too early to be struck, another follows it.
    """
    parts = {NAMES[kind]: (mode, kind) for kind in PRECISE[mode]}
    kills = [kill for name, part in parts.items() for kill in _kills(name, upstream_has_all(*part))]
    stops = [stop for name in parts for stop in (f"{name}@4s-6s+150ms", f"{name}@9s-12s+3s")]
    return Programme(f"classes-{mode.lower()}", spec(parts), 220, tuple(kills), tuple(stops))


def _kills(name: str, upstream_has_all: bool) -> tuple[str, ...]:
    first = (f"{name}@standby@18s-20s", f"{name}@protected@30s-45s")
    if upstream_has_all:
        return (*first, f"{name}@recovering@24s-30s", f"{name}@protected@90s-110s")
    return (*first, f"{name}@joining@24s-50s")


# Between them and the programme `chance`, every mode and every class meets every fault.
PRIMARIES_LOST = Programme(
    "primaries-lost",
    spec(
        {
            "act": (Mode.ACTIVE_STANDBY, OperatorClass.DETERMINISTIC),
            "rep": (Mode.REPLICA_BACKUP, OperatorClass.REPEATABLE),
            "sav": (Mode.SAVEPOINT, OperatorClass.CONVERGENT),
            "ups": (Mode.UPSTREAM_BACKUP, OperatorClass.ARBITRARY),
        }
    ),
    80,
    (
        *("act@protected@9s-11s", "rep@protected@9s-11s", "sav@standby@9s-11s"),
        *("act@protected@20s-30s", "rep@protected@20s-30s", "sav@protected@20s-30s"),
    ),
    ("act@3s-5s+3s", "rep@3s-5s+3s", "sav@3s-5s+3s", "ups@3s-5s+3s"),
)
CATCHING_UP = Programme(
    "lost-while-catching-up",
    spec(
        {
            "act": (Mode.ACTIVE_STANDBY, OperatorClass.ARBITRARY),
            "rep": (Mode.REPLICA_BACKUP, OperatorClass.DETERMINISTIC),
            "pas": (Mode.PASSIVE_STANDBY, OperatorClass.REPEATABLE),
            "ups": (Mode.UPSTREAM_BACKUP, OperatorClass.CONVERGENT),
            "sav": (Mode.SAVEPOINT, OperatorClass.DETERMINISTIC),
        }
    ),
    70,
    (
        *("act@standby@3s-6s", "rep@standby@3s-6s", "pas@standby@3s-6s"),
        *("act@joining@7s-11s", "rep@joining@7s-11s", "pas@joining@7s-11s"),
        *("ups@recovering@17s-18s", "sav@recovering@17s-18s", "ups@protected@18s-22s", "sav@protected@18s-22s"),
    ),
)
