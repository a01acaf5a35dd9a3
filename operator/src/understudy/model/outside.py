"""What kinds of sources and sinks have in common: both connect the job to something outside of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from .refusal import Fault
from .value import Value


class OutsideKind(Value):
    """Questions about a kind of source or sink. The answers here are those of a kind that needs nothing."""

    available: ClassVar[bool] = True

    @property
    def pod_volume(self) -> Mapping[str, Any] | None:
        """The volume with its files, for each pod that uses them."""
        return None

    @property
    def secret(self) -> str | None:
        """The Secret that each pod needs that reads from it or writes to it."""
        return None

    @property
    def secret_keys(self) -> tuple[str, ...]:
        """The keys of the Secret that the pod gets, as far as the Secret has them."""
        return ()

    @property
    def place(self) -> tuple[str, ...] | None:
        """Where its records are, if a source could read and a sink could write there."""
        return None

    def faults(self) -> Iterator[tuple[str, Fault]]:
        """What the schema of the manifest can't rule out: the field of this kind, and its fault."""
        return iter(())
