"""What a planned move costs: for how long the primary stands still, and how much is sent to the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from understudy.local.folder import Folder
from understudy.local.report.move_costs import Migration, migrations_of
from understudy.local.run.fault_plan import Planned
from understudy.local.run.intents import Hurt
from understudy.local.run.members import Kind
from understudy.local.run.observed import Observed
from understudy.model.ha import Mode
from understudy_lab.bench.jobs import two_subjobs
from understudy_lab.bench.watching import Failed, Say, perform

RATE: Final = 500
FIRST_MS: Final = 10_000
APART_MS: Final = 1_000
"""At the least: a move waits for the one before it, and its target has to get warm."""
MODES: Final = (Mode.PASSIVE_STANDBY, Mode.ACTIVE_STANDBY, Mode.UPSTREAM_BACKUP)
SUBJOB: Final = "beats"


@dataclass(frozen=True, slots=True)
class Moves:
    """One figure for each move."""

    pauses: tuple[int, ...]
    """Milliseconds."""
    moved: tuple[int, ...]
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Moving:
    modes: Mapping[Mode, Moves]

    @property
    def ratio(self) -> None:
        """There is nothing to compare with."""

    @property
    def met(self) -> bool:
        """There is a figure for each move only if all of them took place."""
        return True


def measure(modes: Sequence[Mode], moves: int, folder: Path, say: Say) -> Moving:
    return Moving({mode: _moves(mode, moves, Folder(folder / mode.value), say) for mode in modes})


def _moves(mode: Mode, count: int, folder: Folder, say: Say) -> Moves:
    job = two_subjobs(RATE, mode)
    planned = [Planned(SUBJOB, FIRST_MS + n * APART_MS) for n in range(count)]
    record = perform(job, folder, UntilMoved(count), say, planned)
    found = moves_of(migrations_of(record, job), count)
    say(f"{mode.value}: stood still for {', '.join(str(ms) for ms in found.pauses)} ms")
    return found


def moves_of(migrations: Sequence[Migration], wanted: int) -> Moves:
    pauses = tuple(m.pause_ms for m in migrations if m.pause_ms is not None)
    if len(pauses) < wanted:
        why = [f"{m.source} to {m.target}: {m.failure}" for m in migrations if m.pause_ms is None]
        raise Failed(
            f"{len(pauses)} of {wanted} moves took place; {'; '.join(why) or 'the others were not begun'}"
        )
    return Moves(pauses, tuple(m.moved_bytes for m in migrations))


@dataclass(frozen=True, slots=True)
class UntilMoved:
    """Hurts nobody. Each move starts one instance, the next begins when it is over."""

    moves: int

    def strike(self, observed: Observed) -> Iterator[Hurt]:
        return iter(())

    def satisfied(self, observed: Observed) -> bool:
        return len(observed.of(Kind.SUBJOB, SUBJOB)) >= 2 + self.moves and not observed.moving
