"""Certificates by openssl, and the kubeconfigs that carry them."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path

from .layout import API_URL, CONTROL_IP, DOMAIN, SERVICE_IP, Node

_OPENSSL_CONFIG = "[req]\ndistinguished_name = dn\n[dn]\n"
_API_NAMES = [
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    f"kubernetes.default.svc.{DOMAIN}",
]
_ADMIN = "/O=system:masters/CN="

# name -> (subject, subjectAltName): who takes part, and as whom the API server knows them.
CONTROL_CERTIFICATES = {
    "apiserver": (
        "/CN=kube-apiserver",
        ",".join(
            [
                *(f"DNS:{name}" for name in _API_NAMES),
                *(f"IP:{a}" for a in (SERVICE_IP, CONTROL_IP, "127.0.0.1")),
            ]
        ),
    ),
    "kubelet-client": (f"{_ADMIN}apiserver-kubelet-client", ""),
    "admin": (f"{_ADMIN}admin", ""),
    "controller-manager": ("/CN=system:kube-controller-manager", ""),
    "scheduler": ("/CN=system:kube-scheduler", ""),
    "proxy": ("/CN=system:kube-proxy", ""),
    "dns": (f"{_ADMIN}coredns", ""),
}


def create_authority(folder: Path) -> None:
    folder.mkdir(parents=True, mode=0o700)
    (folder / "openssl.cnf").write_text(_OPENSSL_CONFIG)
    _request(folder, "ca", "/CN=understudy-e2e", "basicConstraints=critical,CA:TRUE")
    private = folder / "service-accounts.key"
    _openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", private)
    _openssl("ec", "-in", private, "-pubout", "-out", folder / "service-accounts.pub")


def issue(folder: Path, name: str, subject: str, alternative_names: str = "") -> None:
    extensions = ["basicConstraints=critical,CA:FALSE"]
    if alternative_names:
        extensions.append(f"subjectAltName={alternative_names}")
    _request(folder, name, subject, *extensions, authority="ca")


def issue_for(folder: Path, node: Node) -> None:
    issue(folder, node.name, f"/O=system:nodes/CN=system:node:{node.name}", f"IP:{node.ip},DNS:{node.name}")


def kubeconfig(folder: Path, name: str, to: Path) -> None:
    """Write one with everything embedded. JSON is YAML, and the standard library writes JSON."""
    text = {part: base64.b64encode(path.read_bytes()).decode() for part, path in _files(folder, name).items()}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "understudy-e2e",
        "contexts": [{"name": "understudy-e2e", "context": {"cluster": "understudy-e2e", "user": name}}],
        "clusters": [
            {
                "name": "understudy-e2e",
                "cluster": {"server": API_URL, "certificate-authority-data": text["ca"]},
            }
        ],
        "users": [
            {"name": name, "user": {"client-certificate-data": text["crt"], "client-key-data": text["key"]}}
        ],
    }
    to.parent.mkdir(parents=True, exist_ok=True)
    to.touch(mode=0o600)
    to.write_text(json.dumps(config, indent=1))


def _files(folder: Path, name: str) -> dict[str, Path]:
    return {"ca": folder / "ca.crt", "crt": folder / f"{name}.crt", "key": folder / f"{name}.key"}


def _request(folder: Path, name: str, subject: str, *extensions: str, authority: str | None = None) -> None:
    sign: list[str | Path] = (
        ["-CA", folder / f"{authority}.crt", "-CAkey", folder / f"{authority}.key"] if authority else []
    )
    added = [argument for extension in extensions for argument in ("-addext", extension)]
    _openssl(
        *(
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "3650",
        ),
        *("-config", folder / "openssl.cnf", "-subj", subject, *added, *sign),
        *("-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt"),
    )


def _openssl(*args: str | Path) -> None:
    subprocess.run(["openssl", *map(str, args)], check=True, capture_output=True)
