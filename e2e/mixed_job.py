"""Every mode in one job, and what its sinks must hold, worked out without Spark and without understudy.

numbers ─┬─ keep (replicaBackup) ─┬─ live (activeStandby) ── sink kept
         │                        └─ sums (savepoint) ── same (upstreamBackup) ── last (passiveStandby) ── sink sums
         └─ some (amnesia) ── sink some
"""

from __future__ import annotations

from numbers_job import Json, claim, numbers_job

RATE = 4  # a micro-batch costs the same whatever is in it, and eight drivers compute
MODES = {
    "keep": "replicaBackup",
    "live": "activeStandby",
    "sums": "savepoint",
    "same": "upstreamBackup",
    "last": "passiveStandby",
    "some": "amnesia",
}
SINKS = ("kept", "sums", "some")
SINK_OF = {"keep": "kept", "live": "kept", "sums": "sums", "same": "sums", "last": "sums", "some": "some"}
COPIED = {
    "kept": ("number", "k", "twice"),
    "sums": ("k", "window_start", "window_end", "total", "rows"),
}


def mixed_job(name: str) -> Json:
    body = numbers_job(name, RATE, None)
    spec = body["spec"]
    spec["subjobs"] += [_copy("live", "keep", "kept"), _copy("same", "sums", "sums"), _copy("last", "same", "sums")]
    spec["subjobs"].append({"name": "some", "inputs": ["numbers"], "operators": [{"filter": {"where": "v % 3 = 0"}}]})
    spec["sinks"] = [
        {"name": sink, "input": source, "files": {"path": sink, "volume": claim(f"{name}-{sink}")}}
        for sink, source in (("kept", "live"), ("sums", "last"), ("some", "some"))
    ]
    for subjob in spec["subjobs"]:
        subjob["ha"] = {"mode": MODES[subjob["name"]], "guarantee": promised(subjob["name"])}
    return body


def promised(subjob: str) -> str:
    return "gap" if MODES[subjob] == "amnesia" else "precise"


def _copy(name: str, source: str, sink: str) -> Json:
    select = {column: column for column in COPIED[sink]}
    return {"name": name, "inputs": [source], "operators": [{"map": {"select": select}}]}


def gaps(written: list[Json]) -> int:
    """How many tuples of sink `some` are missing between those that are there; every one that is there is right."""
    numbers = [row["number"] for row in written]
    assert written == [_some(n, seq) for seq, n in enumerate(numbers)], "a tuple that had not to come"
    assert numbers == sorted(set(numbers)), "a tuple that came twice or out of order"
    span = range(numbers[0], numbers[-1] + 1) if numbers else range(0)
    return sum(1 for n in span if _passes(n)) - len(numbers)


def _passes(n: int) -> bool:
    return (n * 31) % 101 % 3 == 0


def _some(n: int, seq: int) -> Json:
    assert _passes(n)
    return {"number": n, "k": n % 7, "v": (n * 31) % 101, "_seq": seq}
