"""Why mutants survive: kept by hand, beside the page that is made with it."""

from __future__ import annotations

from pathlib import Path

import yaml

FILE = Path(__file__).parents[3] / "docs" / "simulation" / "survivors.yaml"


def known() -> dict[str, str]:
    found: dict[str, str] = (yaml.safe_load(FILE.read_text()) if FILE.exists() else None) or {}
    return found
