"""A choice of the job about one source, which all its readers share and which outlives them."""

from __future__ import annotations

from typing import Protocol

from understudy.process.ports import Surroundings


class Choices(Protocol):
    def read(self) -> str | None:
        """What was chosen last; None: nothing yet. May wait for a network. Raises Unreachable."""

    def choose(self, before: str | None, after: str) -> bool:
        """Compare-and-set: False if another reader has chosen since `before` was read. Raises Unreachable."""


class OwnChoices(Choices):
    """Of one reader that shares its choices with nobody."""

    def __init__(self) -> None:
        self._chosen: str | None = None

    def read(self) -> str | None:
        return self._chosen

    def choose(self, before: str | None, after: str) -> bool:
        if self._chosen != before:
            return False
        self._chosen = after
        return True


class KeptChoices(Choices):
    """In the surroundings, with the Lease of one subjob. `keeper`: the same subjob for all readers."""

    def __init__(self, surroundings: Surroundings, keeper: str, source: str) -> None:
        self._at, self._keeper, self._source = surroundings, keeper, source

    def read(self) -> str | None:
        return self._at.chosen(self._keeper, self._source)

    def choose(self, before: str | None, after: str) -> bool:
        return self._at.choose(self._keeper, self._source, before, after)
