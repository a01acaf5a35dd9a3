"""The leader's rounds: every object of our kinds gets its loop, even if no watch event came for it.

A new leader finds all jobs in this way. A watch that has fallen silent is noticed by comparison.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import structlog

from understudy.control.canary import Canary, Key
from understudy.kubernetes.api import ApiError
from understudy.kubernetes.loops import Loops
from understudy.process.ports import Unreachable

log = structlog.get_logger()

ROUND_SECONDS: Final = 10.0
ELECTION_SECONDS: Final = 0.5


class Rounds:
    def __init__(
        self,
        listed: Callable[[], Mapping[Key, int]],
        leads: Callable[[], bool],
        loops: Loops,
        on_silence: Callable[[str], None],
    ) -> None:
        self._listed = listed
        self._leads = leads
        self.loops = loops
        self._on_silence = on_silence
        self._heard: dict[Key, int] = {}
        self._canary = Canary()

    def hear(self, job: Key, generation: int) -> None:
        """A watch event came for the object. Only a new generation is news: other changes are the operator's
        own."""
        if generation > self._heard.get(job, 0):
            self._heard[job] = generation
            self.loops.wake(*job)

    def hear_end(self, job: Key) -> None:
        self._heard.pop(job, None)
        self.loops.wake(*job)

    async def run(self) -> None:
        while True:
            led = self._leads()
            if led:
                await self._once()
            await self._pause(led)

    async def _once(self) -> None:
        try:
            found = await asyncio.to_thread(self._listed)
        except (Unreachable, ApiError) as error:
            log.warning("jobs not listed", error=str(error))
            return
        for job in found:
            self.loops.ensure(*job)
        self._canary = self._canary.look(found, self._heard)
        if self._canary.silent:
            self._on_silence(self._canary.silent)

    async def _pause(self, led: bool) -> None:
        """Waits until the next round is due, or leadership changes."""
        for _ in range(round(ROUND_SECONDS / ELECTION_SECONDS)):
            await asyncio.sleep(ELECTION_SECONDS)
            if self._leads() != led:
                return
