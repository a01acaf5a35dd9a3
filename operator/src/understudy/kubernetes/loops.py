"""One loop per job: reconcile, then sleep until an event wakes it or the next look is due."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

import structlog

from understudy.kubernetes.api import ApiError
from understudy.kubernetes.writes import Deposed, Outdated
from understudy.process.ports import Unreachable

log = structlog.get_logger()

RETRY_SECONDS: Final = 2.0
AT_ONCE: Final = 16  # a reconciliation mostly waits for answers
SETTLE_SECONDS: Final = 0.1  # changes seldom come alone

Key = tuple[str, str]


class Loops:
    """The loops of the operator that leads; an operator that does not lead ignores every call."""

    def __init__(self, reconcile: Callable[[str, str], float | None], leads: Callable[[], bool]) -> None:
        self._reconcile = reconcile
        self._leads = leads
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="reconcile")
        self._woken: dict[Key, asyncio.Event] = {}
        self._tasks: dict[Key, asyncio.Task[None]] = {}

    def wake(self, namespace: str, name: str) -> None:
        self.ensure(namespace, name)
        if woken := self._woken.get((namespace, name)):
            woken.set()

    def ensure(self, namespace: str, name: str) -> None:
        """Starts the job's loop, unless it runs already."""
        key = (namespace, name)
        if key not in self._tasks and self._leads():
            self._woken[key] = asyncio.Event()
            self._tasks[key] = asyncio.create_task(self._run(key))

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, key: Key) -> None:
        woken = self._woken[key]
        try:
            while (delay := await self._once(key)) is not None:
                await self._sleep(woken, delay)
        finally:
            del self._tasks[key], self._woken[key]

    async def _once(self, key: Key) -> float | None:
        """Reconciles once. A failure is logged and tried again: the next look observes what was done before
        it."""
        self._woken[key].clear()
        if not self._leads():
            return None
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._reconcile, *key)
        except Deposed:
            log.warning("no longer the leader", namespace=key[0], job=key[1])
            return None
        except Outdated as error:
            log.info("reconciled again", namespace=key[0], job=key[1], why=str(error))
            return 0.0
        except (Unreachable, ApiError) as error:
            log.warning("not reconciled", namespace=key[0], job=key[1], error=str(error))
        except Exception:
            log.exception("not reconciled", namespace=key[0], job=key[1])
        return RETRY_SECONDS

    async def _sleep(self, woken: asyncio.Event, delay: float) -> None:
        await asyncio.sleep(SETTLE_SECONDS)
        with suppress(TimeoutError):
            await asyncio.wait_for(woken.wait(), delay)
