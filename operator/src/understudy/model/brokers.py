"""What a source and a sink say alike about a Kafka broker."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Final

from pydantic import Field

from .refusal import Fault
from .value import Value, print_duration

OF_THE_RECORD: Final = {"_key": "binary", "_partition": "int", "_offset": "bigint"}
"""The columns that the tuples of a topic have besides those of the schema."""

_SERVER: Final = r"[^\s,]+:[0-9]{1,5}"
Servers = Annotated[str, Field(pattern=rf"^{_SERVER}(,{_SERVER})*$", max_length=1024)]
TOPIC_PATTERN: Final = r"^[A-Za-z0-9._-]+$"
MOST_TOPIC_CHARS: Final = 249
Topic = Annotated[str, Field(pattern=TOPIC_PATTERN, max_length=MOST_TOPIC_CHARS)]
SecretName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=253)]


SECURITY_KEYS: Final = (
    "security.protocol",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.username",
    "sasl.password",
    "sasl.oauthbearer.method",
    "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.secret",
    "sasl.oauthbearer.scope",
    "sasl.oauthbearer.extensions",
    "sasl.oauthbearer.token.endpoint.url",
    "ssl.ca.pem",
    "ssl.ca.location",
    "ssl.certificate.pem",
    "ssl.certificate.location",
    "ssl.key.pem",
    "ssl.key.location",
    "ssl.key.password",
    "ssl.cipher.suites",
    "ssl.endpoint.identification.algorithm",
    "enable.ssl.certificate.verification",
)
"""The client properties of TLS and login: none of them changes a promise, runs a program or loads a library.
A pod gets these keys of the Secret and no other."""


class Security(Value):
    """Where the settings of TLS and login are."""

    secret: SecretName
    """The Secret whose keys are client properties of TLS and login, such as `security.protocol`,
    `sasl.mechanism`, `sasl.username`, `sasl.password` and `ssl.ca.pem`. A local run reads the file
    `NAME.properties`, or the folder `NAME` with a file for each key, in `--secrets` (default: `secrets`
    beside the manifest)."""


def out_of_range(
    field: str, given: timedelta, least: timedelta, most: timedelta
) -> Iterator[tuple[str, Fault]]:
    if not least <= given <= most:
        bound = f"at least {print_duration(least)}" if given < least else f"at most {print_duration(most)}"
        yield field, Fault("OutOfRange", f"{print_duration(given)} is out of range; write {bound}")
