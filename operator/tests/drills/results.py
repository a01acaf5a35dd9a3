"""What is known of a programme that was run, and kept for the next time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.drills.programme import Programme


def told_of(programme: Programme, seed: int, folder: Path) -> dict[str, Any]:
    """Kept or not: the page says what happened."""
    report = json.loads((folder / "out" / "report.json").read_text())
    verdicts = json.loads((folder / "out" / "verify.json").read_text())
    return {
        "name": programme.name,
        "digest": programme.digest,
        "seed": seed,
        "report": report,
        "promised": {name: verdict["promised"] for name, verdict in verdicts.items()},
        "kept": programme.kept({name: verdict["kept"] for name, verdict in verdicts.items()}),
    }


def remember(told: dict[str, Any], results: Path) -> None:
    results.mkdir(parents=True, exist_ok=True)
    (results / f"{told['name']}.json").write_text(json.dumps(told))


def is_done(programme: Programme, results: Path) -> bool:
    """Whether it has kept its promises as it is now."""
    found = results / f"{programme.name}.json"
    return found.exists() and json.loads(found.read_text()).get("digest") == programme.digest
