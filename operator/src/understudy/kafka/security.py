"""The settings of TLS and login, from a Secret. They can change no other setting of a client."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from understudy.process.secrets import NoSecret, read_secret

ALLOWED: Final = ("security.protocol", "sasl.", "ssl.", "enable.sasl.", "enable.ssl.")
REFUSED: Final = ("sasl.kerberos.kinit.cmd", "ssl.engine.", "ssl.providers")
"""The client would run a program or load a library."""


def security_of(secrets: Path, name: str | None) -> Mapping[str, str]:
    """The client properties of a Secret; none if no Secret is named. Raises NoSecret."""
    if name is None:
        return {}
    found = read_secret(secrets, name)
    for key in found:
        if not key.startswith(ALLOWED) or key.startswith(REFUSED):
            raise NoSecret(
                f"the Secret {name} has the key {key}; write client properties that begin with "
                f"{', '.join(ALLOWED)}"
            )
    return found
