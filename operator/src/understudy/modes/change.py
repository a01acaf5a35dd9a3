"""A live change of mode: the primary continues with the same books under another protocol. The streaming
query is not interrupted.

What a mode needs for a take-over lies either at a standby (passive standby, active standby, replica backup)
or upstream (upstream backup, savepoint). The former protection may end only when the new one is complete:

| the new mode keeps its state | the primary | the standby |
|---|---|---|
| at a standby | changes at once; releases nothing until a standby has the state | changes when it follows |
| upstream     | runs both modes until upstream holds all that the new mode needs | changes after that |
| nowhere (amnesia) | changes at once | changes at once; without `spare` it is no longer needed |

While both modes run, the former mode ships and publishes as before, and the successor writes its own log of
the same steps. A tuple is released upstream only when both modes would release it. A source can be read again
from any position, so there only the successor decides where its replay would begin. Whichever of the two
modes a standby runs when the primary dies, the standby finds what it needs.
"""

from __future__ import annotations

from understudy.modes.instance import Instance
from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.commands import Commands
from understudy.protocol.events import Event
from understudy.protocol.ids import Seq, Stream

SHARED = on.Tick | on.Arrived | on.Processed | on.Acked | on.Subscribed | on.Redirected


def adopt(successor: Instance, former: Instance) -> None:
    """A primary continues with the books of an instance that ran another mode."""
    successor.leadership = successor.leadership.in_role(former.role)
    same_lease(successor, former)
    successor.books = former.books.for_another_mode()
    successor.neighbours = former.neighbours.without_producers()
    # new states get higher numbers, so that a late confirmation meant for the former mode's state does not
    # confirm a new one
    successor.number = former.number
    if successor.resuming is not None:
        successor.resuming.adopt(former)
    successor.taken_up()


def follow_after(successor: Instance, former: Instance) -> None:
    """Becomes a standby that has no state of the new mode yet."""
    same_lease(successor, former)
    successor.leadership = successor.leadership.watching_as(former.detector)


def same_lease(successor: Instance, former: Instance) -> None:
    successor.leadership = successor.leadership.with_lease(former.lease).in_epoch(former.epoch)


class Change:
    """The change to a mode that recovers from upstream, at a primary."""

    def __init__(self, former: Instance, successor: Instance) -> None:
        self.former, self.successor = former, successor
        adopt(successor, former)
        self._gone = {
            s: former.ledger.position(s) for s in former.wiring.external
        }  # upper limit of what was released before the change
        self._releases: dict[Instance, dict[Stream, Seq]] = {former: {}, successor: {}}

    def handle(self, event: Event) -> Commands:
        """The commands of the former mode; of the releases, only those that both modes agree to."""
        commands = self.former.handle(event)
        beside = self.successor.handle(event) if isinstance(event, SHARED) else ()
        agreed = (*self._agreed(self.former, commands), *self._agreed(self.successor, beside))
        received = tuple(c for c in beside if isinstance(c, do.SendAck) and c.level == 0)
        return (*(c for c in commands if not _releases(c)), *received, *agreed)

    def _agreed(self, mode: Instance, commands: Commands) -> Commands:
        releases = [c for c in commands if isinstance(c, do.SendAck) and _releases(c)]
        for c in releases:
            self._releases[mode][c.stream] = c.upto
        sources = tuple(
            c for c in releases if c.stream in self.former.wiring.replayable and mode is self.successor
        )
        streams = (c for c in releases if c.stream not in self.former.wiring.replayable)
        both = [c for c in streams if all(c.stream in known for known in self._releases.values())]
        return (*sources, *(do.SendAck(c.stream, 1, self._least(c.stream), c.tree) for c in both))

    def _least(self, stream: Stream) -> Seq:
        return min(known[stream] for known in self._releases.values())

    @property
    def waits_for(self) -> str | None:
        """Why the successor mode could not protect the subjob alone yet."""
        known = self._releases[self.successor]
        behind = [s for s, gone in self._gone.items() if known.get(s, Seq(0)) < gone]
        if behind:
            return f"what upstream no longer holds of {', '.join(behind)} is still needed"
        return (
            None if self.successor.warmed_up else "consumers have not received enough of what is made since"
        )


def _releases(command: do.Command) -> bool:
    return isinstance(command, do.SendAck) and command.level == 1
