"""Weather: what real networks, clocks and machines do to a job beside letting its processes die.

| kind | what happens |
|---|---|
| late | all that a life sends is held back, and delivered when that life has been replaced, or has died: to whoever lives at that address then |
| late, then crash | the same; the life dies meanwhile |
| reordered | its calls (acks, confirmations, subscriptions) are held back each for a time of its own |
| refused | no new connection to it can be made; those that stand go on. Perhaps its standby dies, so that a new one has to connect |
| half open | a new connection to it is accepted, and nothing comes back. The same |
| one way | nothing that it sends arrives, all that is sent to it does; or the reverse |
| one way to the Lease store | what it asks of the store is done, and it does not get the answer |
| hung engine | its process lives, and says so; its elements make no micro-batch, for a while or for ever |
| clock | the wall clock by which sources emit is set forward or back |
| paused sink | a sink stops for a while; perhaps another life takes its place, and it wakes with old messages in hand |
| paused control | the control plane decides on a move, stops, and acts on what it saw before |

All of it is drawn apart, so that a seed has the same job and the same other faults without weather.
"""  # noqa: E501

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from understudy.control.planned_move import Where
from understudy_lab.exploration.fault import Fault
from understudy_lab.simulation.world import MS

if TYPE_CHECKING:
    from understudy_lab.simulation.cluster import Cluster
    from understudy_lab.simulation.endpoint import Endpoint
    from understudy_lab.simulation.process import Process
    from understudy_lab.simulation.specs import Job

KINDS = (
    *("late",) * 2,
    *("late, then crash",) * 2,
    *("reordered",) * 2,
    "refused",
    "half open",
    "one way",
    "one way to the Lease store",
    *("hung engine",) * 2,
    "clock",
    "paused sink",
    "paused control",
)
CALLS = frozenset(
    (
        *("rx_ack", "rx_subscribe", "rx_recovery_request", "rx_follow"),
        *("rx_stored", "rx_secondary_at", "rx_follower_alive", "rx_determinants_stored"),
    )
)  # each is a call of its own: one that is begun later may be answered sooner
OPENING = frozenset(("rx_follow", "rx_subscribe", "rx_recovery_request"))
LONGER = {"hung engine": 3, "refused": 4, "half open": 4}
EVER = 3_600_000 * MS
LATEST = 100  # milliseconds after the last source's end in which weather still begins


def forecast(seed: int, job: Job) -> list[Fault]:
    rng = random.Random(f"weather {seed}")
    last = max(s.lasts for s in job.sources) // MS + LATEST
    return [_drawn(rng, job, last) for _ in range(rng.choice((1, 1, 2, 2, 3)))]


def _drawn(rng: random.Random, job: Job, last: int) -> Fault:
    kind = rng.choice(KINDS)
    at, lasts = rng.randrange(5, last) * MS, rng.randrange(40, 400) * MS
    name = rng.choice([*job.sinks] if kind == "paused sink" else [s.name for s in job.subjobs])
    lasts *= LONGER.get(kind, 1)
    whose = rng.choice(("", "", "its standby")) if kind != "paused sink" else ""
    return Fault(at, kind, name, lasts, rng.random() < 0.5, whose)


class Weather:
    """What it is like now. Every message that a process sends passes here."""

    def __init__(self, cluster: Cluster, seed: int) -> None:
        self.cluster, self.world = cluster, cluster.world
        self._random = random.Random(f"messages {seed}")
        self._late: dict[str, int] = {}  # life: until when what it sends is held back
        self._reordered: dict[str, int] = {}  # life: until when its calls are
        self._refusing: dict[str, int] = {}  # life: until when it takes no new connection
        self._silent: dict[str, int] = {}  # life: until when a new connection to it stays silent
        self._mute: dict[str, int] = {}  # machine: until when nothing that it sends arrives
        self._deaf: dict[str, int] = {}  # machine: until when nothing arrives there
        self._unanswered: dict[str, int] = {}  # machine: until when the Lease store's answers get lost

    # --- what begins

    def brings(self, fault: Fault) -> bool:
        """Whether this is weather. Then it begins."""
        if fault.kind not in KINDS:
            return False
        until = self.world.now + fault.lasts
        match fault.kind:
            case "paused sink":
                self._pause_sink(fault)
            case "paused control":
                where = Where.NEW if fault.silent else Where.ANYWHERE
                self.cluster.control.migrate(fault.subjob, "planned", where, late=fault.lasts)
            case "clock":
                for source in self.cluster.sources.values():
                    source.set_clock(fault.lasts if fault.silent else -fault.lasts)
            case _:
                for process in self._whom(fault):
                    self._begin(fault, process, until)
        return True

    def _whom(self, fault: Fault) -> list[Process]:
        living = self._living(fault.subjob)
        return living[1:2] if fault.other else living[:1]

    def _living(self, subjob: str) -> list[Process]:
        """Those that serve first."""
        living = [p for p in self.cluster.running[subjob] if p.alive]
        return sorted(living, key=lambda p: (not p.serving, p.name))

    def _begin(self, fault: Fault, process: Process, until: int) -> None:
        match fault.kind:
            case "late":
                self._late[process.name] = until
            case "late, then crash":
                self._late[process.name] = until + fault.lasts
                self.world.at(fault.lasts // 2, self.cluster.crash, process, fault.silent, fault.lasts // 4)
            case "reordered":
                self._reordered[process.name] = until
            case "refused" | "half open":
                closed = self._refusing if fault.kind == "refused" else self._silent
                closed[process.name] = until
                for standby in self._living(process.spec.name)[1:] if fault.silent else ():
                    self.cluster.crash(standby, False, fault.lasts // 20)
            case "one way":
                (self._mute if fault.silent else self._deaf)[process.host] = until
            case "one way to the Lease store":
                self._unanswered[process.host] = until
            case "hung engine":
                process.engine.hang(EVER if fault.silent else until)

    def _pause_sink(self, fault: Fault) -> None:
        sink = self.cluster.sinks[fault.subjob]
        sink.paused = max(sink.paused, self.world.now + fault.lasts)
        if fault.silent:
            self.world.at(fault.lasts // 3, self.cluster.replace_sink, fault.subjob)

    def clock(self) -> int:
        """Where the monotonic clock of a process's machine stands."""
        return self._random.randrange(1_000_000)

    # --- what it does to messages

    def swallows_the_answer(self, process: Process) -> bool:
        """Whether the Lease store's answer gets lost."""
        return self.world.now < self._unanswered.get(process.host, 0)

    def takes(self, sender: Endpoint, target: Endpoint, method: str, args: tuple[Any, ...]) -> bool:
        """Whether a message gets lost, or arrives late."""
        now = self.world.now
        if sender.host == target.host:
            return False
        if now < self._mute.get(sender.host, 0) or now < self._deaf.get(target.host, 0):
            return True
        if method in OPENING:
            if now < self._silent.get(target.name, 0):
                return True
            if now < self._refusing.get(target.name, 0):
                self.world.at(self.world.network.latency, self._refuse, sender, target, method, args)
                return True
        until = self._late.get(sender.name, 0)
        if method in CALLS and now < self._reordered.get(sender.name, 0):
            until = now + self._random.randrange(200) * MS
        if now >= until:
            return False
        self.world.at(until - now, self._deliver, target, method, args)
        return True

    def _deliver(self, target: Endpoint, method: str, args: tuple[Any, ...]) -> None:
        self.cluster.at_the_address_of(target).receive(method, args)

    def _refuse(self, sender: Endpoint, target: Endpoint, method: str, args: tuple[Any, ...]) -> None:
        match method:
            case "rx_follow":
                sender.receive("rx_ended", (target, args[1] if len(args) > 1 else 0))
            case "rx_subscribe":
                sender.receive("rx_bye", (args[0], target.name))
