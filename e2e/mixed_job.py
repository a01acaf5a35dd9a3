"""Every mode, in two jobs of six drivers each, and what their sinks must hold, worked out in plain Python.

front:  numbers ─┬─ keep (replicaBackup) ── live (activeStandby) ── sink kept
                 └─ some (amnesia, with a spare) ── sink some
back:   numbers ─── keep (passiveStandby) ── sums (savepoint) ── same (upstreamBackup) ── sink sums

The same modes apart, for faults that hit several subjobs at once: most modes promise nothing about neighbours
that fail together. The query of each is that of `keep`, or of `some` for amnesia; each has a sink of its
name.

front-apart:  numbers ─┬─ replica ├─ active └─ some
back-apart:   numbers ─┬─ passive ├─ savepoint └─ upstream

One after the other: a micro-batch costs the same whatever is in it, and all of them at once would measure
little more than how twelve drivers share the cores of a small machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from numbers_job import Json, claim, numbers_job

RATE = 4
COLUMNS = {"live": ("number", "k", "twice"), "same": ("k", "window_start", "window_end", "total", "rows")}


@dataclass(frozen=True)
class Half:
    modes: dict[str, str]
    """Subjob → mode, each after the one that it reads."""
    sinks: dict[str, str]
    """Sink → the subjob that it reads."""
    apart: bool = False
    """No subjob reads another."""

    def sink_behind(self, subjob: str) -> str:
        return next((sink for sink, source in self.sinks.items() if source == subjob), next(iter(self.sinks)))

    def stream_of(self, sink: str) -> str:
        """What it must hold, as `EXPECTED` names it."""
        return "kept" if self.apart else sink


def _apart(modes: dict[str, str]) -> Half:
    return Half(modes, {subjob: subjob for subjob in modes}, apart=True)


HALVES = {
    "front": Half(
        {"keep": "replicaBackup", "live": "activeStandby", "some": "amnesia"},
        {"kept": "live", "some": "some"},
    ),
    "back": Half({"keep": "passiveStandby", "sums": "savepoint", "same": "upstreamBackup"}, {"sums": "same"}),
    "front-apart": _apart({"replica": "replicaBackup", "active": "activeStandby", "some": "amnesia"}),
    "back-apart": _apart(
        {"passive": "passiveStandby", "savepoint": "savepoint", "upstream": "upstreamBackup"}
    ),
}
MODES = list(dict.fromkeys(mode for half in HALVES.values() for mode in half.modes.values()))


def mixed_job(half: str) -> Json:
    body, chosen = numbers_job(half, RATE, None), HALVES[half]
    keep, sums = body["spec"]["subjobs"]
    known = {"sums": sums, "live": _copy("live", "keep"), "same": _copy("same", "sums"), "some": _some()}
    subjobs = [known.get(name, keep) | {"name": name, "ha": _ha(mode)} for name, mode in chosen.modes.items()]
    sinks = [
        {"name": sink, "input": source, "files": {"path": sink, "volume": claim(f"{half}-{sink}")}}
        for sink, source in chosen.sinks.items()
    ]
    return {**body, "spec": {**body["spec"], "subjobs": subjobs, "sinks": sinks}}


def promised(mode: str) -> str:
    return "gap" if mode == "amnesia" else "precise"


def _ha(mode: str) -> Json:
    spare = {"spare": True} if mode == "amnesia" else {}
    return {"mode": mode, "guarantee": promised(mode), **spare}


def _copy(name: str, source: str) -> Json:
    select = {column: column for column in COLUMNS[name]}
    return {"name": name, "inputs": [source], "operators": [{"map": {"select": select}}]}


def _some() -> Json:
    return {"name": "some", "inputs": ["numbers"], "operators": [{"filter": {"where": "v % 3 = 0"}}]}


def gaps(written: list[Json]) -> int:
    """How many tuples of sink `some` are missing between those that are there; every one that is there is
    right."""
    numbers = [row["number"] for row in written]
    assert written == [_expected(n, seq) for seq, n in enumerate(numbers)], "a tuple that had not to come"
    assert numbers == sorted(set(numbers)), "a tuple that came twice or out of order"
    span = range(numbers[0], numbers[-1] + 1) if numbers else range(0)
    return sum(1 for n in span if _passes(n)) - len(numbers)


def _passes(n: int) -> bool:
    return (n * 31) % 101 % 3 == 0


def _expected(n: int, seq: int) -> Json:
    assert _passes(n), f"number {n} had not to pass"
    return {"number": n, "k": n % 7, "v": (n * 31) % 101, "_seq": seq}
