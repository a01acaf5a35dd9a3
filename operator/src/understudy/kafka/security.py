"""The settings of TLS and login, from a Secret. They can change no other setting of a client."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from understudy.model.brokers import SECURITY_KEYS
from understudy.process.secrets import NoSecret, read_secret


def security_of(secrets: Path, name: str | None) -> Mapping[str, str]:
    """The client properties of a Secret; none if no Secret is named. Raises NoSecret."""
    if name is None:
        return {}
    found = read_secret(secrets, name)
    for key in found:
        if key not in SECURITY_KEYS:
            raise NoSecret(
                f"the Secret {name} has the key {key}; write client properties out of "
                f"{', '.join(SECURITY_KEYS)}"
            )
    return found
