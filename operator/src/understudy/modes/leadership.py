"""Who leads: the Lease, the epoch, and what a standby does when it no longer hears the holder.

`Leadership` is frozen. Each decision returns the next value and the commands that carry it out.

A standby with state tries the Lease as soon as it suspects the holder. A standby without state first asks the
holder through the Lease: silence proves nothing, and even a connection that was closed may have been reset by
the network. If the holder's process has certainly ended, a standby without state waits 6 τ, so that one with
state can win the Lease.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from understudy.protocol import commands as do
from understudy.protocol.commands import Commands
from understudy.protocol.detector import Detector
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Epoch, Millis
from understudy.protocol.inquiry import Inquiry

WAIT = 6  # times τ: a standby without state waits so long, so that one with state can win the Lease
PATIENCE = 6_000  # milliseconds that a holder has to answer a question in its Lease; it looks every second
NO_INQUIRY = Inquiry()


class Role(Enum):
    STANDBY = "standby"
    PRIMARY = "primary"


@dataclass(frozen=True, slots=True)
class Claim:
    """On which grounds a standby may try the Lease."""

    could_continue: bool  # a take-over would lose nothing
    needs_contact: bool  # it stores nothing of the primary: it may suspect only a primary that it has heard
    patience: int = PATIENCE


@dataclass(frozen=True, slots=True)
class Leadership:
    name: str
    detector: Detector
    role: Role = Role.STANDBY
    epoch: Epoch = Epoch(0)
    lease: LeaseRecord | None = None
    trying: bool = False  # an attempt to take the Lease has no result yet
    in_contact: bool = False  # the connection to the primary has carried a keep-alive
    inquiry: Inquiry = NO_INQUIRY  # a question to the holder, as a standby that does not hear it
    holder_ended: bool = False  # the holder's process has ended: a standby with state may try the Lease first
    ended_since: Millis | None = None  # time of the first tick after the holder ended

    @property
    def leads(self) -> bool:
        return self.role is Role.PRIMARY

    # --- roles

    def won(self, record: LeaseRecord) -> Leadership:
        return replace(
            self,
            detector=self.detector.forget(),
            role=Role.PRIMARY,
            epoch=record.epoch,
            lease=record,
            trying=False,
        )

    def renewed(self, record: LeaseRecord) -> Leadership:
        return replace(self, epoch=record.epoch, lease=record, trying=False)

    def in_role(self, role: Role) -> Leadership:
        return replace(self, role=role)

    def in_epoch(self, epoch: Epoch) -> Leadership:
        return replace(self, epoch=epoch)

    def with_lease(self, lease: LeaseRecord | None) -> Leadership:
        return replace(self, lease=lease)

    def left(self) -> Leadership:
        """The primary has become a standby."""
        return replace(self, role=Role.STANDBY, inquiry=NO_INQUIRY)

    def suspected_in_vain(self) -> Leadership:
        """This instance was replaced although it is alive: its machine is slow, so τ grows."""
        return replace(self, detector=self.detector.on_false_suspicion())

    def not_watching(self) -> Leadership:
        return replace(self, detector=self.detector.forget())

    def watching_as(self, former: Detector) -> Leadership:
        """Another mode's settings, with the signs of life that the former mode has heard."""
        return replace(self, detector=replace(self.detector, heard=former.heard, ticked=former.ticked))

    def retuned(self, like: Detector) -> Leadership:
        return replace(self, detector=self.detector.retuned(like))

    # --- signs of life

    def connected(self, epoch: Epoch) -> Leadership:
        """Notes that the connection has carried a keep-alive of this epoch."""
        if epoch < self.epoch or (self.in_contact and self.inquiry is NO_INQUIRY):
            return self
        return replace(self, in_contact=True, inquiry=NO_INQUIRY)

    def heard(self, now: Millis, epoch: Epoch) -> Leadership:
        return self._with(self.detector.on_keep_alive(now), epoch)

    def ticked(self, now: Millis) -> Leadership:
        return self._with(self.detector.on_tick(now), self.epoch)

    def _with(self, detector: Detector, epoch: Epoch) -> Leadership:
        """A copy with a new detector and epoch, made for every tick and keep-alive: `replace` would take
        three times as long."""
        return Leadership(
            self.name,
            detector,
            self.role,
            epoch,
            self.lease,
            self.trying,
            self.in_contact,
            self.inquiry,
            self.holder_ended,
            self.ended_since,
        )

    def holder_lives(self) -> Leadership:
        """Ends the attempt: another instance hears the holder."""
        return replace(self, trying=False, inquiry=NO_INQUIRY)

    # --- the Lease

    def saw(self, record: LeaseRecord | None) -> Leadership:
        return replace(self, lease=record, trying=False, holder_ended=False, ended_since=None)

    def follows(self, record: LeaseRecord | None, claim: Claim) -> tuple[Leadership, Commands]:
        """Decides what a standby does about the Lease that it has read."""
        question = record.question if record is not None else None
        inquiry = self.inquiry.look(question, self.detector.ticked)
        seen = replace(self.saw(record), in_contact=False, inquiry=inquiry)
        if record is None:
            return seen.tries("nobody holds the Lease")
        if record.holder == self.name:
            return seen._leaves_first_chance("the Lease names an earlier life of this instance", claim)
        if record.gone:
            return seen.not_watching()._leaves_first_chance("its process has ended", claim)
        return seen, (do.Follow(record),)

    def _leaves_first_chance(self, why: str, claim: Claim) -> tuple[Leadership, Commands]:
        return self.tries(why) if claim.could_continue else (replace(self, holder_ended=True), ())

    def waits(self, now: Millis) -> tuple[Leadership, Commands]:
        """The holder has ended, and this standby has no state: tries the Lease after 6 τ."""
        since = now if self.ended_since is None else self.ended_since
        if now - since <= WAIT * self.detector.tau:
            return replace(self, ended_since=since), ()
        waited = replace(self, holder_ended=False, ended_since=since)
        return waited.tries("no standby that has the state of the primary before took over")

    def suspects(self, why: str, claim: Claim, *, closed: bool = False) -> tuple[Leadership, Commands]:
        """Decides what a standby does when it no longer hears the holder. `closed`: its connection was
        closed."""
        unwatched = self.not_watching()
        if claim.could_continue and (closed or self.in_contact or not claim.needs_contact):
            return unwatched.tries(why)
        return unwatched._asks_holder(why, claim.patience)

    def _asks_holder(self, why: str, patience: int) -> tuple[Leadership, Commands]:
        if self.lease is None or self.trying:
            return self, ()
        if self.inquiry.unanswered >= patience:
            silent = f"its holder has not answered for {self.inquiry.unanswered} ms"
            return replace(self, trying=True), (do.TryLease(self.lease, f"{why}, and {silent}"),)
        if self.inquiry.question is None:
            return self, (do.AskHolder(self.lease, f"{why}, and there is nothing here to continue from"),)
        return self, (do.ReadLease("to see whether the holder has answered"),)

    def tries(self, why: str, *, planned: bool = False) -> tuple[Leadership, Commands]:
        """Tries the Lease, even if another instance has put a question to the holder into it."""
        if self.trying:
            return self, ()
        expected = replace(self.lease, question=None) if self.lease is not None else None
        return replace(self, trying=True), (do.TryLease(expected, why, planned),)
