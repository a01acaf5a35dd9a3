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
Topic = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]+$", max_length=249)]
SecretName = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$", max_length=253)]


class Security(Value):
    """Where the settings of TLS and login are."""

    secret: SecretName
    """The Secret whose keys are client properties: `security.protocol`, `sasl.mechanism`, `sasl.username`,
    `sasl.password`, `ssl.ca.pem` and others that begin so. A local run reads the file
    `NAME.properties`, or the folder `NAME` with a file for each key, in `--secrets` (default: `secrets`
    beside the manifest)."""


def out_of_range(
    field: str, given: timedelta, least: timedelta, most: timedelta
) -> Iterator[tuple[str, Fault]]:
    if not least <= given <= most:
        bound = f"at least {print_duration(least)}" if given < least else f"at most {print_duration(most)}"
        yield field, Fault("OutOfRange", f"{print_duration(given)} is out of range; write {bound}")
