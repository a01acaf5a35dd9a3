"""What the end of a connection to the primary tells its secondary.

Only a connection that has carried a keep-alive and is then closed proves something: a living kernel says that the
process behind it is dead. A connection that could not be made (a refused port, a certificate that is not accepted, a
time-out, a path that works in one direction only) proves nothing: others may reach the primary well.

| the connection ended because         | it had carried a keep-alive | it had not  |
|--------------------------------------|-----------------------------|-------------|
| the transport failed                 | CLOSED                      | UNREACHABLE |
| it was not answered in time          | REFUSED                     | UNREACHABLE |
| the other side answered: not primary | REFUSED                     | REFUSED     |
| it answered: another follows already | BEHIND                      | BEHIND      |
| a message could not be understood    | REFUSED                     | REFUSED     |
"""

from __future__ import annotations

from enum import Enum


class End(Enum):
    """How a connection ended, as the transport says it."""

    TRANSPORT = "the transport failed"
    TIMED_OUT = "no answer in time"
    NOT_PRIMARY = "the other side is no primary"
    ANOTHER = "the primary has another secondary"
    BROKEN = "a message could not be understood"


class Verdict(Enum):
    """What the secondary may conclude."""

    CLOSED = "the process is dead"
    UNREACHABLE = "nothing is known"
    REFUSED = "look at the Lease again, then connect anew"
    BEHIND = "look at the Lease again; the other secondary takes over first"


def verdict(end: End, *, heard: bool) -> Verdict:
    """`heard`: whether this very connection had carried a keep-alive."""
    match end:
        case End.TRANSPORT:
            return Verdict.CLOSED if heard else Verdict.UNREACHABLE
        case End.TIMED_OUT:
            return Verdict.REFUSED if heard else Verdict.UNREACHABLE
        case End.NOT_PRIMARY | End.BROKEN:
            return Verdict.REFUSED
        case End.ANOTHER:
            return Verdict.BEHIND
