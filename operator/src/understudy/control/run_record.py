"""The ConfigMap `JOB-run`: how `Run` is written down.

| key | value |
|---|---|
| startTime | milliseconds since 1970; read by every pod of the job |
| completed | milliseconds since 1970 |
| revision | the manifest that was accepted last |
| generation | the generation of the spec that it came from |
| next.SUBJOB | the number of the subjob's next instance |
| next.sink.SINK | the number of the sink's next pod |
| made.SUBJOB | when its newest instance was made, milliseconds since 1970 |
| failed.SUBJOB | its alternative runs: the generation of the spec when it failed |
| process.SUBJOB | the epoch after which its failure process was run |
| move.SUBJOB | a move that is under way, as JSON |
| moved.SUBJOB | the last one that is over, as JSON |
| certificate | the certificate that new pods get |
| certificateUntil | when it ends, milliseconds since 1970 |
| retired.POD | it is removed on purpose: its uid, and the reason as a sentence |
| kills.SUBJOB | how often it was OOM-killed since an instance last caught up, and where, as JSON |
| certificateFrom | the oldest certificate that was not removed |
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TypeVar

from understudy.control.observed import Move, Moved, Retired, Run

T = TypeVar("T", Move, Moved)


def read_record(entries: Mapping[str, str]) -> Run:
    return Run(
        start_ms=_number(entries.get("startTime")),
        completed_ms=_number(entries.get("completed")),
        revision=entries.get("revision", ""),
        generation=_number(entries.get("generation")) or 0,
        next=_numbers(entries, "next."),
        made_ms=_numbers(entries, "made."),
        failed=_numbers(
            {k: v.partition(" ")[0] for k, v in entries.items()}, "failed."
        ),  # nodes stood behind it once
        processes=_numbers(entries, "process."),
        moves=_values(entries, "move.", Move),
        moved=_values(entries, "moved.", Moved),
        certificate=_number(entries.get("certificate")) or 0,
        certificate_until_ms=_number(entries.get("certificateUntil")) or 0,
        certificate_from=_number(entries.get("certificateFrom")) or 1,
        kills={k.removeprefix("kills."): text for k, text in entries.items() if k.startswith("kills.")},
        retired={
            k.removeprefix("retired."): _retired(v) for k, v in entries.items() if k.startswith("retired.")
        },
    )


def _retired(text: str) -> Retired:
    uid, _, why = text.partition(" ")
    return Retired(uid, why)


def retired_to_text(retired: Retired) -> str:
    return f"{retired.uid} {retired.why}".rstrip()


def _numbers(entries: Mapping[str, str], prefix: str) -> dict[str, int]:
    found = {
        key.removeprefix(prefix): _number(text) for key, text in entries.items() if key.startswith(prefix)
    }
    return {name: number for name, number in found.items() if number is not None}


def _values(entries: Mapping[str, str], prefix: str, kind: type[T]) -> dict[str, T]:
    texts = {key.removeprefix(prefix): text for key, text in entries.items() if key.startswith(prefix)}
    return {name: kind(**json.loads(text)) for name, text in texts.items()}


def move_to_text(move: Move) -> str:
    return json.dumps(asdict(move))


def moved_to_text(moved: Moved) -> str:
    return json.dumps(asdict(moved))


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.strip().isdecimal() else None
