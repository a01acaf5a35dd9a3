"""A tuple as a line of JSON."""

from __future__ import annotations

import json
from typing import Any

from understudy.streams import jsonvalues


def line(row: dict[str, Any]) -> str:
    return json.dumps(as_json(row), separators=(",", ":"), allow_nan=False) + "\n"


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    """Its columns and `_seq`."""
    return {k: jsonvalues.as_json(v) for k, v in row.items() if k != "_ts"}
