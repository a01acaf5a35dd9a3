"""The instances of a subjob: which of them are too many, and which start next where only a few can start at
once."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from understudy.model.ha import Mode

Owner = TypeVar("Owner", bound=Hashable)

TOO_MANY: Final = "there is one instance more than is needed"


@dataclass(frozen=True, slots=True)
class Instances:
    """The instances of one subjob, by their names."""

    wanted: int
    living: int
    """Includes the primary."""
    standbys: Sequence[str]
    """The living instances beside the primary, oldest first."""
    secondary: str | None
    """The standby that the primary has accepted, from its page."""
    mode: Mode
    """The mode in force: an edit takes effect a little later."""


def surplus(instances: Instances) -> Sequence[str]:
    """The instances beside a serving primary that are too many, newest first. There are some when a node that
    was given up returns, or when a move has failed. The secondary stays, unless no standby is wanted and the
    mode in force does not need one."""
    keeps_one = instances.wanted > 1 or instances.mode is not Mode.AMNESIA
    kept = instances.secondary if keeps_one else None
    spare = [name for name in instances.standbys if name != kept]
    too_many = instances.living - instances.wanted
    return spare[-too_many:] if too_many > 0 else ()


@dataclass(frozen=True, slots=True)
class Post(Generic[Owner]):
    """How many processes an owner (a subjob or a sink) must have."""

    owner: Owner
    count: int
    has_session: bool
    """A Spark session takes a processor while it starts."""


@dataclass(frozen=True, slots=True)
class Crew:
    """The processes of one owner."""

    living: int
    made: int
    """How many were made so far, including the living ones."""


def next_starts(
    posts: Sequence[Post[Owner]], crews: Mapping[Owner, Crew], free: int, running: bool
) -> Iterator[Owner]:
    """The owners whose processes are started now. `posts`: most urgent first. `free`: how many more sessions
    may start at the same time. `running`: the streams have begun. Then a subjob without a living process does
    not wait for others, because its stream stands still."""
    living = {owner: crew.living for owner, crew in crews.items()}

    def urgency(post: Post[Owner]) -> tuple[bool, int]:
        """Least first: an owner without a living process, then the one with the fewest starts so far. So no
        owner waits for ever."""
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
