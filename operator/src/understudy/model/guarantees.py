"""What each mode guarantees for each operator class: Hwang's Tables 2 and 4 as data, and which parts are
built."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .classes import OperatorClass
from .classification import class_of
from .elements import elements_of
from .ha import Guarantee, Mode
from .job import Subjob


class Recovery(StrEnum):
    """Recovery types (Hwang §3.1): how the output with a failure compares to the output without."""

    PRECISE = "precise"
    REPEATING = "repeating"
    CONVERGENT = "convergent"
    DIVERGENT = "divergent"
    GAP = "gap"


_CLASSES: Final = tuple(OperatorClass)


def _row(*cells: Recovery) -> Mapping[OperatorClass, Recovery]:
    return dict(zip(_CLASSES, cells, strict=True))


# Hwang Table 2: rollback recovery before anything is added. Columns: repeatable, convergent, deterministic,
# arbitrary. Replica backup is active standby without roles; a savepoint restores the selection and so the
# same state.
ROLLBACK: Final[Mapping[Mode, Mapping[OperatorClass, Recovery]]] = {
    Mode.AMNESIA: _row(Recovery.GAP, Recovery.GAP, Recovery.GAP, Recovery.GAP),
    Mode.PASSIVE_STANDBY: _row(
        Recovery.REPEATING, Recovery.REPEATING, Recovery.REPEATING, Recovery.DIVERGENT
    ),
    Mode.UPSTREAM_BACKUP: _row(
        Recovery.REPEATING, Recovery.CONVERGENT, Recovery.DIVERGENT, Recovery.DIVERGENT
    ),
    Mode.ACTIVE_STANDBY: _row(Recovery.REPEATING, Recovery.REPEATING, Recovery.REPEATING, Recovery.DIVERGENT),
    Mode.REPLICA_BACKUP: _row(Recovery.REPEATING, Recovery.REPEATING, Recovery.REPEATING, Recovery.DIVERGENT),
    Mode.SAVEPOINT: _row(Recovery.REPEATING, Recovery.REPEATING, Recovery.REPEATING, Recovery.DIVERGENT),
}


class Addition(StrEnum):
    """What makes a recovery precise (Hwang §6, Table 4); the value ends a sentence."""

    FILTER_BY_SEQ = "downstream drops duplicates by their seq"
    FORWARD_CHECKPOINTED = "only checkpointed tuples are forwarded"
    LOW_WATERMARKS = "low watermarks identify duplicates"
    HIGH_WATERMARKS = "high watermarks identify duplicates while it converges"
    DETERMINANTS = "determinants reach the secondary before the output they explain"


_WATERMARKS: Final = (Addition.LOW_WATERMARKS, Addition.HIGH_WATERMARKS)
_BY_SEQ: Final = dict.fromkeys(_CLASSES[:3], Addition.FILTER_BY_SEQ)

# Hwang Table 4: what has to be added for precise recovery; a class without an entry cannot have it in that
# mode.
PRECISE: Final[Mapping[Mode, Mapping[OperatorClass, Addition]]] = {
    Mode.AMNESIA: {},
    Mode.PASSIVE_STANDBY: {**_BY_SEQ, OperatorClass.ARBITRARY: Addition.FORWARD_CHECKPOINTED},
    Mode.UPSTREAM_BACKUP: {
        OperatorClass.REPEATABLE: Addition.LOW_WATERMARKS,
        OperatorClass.CONVERGENT: Addition.HIGH_WATERMARKS,
        OperatorClass.DETERMINISTIC: Addition.DETERMINANTS,
        OperatorClass.ARBITRARY: Addition.DETERMINANTS,
    },
    Mode.ACTIVE_STANDBY: {**_BY_SEQ, OperatorClass.ARBITRARY: Addition.DETERMINANTS},
    Mode.REPLICA_BACKUP: _BY_SEQ,
    Mode.SAVEPOINT: _BY_SEQ,
}

# The additions that are built. A new mode, or a new addition to one, is a line here.
AVAILABLE: Final[Mapping[Mode, frozenset[Addition]]] = {
    Mode.AMNESIA: frozenset(),
    Mode.PASSIVE_STANDBY: frozenset({Addition.FILTER_BY_SEQ, Addition.FORWARD_CHECKPOINTED}),
    Mode.UPSTREAM_BACKUP: frozenset(
        {Addition.LOW_WATERMARKS, Addition.HIGH_WATERMARKS, Addition.DETERMINANTS}
    ),
    Mode.ACTIVE_STANDBY: frozenset({Addition.FILTER_BY_SEQ, Addition.DETERMINANTS}),
    Mode.REPLICA_BACKUP: frozenset({Addition.FILTER_BY_SEQ}),
    Mode.SAVEPOINT: frozenset({Addition.FILTER_BY_SEQ}),
}


@dataclass(frozen=True, slots=True)
class Promise:
    """What a mode gives a class when all of it is built."""

    recovery: Recovery
    guarantee: Guarantee
    why: str


def promise(mode: Mode, operator_class: OperatorClass) -> Promise:
    """The strongest promise in the papers, whether or not it is built."""
    return _promise(mode, operator_class, PRECISE[mode].get(operator_class), frozenset(Addition))


def promise_now(mode: Mode, subjob: Subjob) -> Promise | None:
    """What the mode gives the subjob as it is built; None if it is not built, or not for such a subjob."""
    built = AVAILABLE.get(mode)
    if built is None or why_not(mode, subjob):
        return None
    addition = addition_of(mode, subjob)
    return _promise(mode, class_of(subjob).operator_class, addition, built)


def addition_of(mode: Mode, subjob: Subjob) -> Addition | None:
    """What makes the mode precise for the subjob; None if nothing does. A determinant is a batch plan with
    its clock and its salt, so it does not contain everything that a function may draw. Watermarks lead
    through one element; with several elements, steps are logged."""
    verdict = class_of(subjob)
    addition = PRECISE[mode].get(verdict.operator_class)
    if addition in _WATERMARKS and len(elements_of(subjob)) > 1:
        addition = Addition.DETERMINANTS
    drawn = verdict.operator_class is OperatorClass.ARBITRARY and not verdict.by_plan
    return None if addition is Addition.DETERMINANTS and drawn else addition


def logs_steps(subjob: Subjob) -> bool:
    """Whether in upstream backup its primary logs determinants at the standby."""
    return addition_of(Mode.UPSTREAM_BACKUP, subjob) is Addition.DETERMINANTS


def why_not(mode: Mode, subjob: Subjob) -> str | None:
    """Why the mode is not possible for such a subjob. A savepoint belongs to one operator (Koldehofe §4).
    Replicas number their tuples independently of each other, and so do successive lives in savepoint mode:
    only equal tuples may have equal seqs."""
    verdict, count = class_of(subjob), len(elements_of(subjob))
    if mode in (Mode.REPLICA_BACKUP, Mode.SAVEPOINT) and verdict.operator_class is OperatorClass.ARBITRARY:
        return (
            f"{mode} needs a deterministic subjob ({verdict.why}); write mode activeStandby or passiveStandby"
        )
    if mode is Mode.SAVEPOINT and count > 1:
        return f"a savepoint is kept of one element, and this subjob has {count}; write a subjob for each"
    return None


def _promise(
    mode: Mode, operator_class: OperatorClass, addition: Addition | None, built: Set[Addition]
) -> Promise:
    if addition in built:
        return Promise(Recovery.PRECISE, Guarantee.PRECISE, str(addition))
    recovery = ROLLBACK[mode][operator_class]
    if recovery is Recovery.GAP:
        return Promise(recovery, Guarantee.GAP, "a replacement starts empty at the newest input")
    return Promise(
        recovery, Guarantee.ROLLBACK, f"nothing is lost, and duplicates are {_DUPLICATES[recovery]}"
    )


_DUPLICATES: Final = {
    Recovery.REPEATING: "identical",
    Recovery.CONVERGENT: "different at first, then identical",
    Recovery.DIVERGENT: "equivalent but never identical again",
}
