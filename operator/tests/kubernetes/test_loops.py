"""One loop per job, woken by events, stopped with the operator."""

from __future__ import annotations

import asyncio
import threading

from understudy.kubernetes.loops import Loops
from understudy.process.ports import Unreachable


class Reconciler:
    def __init__(self, *answers: float | Exception | None) -> None:
        self._answers = list(answers)
        self.calls: list[tuple[str, str]] = []
        self._lock = threading.Lock()

    def __call__(self, namespace: str, name: str) -> float | None:
        with self._lock:
            self.calls.append((namespace, name))
            answer = self._answers.pop(0) if self._answers else None
        if isinstance(answer, Exception):
            raise answer
        return answer


def test_events_of_a_job_wake_its_own_loop_early() -> None:
    async def scenario() -> Reconciler:
        reconcile = Reconciler(60.0, None)
        loops = Loops(reconcile, lambda: True)
        loops.wake("apps", "demo")
        await asyncio.sleep(0.3)
        loops.wake("apps", "demo")
        await asyncio.sleep(0.3)
        return reconcile

    assert asyncio.run(scenario()).calls == [("apps", "demo")] * 2


def test_a_job_that_is_gone_ends_its_loop_and_may_come_back() -> None:
    async def scenario() -> Reconciler:
        reconcile = Reconciler(None, None)
        loops = Loops(reconcile, lambda: True)
        for _ in range(2):
            loops.wake("apps", "demo")
            await asyncio.sleep(0.3)
        return reconcile

    assert len(asyncio.run(scenario()).calls) == 2


def test_a_failure_is_tried_again_and_does_not_end_the_loop() -> None:
    async def scenario() -> Reconciler:
        reconcile = Reconciler(Unreachable("no answer"), RuntimeError("a bug"), 60.0)
        loops = Loops(reconcile, lambda: True)
        for _ in range(3):
            loops.wake("apps", "demo")
            await asyncio.sleep(0.3)
        await loops.stop()
        return reconcile

    assert len(asyncio.run(scenario()).calls) == 3
