"""What the data source asks of its own driver, answered from the inboxes. The process mounts these in its
server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from understudy.engine.inbox import Inbox

PATIENCE_SECONDS = 2.0


def handle_action(inboxes: Mapping[str, Inbox], body: Mapping[str, Any]) -> dict[str, int]:
    """`cut`: the number of the next plan and of its parts; the number asked for again if there is none
    yet."""
    after = int(body["after"])
    plan = inboxes[body["element"]].cut(after, PATIENCE_SECONDS)
    return {"plan": after, "parts": 0} if plan is None else {"plan": plan.number, "parts": len(plan.parts)}


def handle_get(inboxes: Mapping[str, Inbox], request: Mapping[str, Any]) -> pa.Table:
    """`rows`: one part of a plan, or of the one that is under way; of one input, or of all."""
    return (
        inboxes[request["element"]]
        .rows(request["plan"], request["part"], request.get("input"))
        .combine_chunks()
    )
