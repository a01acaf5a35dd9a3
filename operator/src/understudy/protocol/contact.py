"""What a secondary learns when its connection to the primary ends, and what it does next.

Only a connection that has carried a keep-alive and is then closed proves something: a living kernel reports
that the process behind it is dead. A connection that could not be made (a refused port, a certificate that is
not accepted, a time-out, a path that works in one direction only) proves nothing: others may reach the
primary well.

| the connection ended because         | it had carried a keep-alive | it had not  |
|--------------------------------------|-----------------------------|-------------|
| the transport failed                 | CLOSED                      | UNREACHABLE |
| it was not answered in time          | REFUSED                     | UNREACHABLE |
| the other side answered: not primary | REFUSED                     | REFUSED     |
| it answered: another follows already | BEHIND                      | BEHIND      |
| a message could not be understood    | REFUSED                     | REFUSED     |

What follows depends on the situation of the secondary. `leads`: it is a replica that runs beside its peer.
`behind`: the primary reported a short time ago that it has another secondary. That one has the state, and so
the first chance to take over.

| verdict     | leads              | behind              | else               |
|-------------|--------------------|---------------------|--------------------|
| CLOSED      | SAY_CLOSED         | LOOK_AGAIN          | SAY_CLOSED         |
| UNREACHABLE | SAY_UNREACHABLE    | SAY_UNREACHABLE     | SAY_UNREACHABLE    |
| REFUSED     | SAY_CLOSED         | LOOK_AGAIN          | LOOK_AGAIN         |
| BEHIND      | STAND_BEHIND       | STAND_BEHIND        | STAND_BEHIND       |
"""

from __future__ import annotations

from enum import Enum


class End(Enum):
    """How a connection ended, as the transport reports it."""

    TRANSPORT = "the transport failed"
    TIMED_OUT = "no answer in time"
    NOT_PRIMARY = "the other side is no primary"
    ANOTHER = "the primary has another secondary"
    BROKEN = "a message could not be understood"


class Verdict(Enum):
    """What the secondary may conclude from the end of a connection."""

    CLOSED = "the process is dead"
    UNREACHABLE = "nothing is known"
    REFUSED = "look at the Lease again, then connect anew"
    BEHIND = "look at the Lease again; the other secondary takes over first"


def verdict(end: End, *, heard: bool) -> Verdict:
    """What follows from the end of a connection. `heard`: whether this very connection had carried a
    keep-alive."""
    match end:
        case End.TRANSPORT:
            return Verdict.CLOSED if heard else Verdict.UNREACHABLE
        case End.TIMED_OUT:
            return Verdict.REFUSED if heard else Verdict.UNREACHABLE
        case End.NOT_PRIMARY | End.BROKEN:
            return Verdict.REFUSED
        case End.ANOTHER:
            return Verdict.BEHIND


class Step(Enum):
    """What the shell does next. The real shell and the simulated one both call `next_step`."""

    SAY_CLOSED = "post PeerClosed"
    SAY_UNREACHABLE = "post PeerUnreachable a moment later, unless something else has happened"
    LOOK_AGAIN = "read the Lease a moment later"
    STAND_BEHIND = "the same, and leave the first chance to the other secondary for a while"


def next_step(found: Verdict, *, leads: bool, behind: bool) -> Step:
    match found:
        case Verdict.CLOSED:
            return Step.LOOK_AGAIN if behind and not leads else Step.SAY_CLOSED
        case Verdict.UNREACHABLE:
            return Step.SAY_UNREACHABLE
        case Verdict.REFUSED:
            return Step.SAY_CLOSED if leads else Step.LOOK_AGAIN
        case Verdict.BEHIND:
            return Step.STAND_BEHIND
