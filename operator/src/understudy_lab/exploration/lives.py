"""What the history shows of each life: whether it leads, what it took, stored and heard."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from understudy_lab.exploration import history as seen
from understudy_lab.exploration.history import Observation, State
from understudy_lab.simulation.specs import Job, SubjobSpec


@dataclass(slots=True)
class Life:
    name: str
    subjob: str
    epoch: int  # in which it leads or runs; of a sink: its number
    alive: bool = True
    counts: bool = True  # as one of the subjob's instances
    leads: bool = False  # it leads, or has not heard yet that another does
    runs: bool = False  # it processes beside a primary, without sending
    handed: bool = False  # it leads, and has handed over: another is to take the Lease
    hung: int | None = None  # milliseconds for which its engine was made to stand still
    state: State | None = None  # as a standby: what it has stored
    log: int | None = None  # the epoch of whose steps it has a log
    secondary: str | None = None
    confirmed: int | None = None  # the epoch of a state that its secondary has confirmed
    log_confirmed: int | None = None
    begun: bool = True  # false: it leads, but does not know yet which seqs are taken
    settled: set[str] = field(default_factory=set)  # consumers whose position this life has heard
    waits: dict[str, bool] = field(default_factory=dict)  # input: it waits to hear where the stream starts
    answered: bool = False  # a producer has answered it
    taken: dict[str, int] = field(default_factory=dict)  # input: up to where it has, or skips, the tuples
    # input: up to where its elements have been given tuples since it began
    handed_on: dict[str, int] = field(default_factory=dict)
    positions: dict[str, dict[str, int]] = field(default_factory=dict)  # element: its position on each input
    # stream, consumer: the highest level-1 ack that reached this life
    released: dict[tuple[str, str], int] = field(default_factory=dict)
    received: dict[tuple[str, str], int] = field(default_factory=dict)  # the same at level 0
    unanswered: set[str] = field(default_factory=set)  # inputs for which it has requested a savepoint
    steps: dict[str, list[tuple[int, dict[str, int]]]] = field(default_factory=dict)
    """While it runs, per element: where the output of each step ends, and the positions on the subjob's
    inputs that this output came from."""

    def begins(self, state: State | None) -> None:
        """It starts with the positions of this state, and without any input."""
        self.taken, self.handed_on, self.waits, self.steps = {}, {}, {}, {}
        self.positions = {n: dict(at) for n, at in state.positions.items()} if state is not None else {}
        if state is not None:
            self.taken = dict(state.covers)

    def position(self, stream: str) -> int:
        """The lowest position of the elements that read this input."""
        return min((at[stream] for at in self.positions.values() if stream in at), default=0)


class Lives:
    def __init__(self, job: Job) -> None:
        self.job = job
        self.of: dict[str, Life] = {}
        self.spec: dict[str, SubjobSpec] = {s.name: s for s in job.subjobs}
        self.leases: dict[str, tuple[str, int]] = {}  # subjob: the last life to take its Lease, its epoch
        self.acked: dict[tuple[str, str], int] = defaultdict(int)  # subjob, input: level-1 acks of any life
        self.had: dict[tuple[str, str], int] = defaultdict(
            int
        )  # subjob, input: the furthest that any life got
        self._subjobs: dict[str, list[Life]] = defaultdict(list)
        self._see: dict[type, Callable[[Any], None]] = {
            seen.Launched: self._launched,
            seen.Ended: self._ended,
            seen.Removed: self._removed,
            seen.EngineHung: self._hung,
            seen.LeaseTaken: self._lease_taken,
            seen.Led: self._led,
            seen.SteppedDown: self._stepped_down,
            seen.Ran: self._ran,
            seen.HandedOver: self._handed_over,
            seen.Resumed: self._resumed,
            seen.Joined: self._joined,
            seen.Asked: self._asked,
            seen.Answered: self._answered,
            seen.Delivered: self._delivered,
            seen.Acked: self._acked,
            seen.Skipped: self._skipped,
            seen.Processed: self._processed,
            seen.RecoveryAsked: self._recovery_asked,
            seen.RecoveryAnswered: self._recovery_answered,
            seen.Subscribed: self._subscribed,
            seen.AckHeard: self._ack_heard,
            seen.Numbered: self._numbered,
            seen.Renumbered: self._renumbered,
            seen.Stored: self._stored,
            seen.Confirmed: self._confirmed,
            seen.LogKept: self._log_kept,
            seen.LogConfirmed: self._log_confirmed,
        }

    def look(self, event: Observation) -> None:
        see = self._see.get(type(event))
        if see is not None:
            see(event)

    # --- questions of the oracle

    def instances(self, subjob: str) -> Iterator[Life]:
        """The living instances of a subjob."""
        return (life for life in self._subjobs[subjob] if life.alive and life.counts)

    def leading(self, subjob: str) -> list[Life]:
        return [life for life in self.instances(subjob) if life.leads]

    def holds_the_lease(self, life: Life) -> bool:
        holder, epoch = self.leases.get(life.subjob, ("", 0))
        return epoch == life.epoch if self.spec[life.subjob].side_by_side else holder == life.name

    def replaced(self, life: Life) -> bool:
        """Whether another life has replaced it as the leader, and it has not noticed yet. Its input and its
        messages may then have no effect."""
        spec = self.spec.get(life.subjob)
        if spec is None or not life.leads or spec.family not in ("lease", "replica"):
            return False
        return not life.counts if spec.family == "replica" else not self.holds_the_lease(life)

    def fenced(self, life: Life, epoch: int) -> bool:
        """Whether the primary has taken the Lease again since that epoch, to go on without its standby. It
        has then sent tuples whose determinants the standby does not have."""
        return self.spec[life.subjob].holds_back and epoch < self.leases.get(life.subjob, ("", 0))[1]

    def could_go_on(self, life: Life) -> bool:
        """Whether a life has what its subjob needs to go on without a loss."""
        spec = self.spec[life.subjob]
        if life.leads:
            return (
                spec.family != "lease"
                or self.holds_the_lease(life)
                or (life.handed and self._kept_back(life))
            )
        if spec.passive:
            return life.state is not None and not self.fenced(life, life.state.epoch)
        return life.runs and not self.fenced(life, life.epoch)

    def _kept_back(self, life: Life) -> bool:
        """Whether a life that has handed over could still go on from its own state: it has processed all
        input that the subjob has released."""
        spec = self.spec[life.subjob]
        behind = all(life.position(s) >= self.acked[spec.name, s] for s in spec.inputs)
        return spec.passive and not spec.holds_back and behind

    def goes_on_from(self, life: Life, stream: str) -> int:
        """Up to where it has an input, itself or in its checkpoint."""
        if self.holds_the_lease(life) or life.runs:
            return life.taken.get(stream, 0)
        return life.state.covers.get(stream, 0) if life.state is not None else 0

    # --- lives

    def _launched(self, event: seen.Launched) -> None:
        life = self.of[event.life] = Life(event.life, event.subjob, event.number)
        life.leads = event.subjob not in self.spec  # a sink takes from the beginning
        self._subjobs[event.subjob].append(life)
        for former in self._subjobs[event.subjob][:-1] if life.leads else ():
            former.counts = False

    def _ended(self, event: seen.Ended) -> None:
        self.of[event.life].alive = False

    def _removed(self, event: seen.Removed) -> None:
        self.of[event.life].counts = False

    def _hung(self, event: seen.EngineHung) -> None:
        self.of[event.life].hung = event.lasts

    # --- leadership

    def _lease_taken(self, event: seen.LeaseTaken) -> None:
        self.leases[event.subjob] = (event.life, event.epoch)
        life = self.of[event.life]
        if life.leads and not self.spec[event.subjob].side_by_side:
            life.epoch = event.epoch  # taken again, to fence off another

    def _led(self, event: seen.Led) -> None:
        life = self.of[event.life]
        if not event.live:
            self._inherits(life, event.state)
            life.begins(event.state)
        life.leads, life.runs, life.epoch, life.handed = True, False, event.epoch, False
        life.state = life.log = life.secondary = life.confirmed = life.log_confirmed = None
        spec = self.spec[life.subjob]
        rolls = spec.mode in ("upstreamBackup", "amnesia") and spec.family == "lease"
        life.begun = not rolls or event.epoch == 1 or event.live or event.state is not None
        life.settled = set()
        life.unanswered = set()

    def _inherits(self, life: Life, state: State | None) -> None:
        """A life that leads with a state also has the acks that the former leader had received."""
        former = self.leading(life.subjob) if state is not None else []
        life.released = dict(former[-1].released) if former else {}
        life.received = dict(former[-1].received) if former else {}

    def _stepped_down(self, event: seen.SteppedDown) -> None:
        life = self.of[event.life]
        life.begins(None)
        life.leads = life.runs = life.handed = False
        life.state, life.log, life.secondary = event.keeps, None, None
        life.unanswered = set()

    def _ran(self, event: seen.Ran) -> None:
        life = self.of[event.life]
        life.begins(event.state)
        life.runs, life.epoch = True, event.epoch
        for name, (_, stop) in event.state.held.items():
            life.steps[name] = [(stop, {})]

    def _handed_over(self, event: seen.HandedOver) -> None:
        self.of[event.life].handed = True

    def _resumed(self, event: seen.Resumed) -> None:
        self.of[event.life].handed = False

    def _joined(self, event: seen.Joined) -> None:
        life = self.of[event.life]
        life.secondary, life.confirmed, life.log_confirmed = event.secondary, None, None

    # --- input

    def _asked(self, event: seen.Asked) -> None:
        life = self.of[event.life]
        life.waits[event.stream] = event.start is None
        if event.start is not None:
            life.taken[event.stream] = max(life.taken.get(event.stream, 0), event.start)
        if life.leads and self._is_amnesiac(life):
            life.begun = True

    def _is_amnesiac(self, life: Life) -> bool:
        spec = self.spec.get(life.subjob)
        return spec is not None and spec.mode == "amnesia"

    def _answered(self, event: seen.Answered) -> None:
        life = self.of[event.life]
        life.waits[event.stream], life.answered = False, True
        life.taken[event.stream] = max(life.taken.get(event.stream, 0), event.start)

    def _delivered(self, event: seen.Delivered) -> None:
        life, upto = self.of[event.life], event.start + len(event.rows)
        life.waits[event.stream] = False
        life.taken[event.stream] = life.handed_on[event.stream] = upto
        if upto > self.had[life.subjob, event.stream]:
            self.had[life.subjob, event.stream] = upto

    def _acked(self, event: seen.Acked) -> None:
        key = (self.of[event.life].subjob, event.stream)
        if event.level == 1 and event.upto > self.acked[key]:
            self.acked[key] = event.upto

    def _skipped(self, event: seen.Skipped) -> None:
        spec, life = self.spec.get(self.of[event.life].subjob), self.of[event.life]
        for name, _, inputs in spec.elements if spec is not None else ():
            if event.stream in inputs and event.element in (None, name):
                at = life.positions.setdefault(name, {})
                at[event.stream] = max(at.get(event.stream, 0), event.to)

    def _processed(self, event: seen.Processed) -> None:
        life = self.of[event.life]
        life.positions[event.element] = dict(event.positions)
        if life.runs:
            before = life.steps.setdefault(event.element, [])
            if not before or before[-1][0] != event.made:
                before.append((event.made, self._behind(life, event)))

    def _behind(self, life: Life, event: seen.Processed) -> dict[str, int]:
        """The positions on the subjob's inputs that a step's output came from, also through inner streams."""
        found: dict[str, int] = {}
        for stream, position in event.positions.items():
            inner = life.steps.get(stream)
            origin = _origin(inner, position) if inner is not None else {stream: position}
            for s, p in origin.items():
                found[s] = max(found.get(s, 0), p)
        return found

    def _recovery_asked(self, event: seen.RecoveryAsked) -> None:
        self.of[event.life].unanswered.add(event.stream)

    def _recovery_answered(self, event: seen.RecoveryAnswered) -> None:
        self.of[event.life].unanswered.discard(event.stream)

    # --- output

    def _subscribed(self, event: seen.Subscribed) -> None:
        life, key = self.of[event.life], (event.stream, event.consumer)
        life.settled.add(event.consumer)
        life.received[key] = max(life.received.get(key, 0), event.start)

    def _ack_heard(self, event: seen.AckHeard) -> None:
        life, key = self.of[event.life], (event.stream, event.consumer)
        life.received[key] = max(life.received.get(key, 0), event.upto)
        if event.level == 1:
            life.released[key] = max(life.released.get(key, 0), event.upto)

    def _numbered(self, event: seen.Numbered) -> None:
        self.of[event.life].begun = True

    def _renumbered(self, event: seen.Renumbered) -> None:
        life = self.of[event.life]
        for said in (life.received, life.released):
            said.update({key: event.first for key in said if key[0] == event.stream})

    # --- what a standby has

    def _stored(self, event: seen.Stored) -> None:
        self.of[event.life].state = event.state

    def _confirmed(self, event: seen.Confirmed) -> None:
        life = self.of[event.life]
        if event.epoch == life.epoch:
            life.confirmed = event.epoch

    def _log_kept(self, event: seen.LogKept) -> None:
        self.of[event.life].log = event.epoch

    def _log_confirmed(self, event: seen.LogConfirmed) -> None:
        life = self.of[event.life]
        if event.epoch == life.epoch:
            life.log_confirmed = event.epoch


def _origin(steps: list[tuple[int, dict[str, int]]], position: int) -> dict[str, int]:
    """The input positions that the tuple before this position came from."""
    return next((behind for stop, behind in steps if stop >= position), steps[-1][1] if steps else {})
