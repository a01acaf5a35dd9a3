"""The cluster as `Observed`: the job's objects, and the status pages of its processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from understudy.control import names
from understudy.control.observed import Observed, Run
from understudy.control.run_record import read_record
from understudy.control.taken import taken_names
from understudy.kubernetes.act import OURS
from understudy.kubernetes.admitted import Admitted
from understudy.kubernetes.api import Api
from understudy.kubernetes.distances import NodeDistances
from understudy.kubernetes.lists import Lists
from understudy.kubernetes.objects import Owner
from understudy.kubernetes.parse import millis_of, orders_of
from understudy.kubernetes.poll import Poller
from understudy.kubernetes.settings import PodSettings
from understudy.kubernetes.writes import Versions, versions
from understudy.model.branches import in_use
from understudy.model.job import StreamJob
from understudy.model.plan import SubjobPlan
from understudy.model.refusal import Refusal
from understudy.process.clock import now_ms

Json = dict[str, Any]


class Observer:
    def __init__(self, api: Api, poller: Poller, admitted: Admitted, settings: PodSettings) -> None:
        self._api = api
        self._lists = Lists(api, settings)
        self._poller = poller
        self._admitted = admitted
        self._settings = settings
        self._distances = NodeDistances()
        self._collided: set[str] = set()
        """The uids of jobs for which an object could not be made, because its name is taken."""

    def find(self, namespace: str, name: str) -> Json | None:
        return self._api.find(f"{OURS}/namespaces/{namespace}/streamjobs/{name}")

    def forget(self, namespace: str, name: str) -> None:
        """Drops what is cached of a job."""
        self._lists.forget(namespace, name)

    def note_collision(self, uid: str) -> None:
        """The names of the job are compared again with those of other objects, until none is taken."""
        self._collided.add(uid)

    def observe(self, body: Json, jobs: int = 1) -> tuple[Observed, Versions]:
        """Also returns the versions that a write has to name, one for each object that was read. `jobs`: how
        many jobs the operator looks at."""
        metadata = body["metadata"]
        found = self._lists.of(metadata["namespace"], metadata["name"], metadata["uid"])
        config_maps = found.foundation.config_maps
        record = config_maps.get(names.run(metadata["name"]))
        run = read_record(record.get("data") or {}) if record else None
        running = self._running(metadata["name"], run, config_maps)
        wanted = self._wanted(body, run, running)
        pages = self._poller.pages(found.pods)
        seen = Observed(
            now_ms=now_ms(),
            name=metadata["name"],
            namespace=metadata["namespace"],
            generation=metadata["generation"],
            created_ms=millis_of(metadata["creationTimestamp"]),
            wanted=wanted,
            running=running,
            plans=self._plans(wanted if isinstance(wanted, StreamJob) else running, run),
            run=run,
            deleted="deletionTimestamp" in metadata,
            remains=found.remains,
            pods=found.pods,
            trials=found.trials,
            leases=found.leases,
            services=found.foundation.services,
            manifests=_revisions(metadata["name"], config_maps),
            access=found.foundation.access,
            safeguards=found.foundation.safeguards,
            nodes=found.nodes,
            placement=self._settings.placement,
            distances=self._distances.learn(found.pods, pages),
            pages=pages,
            elsewhere=self._poller.elsewhere(found.pods),
            orders=orders_of(metadata.get("annotations") or {}),
            incidents=found.foundation.incidents,
            status=body.get("status") or {},
            jobs=jobs,
        )
        return seen, {**found.versions, **versions(OURS, "streamjobs", [body])}

    # ---- what is wanted, what runs

    def _plans(self, declared: StreamJob | None, run: Run | None) -> Mapping[str, SubjobPlan]:
        return self._admitted.plans(in_use(declared, run.failed if run else ()) if declared else None)

    def _wanted(
        self, body: Json, run: Run | None, running: StreamJob | None
    ) -> StreamJob | tuple[Refusal, ...]:
        """A job that was accepted stays accepted; only a new generation of the spec is checked again."""
        metadata = body["metadata"]
        if run and running and run.generation == metadata["generation"]:
            found: StreamJob | tuple[Refusal, ...] = running
            if metadata["uid"] not in self._collided:
                return running
        else:
            found = self._admitted.admit(body)
        if not isinstance(found, StreamJob):
            return found
        owner = Owner(metadata["name"], metadata["namespace"], metadata["uid"])
        taken = taken_names(found, self._lists.others(owner, found, run.certificate + 1 if run else 1))
        if not taken:
            self._collided.discard(metadata["uid"])
        return taken or found

    def _running(self, name: str, run: Run | None, config_maps: Mapping[str, Json]) -> StreamJob | None:
        config_map = config_maps.get(names.manifest(name, run.revision)) if run else None
        return self._admitted.read(config_map) if config_map else None


def _revisions(name: str, config_maps: Mapping[str, Json]) -> frozenset[str]:
    prefix = names.manifest(name, "")
    return frozenset(found.removeprefix(prefix) for found in config_maps if found.startswith(prefix))
