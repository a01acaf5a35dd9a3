"""Which events of a watch matter: those that change what a look would decide.

A Lease also carries data that only the job's processes need: acks to sources, questions, the addresses of
holders. An event that changes nothing else wakes no loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from understudy.control.observed import Lease
from understudy.kubernetes.parse import lease_of

LEASES: Final = "leases"
DELETED: Final = "DELETED"


class News:
    def __init__(self) -> None:
        self._known: dict[str, Lease] = {}  # by uid

    def is_news(self, kind: str, type: str | None, body: Mapping[str, Any]) -> bool:
        return kind != LEASES or self._of_lease(type, body)

    def _of_lease(self, type: str | None, body: Mapping[str, Any]) -> bool:
        uid, seen = body["metadata"]["uid"], lease_of(body)
        if type == DELETED:
            self._known.pop(uid, None)
            return True
        before, self._known[uid] = self._known.get(uid), seen
        return before != seen
