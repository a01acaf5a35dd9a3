"""The identity of a process within its job: a certificate, its key, and the authority that all its processes
trust.

On Kubernetes the operator issues them; UNDERSTUDY_CREDENTIALS names the folder, for every process of the pod,
Spark's workers included. Without it, as in a local run, connections are plain.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

FOLDER: Final = "UNDERSTUDY_CREDENTIALS"
SUBJECT: Final = "understudy-job"
"""The name in every certificate. Addresses of pods change; what counts is the signature of the job's
authority."""


@dataclass(frozen=True, slots=True)
class Credentials:
    authority: bytes
    certificate: bytes
    key: bytes

    @classmethod
    def read(cls, folder: Path) -> Credentials:
        return cls(*((folder / name).read_bytes() for name in ("ca.crt", "tls.crt", "tls.key")))

    def of_client(self) -> dict[str, Any]:
        """The options with which a Flight client shows its certificate and requires the server's."""
        return {
            "tls_root_certs": self.authority,
            "cert_chain": self.certificate,
            "private_key": self.key,
            "override_hostname": SUBJECT,
        }

    def of_server(self) -> dict[str, Any]:
        """The options with which a Flight server shows its certificate and refuses clients without one."""
        return {
            "tls_certificates": [(self.certificate, self.key)],
            "root_certificates": self.authority,
            "verify_client": True,
        }


@cache
def own() -> Credentials | None:
    """Read once: a process keeps the certificate with which it was started."""
    folder = os.environ.get(FOLDER)
    return Credentials.read(Path(folder)) if folder else None


def scheme(credentials: Credentials | None) -> str:
    return "grpc+tls" if credentials else "grpc"
