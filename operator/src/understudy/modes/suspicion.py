"""What a standby does about its primary: it follows the holder of the Lease, and suspects one that is silent.

`Leadership` decides; these handlers give it what the instance knows, and are rows in the table of every mode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from understudy.protocol import commands as do
from understudy.protocol import events as on
from understudy.protocol.commands import Commands

if TYPE_CHECKING:
    from understudy.modes.instance import Instance


def lease_seen_following(core: Instance, event: on.LeaseSeen) -> Commands:
    """Follows the holder. Tries the Lease if it is free, or if its holder's process has ended; an
    instance without state first waits 6 τ."""
    return core.decided(core.leadership.follows(event.record, core.claim()))


def holder_heard(core: Instance, event: on.HolderHeard) -> Commands:
    """Reads the Lease again: the holder is alive, because another instance hears it."""
    holder_lives(core, event)
    return (do.ReadLease(f"{event.by} hears the holder: it lives"),)


def holder_lives(core: Instance, event: on.HolderHeard) -> Commands:
    """Stops trying the Lease: the holder is alive."""
    core.leadership = core.leadership.holder_lives()
    return ()


def first_contact(core: Instance, event: on.FirstContact) -> Commands:
    """The connection to the primary is being made. Until it exists, silence is no reason for
    suspicion."""
    return core.heard(on.KeepAlive(event.until, event.epoch))


def keep_alive(core: Instance, event: on.KeepAlive) -> Commands:
    """The primary is alive. A standby with state tries the Lease if the primary's engine has stalled."""
    core.leadership = core.leadership.connected(event.epoch)
    return core.heard(event)


def peer_closed(core: Instance, event: on.PeerClosed) -> Commands:
    """Suspects the primary: its process is dead. With state here, tries the Lease; otherwise asks the
    holder."""
    return core.suspect("its connection closed: the process is dead", closed=True)


def peer_unreachable(core: Instance, event: on.PeerUnreachable) -> Commands:
    """Suspects the primary: no connection could be made. With state here, tries the Lease; otherwise asks
    the holder."""
    return core.suspect("no connection could be made")


def tick_following(core: Instance, event: on.Tick) -> Commands:
    """Suspects a primary that has been silent for longer than τ."""
    now = event.now
    core.leadership = core.leadership.ticked(now)
    if core.detector.suspects(now):
        return core.suspect(f"no keep-alive for {core.detector.tau} ms")
    if core.leadership.holder_ended:
        return core.decided(core.leadership.waits(now))
    return core.follow_tick(now)


def former_primary_gone(core: Instance, event: on.PeerClosed | on.PeerUnreachable) -> Commands:
    """Stops watching the former primary."""
    core.leadership = core.leadership.not_watching()
    return ()
