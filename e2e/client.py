"""The API server as everybody but the operator uses it: users, schedulers and kubelets write without
conditions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from understudy.kubernetes import api

Json = dict[str, Any]


class Api(api.Api):
    def create(self, path: str, body: Mapping[str, Any]) -> Json:
        return self.request("POST", path, body)

    def merge(self, path: str, body: Mapping[str, Any]) -> Json:
        return self.request("PATCH", path, body, "application/merge-patch+json")

    def delete(self, path: str, body: Mapping[str, Any] | None = None) -> None:
        with suppress(api.NotFound):
            self.request("DELETE", path, body)
