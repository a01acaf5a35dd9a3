"""What the operator's watch on Leases wakes it for: looks are counted at the API server."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from understudy.kubernetes.handlers import object_changed
from understudy.kubernetes.loops import Loops
from understudy.kubernetes.news import LEASES
from understudy.kubernetes.objects import Owner, lease
from understudy.kubernetes.reconcile import Reconciler
from understudy.kubernetes.settings import PodSettings
from understudy.kubernetes.surroundings import KubernetesSurroundings
from understudy.protocol.ids import Epoch

from ..control.jobs import manifest
from .fake_api import FakeApi
from .test_reconcile import submit

SETTINGS = PodSettings(image="understudy:test")
CALM_SECONDS = 1.0
PATIENCE_SECONDS = 20.0

Story = Callable[[KubernetesSurroundings], None]


class Looks:
    """The operator's looks at jobs, counted when they are done. None comes by itself."""

    def __init__(self, reconciler: Reconciler) -> None:
        self._reconciler = reconciler
        self.count = 0

    def __call__(self, namespace: str, name: str) -> float | None:
        self._reconciler.reconcile(namespace, name)
        self.count += 1
        return 60.0

    async def within(self, seconds: float, more_than: int) -> int:
        until = time.monotonic() + seconds
        while self.count <= more_than and time.monotonic() < until:
            await asyncio.sleep(0.02)
        return self.count - more_than


def looks_after(story: Story, type: str = "MODIFIED", patience: float = PATIENCE_SECONDS) -> int:
    """How often the operator looks at the job when the Lease changes as in the story, and a watch tells of
    it."""
    fake = FakeApi()
    submit(fake, manifest())
    fake.put("leases", lease(Owner("demo", "apps", "uid-job"), "keep", None, None, 0, 0))

    async def scenario() -> int:
        with fake.serving() as api:
            at = KubernetesSurroundings(api, "apps", "demo")
            await asyncio.to_thread(at.try_lease, "keep", None, "demo-keep-0", "a:1")
            looks = Looks(Reconciler(api, SETTINGS))
            loops = Loops(looks, lambda: True)
            changed = object_changed(LEASES, loops)
            await changed(**_event(fake, "ADDED"))
            assert await looks.within(PATIENCE_SECONDS, 0) == 1
            await asyncio.to_thread(story, at)
            await changed(**_event(fake, type))
            found = await looks.within(patience, 1)
            await loops.stop()
            return found

    return asyncio.run(scenario())


def _event(fake: FakeApi, type: str) -> dict[str, Any]:
    body = fake.get("leases", "demo-keep")
    assert body is not None
    return {"namespace": "apps", "labels": body["metadata"]["labels"], "body": body, "type": type}


def test_acks_to_sources_do_not_wake_the_operator() -> None:
    assert (
        looks_after(
            lambda at: at.keep_acks("keep", '{"released":{"numbers":5}}', Epoch(1)), patience=CALM_SECONDS
        )
        == 0
    )


def test_a_question_to_the_holder_does_not_wake_the_operator() -> None:
    def ask(at: KubernetesSurroundings) -> None:
        found = at.read_lease("keep")
        assert found is not None
        at.ask_holder("keep", found, "are you there")

    assert looks_after(ask, patience=CALM_SECONDS) == 0


def test_another_holder_wakes_the_operator() -> None:
    assert looks_after(lambda at: _taken(at, "demo-keep-1")) == 1


def test_a_lease_that_the_holder_takes_again_wakes_the_operator() -> None:
    assert looks_after(lambda at: _taken(at, "demo-keep-0")) == 1


def test_a_lease_that_was_deleted_wakes_the_operator() -> None:
    assert looks_after(lambda at: None, "DELETED") == 1


def _taken(at: KubernetesSurroundings, holder: str) -> None:
    assert at.try_lease("keep", at.read_lease("keep"), holder, "b:1") is not None
