"""The instances of a subjob, decided for every place: which are too many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from understudy.model.ha import Mode

TOO_MANY = "there is one instance more than is needed"


@dataclass(frozen=True, slots=True)
class Instances:
    """Of one subjob; they go by their names."""

    wanted: int
    living: int
    """With the primary."""
    standbys: Sequence[str]
    """Those that live beside the primary, oldest first."""
    secondary: str | None
    """Whom the primary has accepted, as it says itself."""
    mode: Mode
    """In force: an edit takes effect a little later."""


def surplus(instances: Instances) -> Sequence[str]:
    """More than needed beside a primary that serves, as when a node that was given up returns, or a move has
    failed: the newest go. The secondary stays, unless none is wanted and the mode in force does without."""
    keeps_one = instances.wanted > 1 or instances.mode is not Mode.AMNESIA
    kept = instances.secondary if keeps_one else None
    spare = [name for name in instances.standbys if name != kept]
    too_many = instances.living - instances.wanted
    return spare[-too_many:] if too_many > 0 else ()
