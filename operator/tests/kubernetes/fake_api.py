"""An API server as small as it can be: objects in a dictionary, resource versions, label selectors, real
HTTP."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kubernetes.client import Configuration

from understudy.kubernetes.api import Api

Json = dict[str, Any]

PATH = re.compile(
    r"^/(?:api/v1|apis/[a-z0-9.]+/v[a-z0-9]+)(?:/namespaces/(?P<namespace>[^/]+))?/(?P<plural>[a-z]+)"
    r"(?:/(?P<name>[^/]+))?(?P<status>/status)?$"
)


@dataclass
class FakeApi:
    objects: dict[tuple[str, str, str], Json] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    tokens: list[str | None] = field(default_factory=list)
    version: int = 0
    down: bool = False
    hangs_up: bool = False
    """After each answer, and without saying so."""
    before_put: Any = None
    before_write: Callable[[], None] | None = None
    """Called when a write has arrived and before it is carried out."""
    lock: threading.RLock = field(default_factory=threading.RLock)

    # ---- for tests

    def put(self, plural: str, body: Json) -> Json:
        """As if somebody else wrote it."""
        with self.lock:
            metadata = body["metadata"]
            key = (plural, metadata.get("namespace", ""), metadata["name"])
            self.version += 1
            kept = self.objects.get(key, {}).get("metadata", {})
            metadata.setdefault("uid", kept.get("uid") or f"uid-{self.version}")
            metadata.setdefault("creationTimestamp", "2026-11-16T00:00:00Z")
            metadata["resourceVersion"] = str(self.version)
            self.objects[key] = json.loads(json.dumps(body))
            return self.objects[key]

    def get(self, plural: str, name: str, namespace: str = "apps") -> Json | None:
        return self.objects.get((plural, namespace, name))

    def all(self, plural: str) -> dict[str, Json]:
        return {name: found for (kind, _, name), found in sorted(self.objects.items()) if kind == plural}

    # ---- requests

    def answer(self, method: str, url: str, body: Any, kind: str) -> tuple[int, Json]:
        place = urlsplit(url)
        found = PATH.match(place.path)
        with self.lock:
            self.requests.append((method, place.path))
            if found is None:
                return 404, {"message": f"no such path {place.path}"}
            key = (found["plural"], found["namespace"] or "", found["name"] or "")
            if not found["name"]:
                asked = parse_qs(place.query)
                name = asked.get("fieldSelector", [""])[0].removeprefix("metadata.name=")
                return self._collection(method, key, body, asked.get("labelSelector", [""])[0], name)
            return self._one(method, key, body or {}, kind, bool(found["status"]))

    def _collection(
        self, method: str, key: tuple[str, str, str], body: Json | None, selector: str, name: str
    ) -> tuple[int, Json]:
        plural, namespace, _ = key
        if method == "POST" and body is not None:
            if (plural, namespace, body["metadata"]["name"]) in self.objects:
                return 409, {"message": "exists"}
            return 201, self.put(plural, body)
        mine = [
            o
            for (p, ns, n), o in self.objects.items()
            if p == plural
            and namespace in ("", ns)
            and name in ("", n)
            and _matches(o["metadata"].get("labels") or {}, selector)
        ]
        return 200, {"items": mine}

    def _one(
        self, method: str, key: tuple[str, str, str], body: Any, kind: str, status: bool
    ) -> tuple[int, Json]:
        there = self.objects.get(key)
        if there is None:
            return 404, {"message": f"{key[0]} {key[2]} not found"}
        match method:
            case "GET":
                return 200, there
            case "DELETE" if _differs(there, body.get("preconditions") or {}):
                return 409, {"message": "the preconditions do not hold"}
            case "DELETE":
                del self.objects[key]
                return 200, {}
            case "PUT":
                return self._replace(key, there, body)
            case _ if "json-patch" in kind:
                found = patched(there, body)
                return (200, self.put(key[0], found)) if found else (422, {"message": "a test failed"})
            case _ if _differs(there, body.get("metadata") or {}):
                return 409, {"message": "the object has been modified"}
            case _:
                patch = {"status": body["status"]} if status else body
                return 200, self.put(key[0], merged(there, patch))

    def _replace(self, key: tuple[str, str, str], there: Json, body: Json) -> tuple[int, Json]:
        if self.before_put is not None:
            hook, self.before_put = self.before_put, None
            hook()
            there = self.objects[key]
        if body["metadata"].get("resourceVersion") != there["metadata"]["resourceVersion"]:
            return 409, {"message": "the object has been modified"}
        return 200, self.put(key[0], body)

    # ---- life

    @contextmanager
    def listening(self) -> Iterator[str]:
        """Its address."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            server.server_close()

    @contextmanager
    def serving(self, timeout: float = 30.0) -> Iterator[Api]:
        with self.listening() as here:
            yield Api(Configuration(here, api_key={"BearerToken": "Bearer secret"}, proxy=""), timeout)


def merged(there: Json, patch: Json) -> Json:
    """JSON merge patch (RFC 7396)."""
    result = dict(there)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = merged(result[key] if isinstance(result.get(key), dict) else {}, value)
        else:
            result[key] = value
    return result


def _differs(there: Json, named: Json) -> bool:
    """Whether an object is not the one, or no longer as, a request names it."""
    return any(key in named and there["metadata"][key] != named[key] for key in ("uid", "resourceVersion"))


def patched(there: Json, steps: list[Json]) -> Json | None:
    """JSON patch (RFC 6902) of values in objects; None if a test fails."""
    result: Json = json.loads(json.dumps(there))
    for step in steps:
        *way, last = (part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:])
        place = result
        for part in way:
            place = place[part]
        if step["op"] == "test" and place.get(last) != step["value"]:
            return None
        if step["op"] == "add":
            place[last] = step["value"]
    return result


def _matches(labels: dict[str, str], selector: str) -> bool:
    """Whether all terms of the selector hold, each NAME or NAME=VALUE."""
    terms = [term.partition("=") for term in selector.split(",") if term]
    return all(name in labels and (not value or labels[name] == value) for name, _, value in terms)


def _handler(fake: FakeApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # else each answer waits for the client to acknowledge its headers

        def _any(self) -> None:
            if fake.down:
                self.close_connection = True
                return
            fake.tokens.append(self.headers.get("Authorization"))
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = json.loads(raw) if raw else None
            if self.command != "GET" and fake.before_write is not None:
                fake.before_write()
            status, found = fake.answer(self.command, self.path, body, self.headers.get("Content-Type") or "")
            text = json.dumps(found).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
            self.close_connection = fake.hangs_up

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _any

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler
