"""How to detect that an engine has stalled: the JVM of an instance, or the query of one of its elements.

A keep-alive proves that a process lives, not that Spark works in it. So each part of the engine gives its own
signs of life: the JVM answers a probe; a query asks for its next plan, reads rows, finishes a batch. A part
that gives no sign for its limit has stalled, unless it is at work. The limit is the engine timeout. For a
query of a subjob with executors, whose work is done elsewhere, it is PATIENCE engine timeouts.

| a part that gives no sign | is |
|---|---|
| waits for this process (no plan to give it, no room for its output) | idle: it has nothing to do |
| uses the processor, or waits for it most of the time | at work: a long micro-batch, a garbage collection |
| is a query, and tasks run on executors | at work |
| does none of these, for its limit | stalled |
| is a JVM that does not answer for PATIENCE engine timeouts, at work or not | stalled |
| is a query, while others run micro-batches | stalled after PATIENCE timeouts: the work may be theirs |
| is a query at work that makes no step for `longest` | stalled: an endless loop |

A JVM or Python worker that is stopped by a signal is recognised directly. If a query begins no micro-batch
for the engine timeout while such a process is stopped, the query has stalled. This holds whatever the other
queries do and also if the query has nothing to do: its next micro-batch may need that process.

Time in which the watch itself did not run does not count as silence: signs of that time may not be counted
yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from understudy.protocol.ids import Millis

JVM: Final = "the JVM"
LEAST_TIMEOUT_MS: Final = 3_000
MEDIANS: Final = 20
AT_WORK: Final = 0.05  # share of the time, on the processor
STARVED: Final = 0.5  # share of the time, on the processor or waiting for it
PATIENCE: Final = 10
LONGEST_MS: Final = 600_000
LONGEST_MEDIANS: Final = 1_000
# micro-batches of other queries, after which used processor time proves nothing for this one
MANY: Final = 10
LONGEST_STEP_MS: Final = 1_000  # between two looks; in a longer pause the watch did not run
START_MS: Final = 300_000  # a cold Spark on a busy machine takes under a minute
SHOWN_MS: Final = 500  # how long the status page says that the engine is stalled, before the process ends
HELD_MS: Final = 30_000  # how long a stalled primary waits for a standby to which it can give its state


def default_timeout(median_ms: float | None) -> int:
    return max(LEAST_TIMEOUT_MS, round(MEDIANS * (median_ms or 0)))


def longest(median_ms: float | None, timeout: int) -> int:
    """How long a query may be at work without making a step."""
    return max(LONGEST_MS, round(LONGEST_MEDIANS * (median_ms or 0)), PATIENCE * timeout)


@dataclass(frozen=True, slots=True)
class Signs:
    """One look at the engine. Counts and times only grow."""

    counts: Mapping[str, int]
    """Signs of life of each part so far: answers of the JVM, steps of each element's query."""
    idle: frozenset[str] = frozenset()
    """The parts that wait for this process."""
    ran_ms: int = 0
    """Processor time of the JVM and its Python workers so far."""
    batches: Mapping[str, int] = field(default_factory=dict)
    """Micro-batches that each query has begun so far."""
    waited_ms: int | None = None
    """Time that they waited for the processor so far; None: it was not measured, because that takes a
    while."""
    tasks: int = 0
    """How many tasks run on executors now."""
    stopped: str | None = None
    """The JVM or the Python worker that is stopped by a signal; None: no process is stopped."""


@dataclass(frozen=True, slots=True)
class _Part:
    count: int
    still: Millis
    """Time since which it has neither given a sign nor been at work."""
    silent: Millis
    """Time since which it has given no sign."""
    ran_ms: int
    waited_ms: int | None
    others: int
    """How many micro-batches the other queries had begun when it gave its last sign."""
    begun: int
    begins: Millis
    """When it last began a micro-batch."""

    def worked(self, signs: Signs, limit: int) -> bool:
        """Whether it was at work for a sufficient part of its limit since it was last found at work."""
        ran, waited = signs.ran_ms - self.ran_ms, 0
        if signs.waited_ms is not None and self.waited_ms is not None:
            waited = signs.waited_ms - self.waited_ms
        return ran < 0 or ran >= AT_WORK * limit or ran + waited >= STARVED * limit

    def later(self, pause: int, waited_ms: int | None) -> _Part:
        known = waited_ms if self.waited_ms is None else self.waited_ms
        still, silent, begins = (Millis(at + pause) for at in (self.still, self.silent, self.begins))
        return replace(self, still=still, silent=silent, begins=begins, waited_ms=known)


@dataclass(frozen=True, slots=True)
class EngineWatch:
    remote: bool = False
    """Whether the subjob has executors."""
    looked: Millis | None = None
    parts: Mapping[str, _Part] = field(default_factory=dict)
    stalled: str | None = None
    """Why the engine counts as failed: a sentence from the moment of detection. None while it works or is
    idle."""
    quiet_ms: int = 0
    """How long the quietest part has given no sign, or has begun no micro-batch while a process is
    stopped."""
    stopped: Millis | None = None
    """Since when one of its processes has been stopped."""

    def look(self, now: Millis, signs: Signs, timeout: int, longest_ms: int = LONGEST_MS) -> EngineWatch:
        pause = max(0, now - self.looked - LONGEST_STEP_MS) if self.looked is not None else 0
        parts = {
            name: self._seen(name, count, now, pause, signs, timeout) for name, count in signs.counts.items()
        }
        verdicts = (
            self._verdict(name, part, now, signs, timeout, longest_ms) for name, part in parts.items()
        )
        why = next((verdict for verdict in verdicts if verdict is not None), None)
        stopped = self._stopped(now, pause, signs)
        missed = _without_batch(parts, stopped, now) if stopped is not None else 0
        if why is None and missed > timeout:
            why = f"{signs.stopped} has been stopped for {_seconds(missed)}"
        why = self.stalled if why is not None and self.stalled is not None else why
        quiet = max((missed, *(now - part.silent for part in parts.values())))
        return replace(self, looked=now, parts=parts, stalled=why, quiet_ms=quiet, stopped=stopped)

    def _stopped(self, now: Millis, pause: int, signs: Signs) -> Millis | None:
        if signs.stopped is None:
            return None
        return now if self.stopped is None else Millis(self.stopped + pause)

    def _limit(self, name: str, timeout: int) -> int:
        return timeout * PATIENCE if self.remote and name != JVM else timeout

    def _seen(self, name: str, count: int, now: Millis, pause: int, signs: Signs, timeout: int) -> _Part:
        before, begun = self.parts.get(name), signs.batches.get(name, 0)
        begins = before.begins if before is not None and before.begun == begun else now
        if before is None or before.count != count or name in signs.idle:
            others = _of_others(name, signs)
            return _Part(count, now, now, signs.ran_ms, signs.waited_ms, others, begun, begins)
        known = before.later(pause, signs.waited_ms)
        if known.worked(signs, self._limit(name, timeout)) or (signs.tasks and name != JVM):
            return replace(known, still=now, ran_ms=signs.ran_ms, waited_ms=signs.waited_ms)
        return known

    def _verdict(
        self, name: str, part: _Part, now: Millis, signs: Signs, timeout: int, longest_ms: int
    ) -> str | None:
        still, silent = now - part.still, now - part.silent
        if name == JVM:
            if still > timeout:
                return f"the JVM did not answer for {_seconds(silent)}"
            if silent > timeout * PATIENCE:
                return f"the JVM did not answer for {_seconds(silent)}, though it uses the processor"
        elif still > self._limit(name, timeout):
            return _no_step(name, silent, "")
        elif silent > timeout * PATIENCE and _of_others(name, signs) - part.others >= MANY:
            return _no_step(name, silent, ", and the others went on")
        elif silent > longest_ms:
            return _no_step(name, silent, ", though it is at work")
        return None


def _without_batch(parts: Mapping[str, _Part], stopped: Millis, now: Millis) -> int:
    """How long a query has begun no micro-batch while a process is stopped."""
    return max((now - max(stopped, part.begins) for name, part in parts.items() if name != JVM), default=0)


def _of_others(name: str, signs: Signs) -> int:
    return sum(count for other, count in signs.batches.items() if other != name)


def _no_step(element: str, silent: int, but: str) -> str:
    """The sentence about a query that has stalled, with advice: the query may have waited for a service, or
    may have had more work than ever before."""
    advice = "if it may take so long, raise ha.engineTimeout"
    return f"the query of {element} made no step for {_seconds(silent)}{but}; {advice}"


def _seconds(millis: int) -> str:
    return f"{millis / 1000:.1f} s"


def not_started(age_ms: int, start_ms: int = START_MS) -> str | None:
    """Why a process has to be restarted whose Spark has not started yet; None while it still has time."""
    return f"Spark did not start within {start_ms // 1000} s" if age_ms > start_ms else None


@dataclass(frozen=True, slots=True)
class Stand:
    """What an instance with a stalled engine means for the subjob."""

    leads: bool
    covered: bool
    """Whether the other instance could continue: it exists, has the state it needs, and its own engine
    works."""
    needed: bool
    """Whether this instance has the only copy of the mode's state while it is not covered."""


def leaves(
    stand: Stand, stalled_ms: int, grace_ms: int, held_ms: int = HELD_MS, shown_ms: int = SHOWN_MS
) -> bool:
    """Whether an instance whose engine has stalled ends its process now, to be restarted.

    It stays at least until its status page could be read. A covered primary waits for `grace_ms`, in which
    its standby takes the Lease. Without cover this process may have the only copy of the state. It keeps the
    state for a while, so that it can give it to a new standby.
    """
    if stand.covered and stand.leads:
        return stalled_ms >= grace_ms
    return stalled_ms >= (held_ms if stand.needed and not stand.covered else shown_ms)
