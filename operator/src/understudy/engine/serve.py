"""Answers the requests of this process's own data source, from the inboxes. The process mounts these
functions in its Flight server."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from understudy.engine.inbox import Inbox
from understudy.engine.requests import Cut, NextPlan, PartRows

PATIENCE_SECONDS = 2.0


def cut(inboxes: Mapping[str, Inbox], raw: bytes) -> bytes:
    request = NextPlan.from_bytes(raw)
    plan = inboxes[request.element].cut(request.after, PATIENCE_SECONDS)
    return (Cut(request.after) if plan is None else Cut(plan.number, len(plan.parts))).to_bytes()


def rows(inboxes: Mapping[str, Inbox], raw: bytes) -> pa.Table:
    """The rows of one part of a plan, or the partials that one task folds."""
    request = PartRows.from_bytes(raw)
    inbox = inboxes[request.element]
    if request.fold:
        return inbox.fold_rows(request.part).combine_chunks()
    return inbox.rows(request.plan, request.part, request.input).combine_chunks()
