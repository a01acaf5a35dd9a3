"""The cause of a failure as one of a few words: an Incident has it as a sentence, and a label may have only a
few values."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Cause(StrEnum):
    PROCESS_ENDED = "processEnded"
    """A closed connection, or the supervisor, proved that the process is dead."""
    SILENCE = "silence"
    """It sent no keep-alive for τ."""
    UNREACHABLE = "unreachable"
    """No connection to it could be made."""
    ENGINE_STALLED = "engineStalled"
    DISK_STALLED = "diskStalled"
    POD_LOST = "podLost"
    """Its pod or its node is gone, or it does not answer the operator."""
    NO_HOLDER = "noHolder"
    """No instance held the Lease."""
    OVERLOAD = "overload"
    OTHER = "other"


_SENTENCES: Final = (
    ("engine stands still", Cause.ENGINE_STALLED),
    ("disk stands still", Cause.DISK_STALLED),
    ("no connection could be made", Cause.UNREACHABLE),
    ("no keep-alive for", Cause.SILENCE),
    ("no heart-beat for", Cause.SILENCE),
    ("the process is dead", Cause.PROCESS_ENDED),
    ("its process has ended", Cause.PROCESS_ENDED),
    ("its container died", Cause.PROCESS_ENDED),
    ("an earlier life of this instance", Cause.PROCESS_ENDED),
    ("nobody holds the Lease", Cause.NO_HOLDER),
    ("no standby that has the state", Cause.NO_HOLDER),
    ("its pod is gone", Cause.POD_LOST),
    ("it is being deleted", Cause.POD_LOST),
    ("it has failed", Cause.POD_LOST),
    ("it has ended", Cause.POD_LOST),
    ("its node ", Cause.POD_LOST),
    ("backlog of", Cause.OVERLOAD),
    ("the processor was withheld", Cause.OVERLOAD),
    ("memory is used up", Cause.OVERLOAD),
)
"""What the sentence contains, and the word for it; the first that fits counts."""


def cause_of(sentence: str) -> Cause:
    return next((cause for part, cause in _SENTENCES if part in sentence), Cause.OTHER)
