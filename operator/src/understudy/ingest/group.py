"""Group commit: while one group is written and synced, the next one gathers."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from understudy.ingest.commit import Answer, Request


class Commits(Protocol):
    def commit(self, requests: Sequence[Request]) -> list[Answer]: ...


class Groups:
    """Used on one event loop. After an error of the log, `failed` has it, and no request is answered."""

    def __init__(self, committer: Commits, most_bytes: int) -> None:
        self._committer, self._most_bytes = committer, most_bytes
        self._waiting: list[tuple[Request, asyncio.Future[Answer]]] = []
        self._bytes = 0
        self._busy = False
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="commit")
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def full(self) -> bool:
        """Whether as many bytes wait as may wait."""
        return self._bytes >= self._most_bytes

    async def add(self, request: Request) -> Answer:
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, answer))
        self._bytes += len(request.body)
        if not self._busy:
            self._busy = True
            asyncio.get_running_loop().call_soon(self._commit)
        return await answer

    def _commit(self) -> None:
        group, self._waiting = self._waiting, []
        loop = asyncio.get_running_loop()
        done = loop.run_in_executor(self._thread, self._committer.commit, [r for r, _ in group])
        done.add_done_callback(lambda done: self._answer(group, done))

    def _answer(
        self, group: list[tuple[Request, asyncio.Future[Answer]]], done: asyncio.Future[list[Answer]]
    ) -> None:
        if (error := done.exception()) is not None:
            if not self.failed.done():
                self.failed.set_exception(error)
            return
        for (request, answer), found in zip(group, done.result(), strict=True):
            self._bytes -= len(request.body)
            if not answer.done():  # otherwise its connection was closed
                answer.set_result(found)
        if self._waiting:
            self._commit()
        else:
            self._busy = False
