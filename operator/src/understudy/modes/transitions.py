"""Tables of transitions that the core looks up: which handler answers an event in a state.

An event that a state ignores on purpose is an entry with the reason. A pair that is in no entry cannot
happen; if it does, the core has a defect, and `Impossible` says what led to it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from understudy.protocol.commands import Commands
from understudy.protocol.events import Event, Tick

SHOWN = 20  # events that an Impossible shows
LENGTH = 160  # characters shown of each event

E = TypeVar("E")
S = TypeVar("S", bound=Enum)
Handler = Callable[[Any, Any], Commands]


class State(Enum):
    """What an instance is doing, as far as it decides which events it answers."""

    STANDBY = "standby"
    RUNNING = "running standby"  # active standby: processes input in parallel with the primary
    RECOVERING = "recovering"  # savepoint: asks its predecessors for its savepoint
    PRIMARY = "primary"


@dataclass(frozen=True, slots=True)
class Ignored:
    why: str


@dataclass(frozen=True, slots=True)
class Rows(Generic[S]):
    """The same answer to several events in several states."""

    states: tuple[S, ...]
    events: tuple[type[Any], ...]
    answer: Handler | Ignored


def row(states: S | tuple[S, ...], event: type[E], handler: Callable[[Any, E], Commands]) -> Rows[S]:
    """An entry with its handler. The handler's docstring is the text in the generated table."""
    return Rows(states if isinstance(states, tuple) else (states,), (event,), handler)


def ignored(states: S | tuple[S, ...], why: str, *events: type[Any]) -> Rows[S]:
    return Rows(states if isinstance(states, tuple) else (states,), events, Ignored(why))


class Table(Mapping[tuple[S, type[Any]], Handler | Ignored]):
    """A frozen table. Of several rows for the same pair the last one counts."""

    def __init__(self, *rows: Rows[S], base: Mapping[tuple[S, type[Any]], Handler | Ignored] | None = None):
        own = {(state, event): r.answer for r in rows for state in r.states for event in r.events}
        self.entries = {**(base or {}), **own}

    def extended(self, *rows: Rows[S]) -> Table[S]:
        return Table(*rows, base=self.entries)

    def with_state(self, new: S, like: S) -> Table[S]:
        """Adds a state that answers like an existing one, so that later rows can change single answers."""
        copied = {(new, event): answer for (state, event), answer in self.items() if state is like}
        return Table(base={**self.entries, **copied})

    def __getitem__(self, key: tuple[S, type[Any]]) -> Handler | Ignored:
        return self.entries[key]

    def __iter__(self) -> Iterator[tuple[S, type[Any]]]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


class LastEvents:
    """The events that `Impossible` shows. Of successive ticks only the newest is kept."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque(maxlen=SHOWN)

    def note(self, event: Event) -> None:
        events = self._events
        if isinstance(event, Tick) and events and isinstance(events[-1], Tick):
            events.pop()
        events.append(event)

    @property
    def all(self) -> tuple[Event, ...]:
        return tuple(self._events)


class Impossible(Exception):
    """An event came in a state that has no entry for it. The process has to end; its standby takes over."""

    def __init__(
        self, name: str, role: str, epoch: int, state: Enum, event: Event, events: tuple[Event, ...]
    ) -> None:
        last = "; ".join(repr(e)[:LENGTH] for e in events)
        super().__init__(
            f"{name}, {role} in epoch {epoch}: {state.value} has no transition for {type(event).__name__}. "
            f"The last events: {last}"
        )
        self.name, self.role, self.epoch = name, role, epoch
        self.state, self.event, self.events = state, event, events


def answer(owner: Any, table: Table[S], state: S, event: Event) -> Commands | None:
    """Calls the owner's handler for this event; None if the table has no entry. A handler is a method of the
    owner, or a function that gets the owner first."""
    found = table.entries.get((state, type(event)))
    if found is None:
        return None
    if isinstance(found, Ignored):
        return ()
    method = getattr(owner, found.__name__, None)
    commands: Commands = method(event) if method is not None else found(owner, event)
    return commands
