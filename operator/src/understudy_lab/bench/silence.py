"""How soon a primary is suspected that falls silent without a closed connection: its whole session is
stopped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Final

from understudy.local.folder import Folder
from understudy.local.report.fault_effects import incidents_of
from understudy.local.run.fault_plan import Fault, Target
from understudy.local.run.intents import Hurt
from understudy.local.run.observed import Observed
from understudy.model.ha import Heartbeat, Mode
from understudy_lab.bench.jobs import two_subjobs
from understudy_lab.bench.watching import KillEach, Say, detections, perform

RATE: Final = 500
QUIET_MS: Final = 5_000
SILENT_MS: Final = 3_000
FOR_GOOD_MS: Final = 3_600_000
MODES: Final = (
    *(Mode.PASSIVE_STANDBY, Mode.ACTIVE_STANDBY, Mode.REPLICA_BACKUP),
    *(Mode.UPSTREAM_BACKUP, Mode.SAVEPOINT),
)


def allowed_ms(heartbeat: Heartbeat) -> int:
    """Every keep-alive that may be missed, and one interval more."""
    return round((heartbeat.misses + 1) * heartbeat.interval.total_seconds() * 1000)


@dataclass(frozen=True, slots=True)
class Silence:
    modes: Mapping[Mode, tuple[int, ...]]
    """Milliseconds from each stop to the suspicion that led to the take-over."""
    allowed: int
    """Milliseconds, median."""

    @property
    def ratio(self) -> dict[str, float]:
        return {mode.value: median(detected) / self.allowed for mode, detected in self.modes.items()}

    @property
    def met(self) -> bool:
        return all(ratio <= 1 for ratio in self.ratio.values())


def measure(modes: Sequence[Mode], stops: int, folder: Path, say: Say) -> Silence:
    job = two_subjobs(RATE, modes[0])
    found = {mode: _silences(mode, stops, Folder(folder / mode.value), say) for mode in modes}
    return Silence(found, allowed_ms(job.subjobs[0].ha.heartbeat))


def _silences(mode: Mode, stops: int, folder: Folder, say: Say) -> tuple[int, ...]:
    job = two_subjobs(RATE, mode)
    record = perform(
        job, folder, SilenceEach(KillEach(tuple(s.name for s in job.subjobs), stops, QUIET_MS)), say
    )
    fell_silent = {done.at_ms for done in record.done if done.fault.stop_ms is not None}
    found = detections([i for i in incidents_of(record, job) if i.at_ms in fell_silent])
    say(f"{mode.value}: suspected after {', '.join(str(ms) for ms in found)} ms")
    return found


@dataclass(frozen=True, slots=True)
class SilenceEach:
    """Stops primaries when they would be killed, and kills each after a while: who was suspected never comes
    back, so that no detector learns patience from it."""

    turns: KillEach

    def strike(self, observed: Observed) -> Iterator[Hurt]:
        last = observed.done[-1] if observed.done else None
        if last is None or last.fault.stop_ms is None:
            for hurt in self.turns.strike(_stops(observed)):
                yield Hurt(replace(hurt.fault, stop_ms=FOR_GOOD_MS), hurt.victim)
        elif observed.now_ms - last.at_ms >= SILENT_MS:
            yield Hurt(Fault(last.fault.owner, Target.STANDBY, 0), last.victim)

    def satisfied(self, observed: Observed) -> bool:
        return len(observed.done) == 2 * self.turns.kills and self.turns.satisfied(_stops(observed))


def _stops(observed: Observed) -> Observed:
    return replace(observed, done=tuple(done for done in observed.done if done.fault.stop_ms is not None))
