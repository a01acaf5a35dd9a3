"""The few calls to the API server that starting, health and faults need. Call inside the outer namespace."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from typing import Any

from .layout import API_URL, Layout, Node


def _context(layout: Layout) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(layout.pki / "ca.crt"))
    context.load_cert_chain(layout.pki / "admin.crt", layout.pki / "admin.key")
    return context


def call(
    layout: Layout, path: str, body: Any = None, server: str = API_URL, seconds: float = 5.0
) -> bytes | None:
    """The answer, or None if there is none or it is an error (a conflict counts as done)."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server + path, data=data, headers={"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=seconds, context=_context(layout)) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        return b"{}" if error.code == 409 else None
    except OSError:
        return None


def get(layout: Layout, path: str) -> Any:
    answer = call(layout, path)
    return None if answer is None else json.loads(answer)


def ready(layout: Layout) -> bool:
    return layout.pki.exists() and call(layout, "/readyz") == b"ok"


def nodes_ready(layout: Layout) -> set[str]:
    listed = get(layout, "/api/v1/nodes") or {"items": []}
    return {node["metadata"]["name"] for node in listed["items"] if _is_ready(node)}


def _is_ready(node: Any) -> bool:
    conditions = {c["type"]: c["status"] for c in node["status"].get("conditions", [])}
    return conditions.get("Ready") == "True"


def lease_renewed(layout: Layout, node: Node) -> str:
    """When that node's kubelet last said that it lives, as the API server wrote it down."""
    lease = get(layout, f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{node.name}")
    return "" if lease is None else lease["spec"].get("renewTime", "")


def kubelet_answers(layout: Layout, node: Node) -> bool:
    return call(layout, "/healthz", server=f"https://{node.ip}:10250", seconds=2) == b"ok"


def default_account_exists(layout: Layout) -> bool:
    return get(layout, "/api/v1/namespaces/default/serviceaccounts/default") is not None


def pod_uid(layout: Layout, namespace: str, name: str) -> str | None:
    pod = get(layout, f"/api/v1/namespaces/{namespace}/pods/{name}")
    return None if pod is None else pod["metadata"]["uid"]
