"""The job of the end-to-end tests, and what it must give, worked out without Spark and without understudy.

numbers ── keep (filter, map) ──┬── sums (windows of 8 every 4, by k) ── sink sums
                                └── sink kept
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

Json = dict[str, Any]

SIZE, SLIDE = 8, 4


def numbers_job(name: str, rate: int, limit: int | None, mode: str = "passiveStandby") -> Json:
    ha = {"mode": mode}
    generator: Json = {
        "rate": rate,
        "fields": {"number": "_seq", "k": "_seq % 7", "v": "(_seq * 31) % 101"},
    }
    return {
        "apiVersion": "understudy.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": name},
        "spec": {
            "sources": [{"name": "numbers", "generator": generator | ({"limit": limit} if limit else {})}],
            "subjobs": [
                {
                    "name": "keep",
                    "inputs": ["numbers"],
                    "operators": [
                        {"filter": {"where": "v % 3 != 0"}},
                        {"map": {"select": {"number": "number", "k": "k", "twice": "v * 2"}}},
                    ],
                    "ha": ha,
                },
                {
                    "name": "sums",
                    "inputs": ["keep"],
                    "operators": [
                        {
                            "aggregate": {
                                "window": {"on": "_seq", "size": SIZE, "slide": SLIDE},
                                "groupBy": ["k"],
                                "select": {"total": "sum(twice)", "rows": "count(*)"},
                            }
                        }
                    ],
                    "ha": ha,
                },
            ],
            "sinks": [
                {"name": "kept", "input": "keep", "files": {"path": "kept", "volume": claim(f"{name}-kept")}},
                {"name": "sums", "input": "sums", "files": {"path": "sums", "volume": claim(f"{name}-sums")}},
            ],
        },
    }


def kept_job(name: str, rate: int, limit: int | None = None) -> Json:
    """Only the first subjob and its sink: half the pods, for stories that need no more."""
    body = numbers_job(name, rate, limit)
    body["spec"]["subjobs"] = body["spec"]["subjobs"][:1]
    body["spec"]["sinks"] = body["spec"]["sinks"][:1]
    return body


def claim(name: str) -> Json:
    return {"persistentVolumeClaim": {"claimName": name}}


def claims(name: str, sinks: Iterable[str]) -> list[Json]:
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": f"{name}-{sink}"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "100Mi"}}},
        }
        for sink in sinks
    ]


def number(n: int) -> Json:
    """The source's tuple n."""
    return {"number": n, "k": n % 7, "v": (n * 31) % 101}


def expected_kept(limit: int) -> list[Json]:
    kept = [t for t in map(number, range(limit)) if t["v"] % 3 != 0]
    return [
        {"number": t["number"], "k": t["k"], "twice": t["v"] * 2, "_seq": seq} for seq, t in enumerate(kept)
    ]


def expected_sums(limit: int) -> list[Json]:
    kept = expected_kept(limit)
    found: list[Json] = []
    for start in range(0, len(kept) - SIZE + 1, SLIDE):
        groups: dict[int, list[int]] = defaultdict(list)
        for row in kept[start : start + SIZE]:
            groups[row["k"]].append(row["twice"])
        found += [
            {
                "k": k,
                "window_start": start,
                "window_end": start + SIZE,
                "total": sum(values),
                "rows": len(values),
            }
            for k, values in sorted(groups.items())
        ]
    return [{**row, "_seq": seq} for seq, row in enumerate(found)]


# Sink → what it must hold when so many numbers have come; and more numbers than a tuple of it can stand for.
EXPECTED = {"kept": (expected_kept, 2), "sums": (expected_sums, 6)}
