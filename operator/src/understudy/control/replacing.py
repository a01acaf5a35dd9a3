"""The instances of a subjob: which are too many; and where few can start at once, which are next."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from understudy.model.ha import Mode

Owner = TypeVar("Owner", bound=Hashable)

TOO_MANY: Final = "there is one instance more than is needed"


@dataclass(frozen=True, slots=True)
class Instances:
    """Of one subjob; they go by their names."""

    wanted: int
    living: int
    """With the primary."""
    standbys: Sequence[str]
    """Those that live beside the primary, oldest first."""
    secondary: str | None
    """The standby that the primary has accepted, as its page says."""
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


@dataclass(frozen=True, slots=True)
class Post(Generic[Owner]):
    """So many processes of an owner (a subjob or a sink) must live."""

    owner: Owner
    count: int
    has_session: bool
    """A Spark session takes a processor while it starts."""


@dataclass(frozen=True, slots=True)
class Crew:
    """The processes of one owner."""

    living: int
    made: int
    """So far, the living too."""


def next_starts(
    posts: Sequence[Post[Owner]], crews: Mapping[Owner, Crew], free: int, running: bool
) -> Iterator[Owner]:
    """The owners whose processes are started now. `posts`: most urgent first. `free`: how many more sessions
    may be starting. `running`: the streams have begun; then a subjob without a living process waits for no
    other, because its stream stands still."""
    living = {owner: crew.living for owner, crew in crews.items()}

    def urgency(post: Post[Owner]) -> tuple[bool, int]:
        """Least first: an owner without a living process, then the one with the fewest starts so far. So no
        owner waits for ever behind the others."""
        return (living[post.owner] > 0, crews[post.owner].made) if running else (False, 0)

    for post in sorted(posts, key=urgency):
        bare = running and not living[post.owner]
        if living[post.owner] >= post.count:
            continue
        if post.has_session and not bare and free <= 0:
            return
        free -= post.has_session
        living[post.owner] += 1
        yield post.owner
