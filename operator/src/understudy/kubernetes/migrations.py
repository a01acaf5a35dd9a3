"""Observe → decide → act, for one Migration at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final, assert_never

import structlog

from understudy.control import migrations, names
from understudy.control.migrations import SeenMigration, Step, decide_migration
from understudy.control.run_record import read_record
from understudy.kubernetes.act import CORE, OURS
from understudy.kubernetes.api import Api
from understudy.kubernetes.parse import orders_of
from understudy.kubernetes.writes import Mandate, Versions, Writer, unelected, versions
from understudy.model.kinds import MigrationPhase, MigrationSpec, MigrationStatus
from understudy.process.clock import now_ms

log = structlog.get_logger()

BUSY_SECONDS: Final = 1.0
OVER: Final = (MigrationPhase.COMPLETED, MigrationPhase.FAILED)

Json = dict[str, Any]


class MigrationReconciler:
    def __init__(self, api: Api, mandate: Callable[[], Mandate] = unelected) -> None:
        self._api = api
        self._mandate = mandate

    def reconcile(self, namespace: str, name: str) -> float | None:
        """When to look again, in seconds; None if the Migration is gone or over."""
        mandate = self._mandate()
        body = self._api.find(f"{OURS}/namespaces/{namespace}/migrations/{name}")
        if body is None or "deletionTimestamp" in body["metadata"]:
            return None
        seen, read = self._observe(namespace, body)
        writer = Writer(self._api, namespace, mandate, read)
        for step in decide_migration(seen):
            log.info(f"migration {type(step).__name__}", namespace=namespace, migration=name)
            _carry_out(writer, seen, step)
            seen = replace(seen, status=step.status) if isinstance(step, migrations.WriteDown) else seen
        return None if seen.status.phase in OVER else BUSY_SECONDS

    def _observe(self, namespace: str, body: Json) -> tuple[SeenMigration, Versions]:
        spec = MigrationSpec.model_validate(body["spec"])
        job = self._api.find(f"{OURS}/namespaces/{namespace}/streamjobs/{spec.job}")
        record = (
            self._api.find(f"{CORE}/namespaces/{namespace}/configmaps/{names.run(spec.job)}") if job else None
        )
        run = read_record((record or {}).get("data") or {})
        seen = SeenMigration(
            now_ms=now_ms(),
            name=body["metadata"]["name"],
            spec=spec,
            status=MigrationStatus.model_validate(body.get("status") or {}),
            job=(job.get("status") or {}) if job else None,
            orders=orders_of((job["metadata"].get("annotations") or {}) if job else {}),
            moves={subjob: move.by for subjob, move in run.moves.items()},
            moved=run.moved,
        )
        return seen, {
            **versions(OURS, "migrations", [body]),
            **versions(OURS, "streamjobs", [job] if job else []),
        }


def _carry_out(writer: Writer, seen: SeenMigration, step: Step) -> None:
    match step:
        case migrations.WriteDown(status):
            writer.change_status(OURS, "migrations", seen.name, status.model_dump(mode="json", by_alias=True))
        case migrations.Give(subjob, node):
            order = {f"{names.MOVE}/{subjob}": f"{node} by {seen.name}"}
            writer.change(OURS, "streamjobs", seen.spec.job, {"metadata": {"annotations": order}})
        case migrations.TakeBack(subjob):
            taken = {f"{names.MOVE}/{subjob}": None}
            writer.change(OURS, "streamjobs", seen.spec.job, {"metadata": {"annotations": taken}})
        case _:
            assert_never(step)


def is_open(body: Json) -> bool:
    return (body.get("status") or {}).get("phase") not in OVER
