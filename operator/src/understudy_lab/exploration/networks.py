"""Random jobs: loop-free networks of up to eight subjobs, all operator classes, mixed modes, small workloads.

What a mode promises for an operator follows Hwang's Tables 2 and 4. Behind a subjob that may repeat or lose
tuples are only row-wise operators, so that what must come out can still be told row by row. Replica backup
does not read a subjob that may repeat tuples, as in manifests: two replicas can have taken different ones.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from understudy.modes.active_standby import ActiveStandby
from understudy.modes.amnesia import Amnesia
from understudy.modes.logged_backup import LoggedBackup
from understudy.modes.passive_standby import PassiveStandby, Strategy
from understudy.modes.replica_backup import ReplicaBackup
from understudy.modes.savepoint import SavepointMode
from understudy.modes.synchronized_backup import SynchronizedBackup
from understudy.modes.upstream_backup import UpstreamBackup
from understudy_lab.simulation.made_up_operators import (
    Aggregate,
    Filter,
    Join,
    Operator,
    RandomFilter,
    Row,
    Union,
    Zip,
    mix,
)
from understudy_lab.simulation.specs import Build, Job, SourceSpec, SubjobSpec
from understudy_lab.simulation.world import MS

MODES = (
    "amnesia",
    "passiveStandby",
    "passiveStandby/synchronized",
    "passiveStandby/extended",
    "upstreamBackup",
    "activeStandby",
    "replicaBackup",
    "savepoint",
)
INTERVAL = 40  # M, milliseconds
Shape = Literal["one", "chain", "shared"]
"""Of a subjob: one element, perhaps a second behind it, or perhaps one that reads the first and what that
reads: only where the standby has a log of the steps."""
LOGGED = 0.4  # of the deterministic subjobs in upstream backup that could forward watermarks


@dataclass(frozen=True)
class Cores:
    """The core under test. A deliberate mistake is a subclass put in here."""

    amnesia: type[Amnesia] = Amnesia
    passive: type[PassiveStandby] = PassiveStandby
    upstream: type[UpstreamBackup] = UpstreamBackup
    logged: type[LoggedBackup] = LoggedBackup
    active: type[ActiveStandby] = ActiveStandby
    replica: type[ReplicaBackup] = ReplicaBackup
    savepoint: type[SavepointMode] = SavepointMode
    synchronized: type[SynchronizedBackup] = SynchronizedBackup


def draw(rng: random.Random, cores: Cores, only: str | None = None) -> Job:
    job = Job()
    bit = 0
    for i in range(rng.choice((1, 1, 2, 2, 3))):
        count = rng.randrange(20, 70)
        rows: tuple[Row, ...] = tuple((mix(rng.getrandbits(30), n), 1 << (bit + n)) for n in range(count))
        bit += count
        job.sources.append(
            SourceSpec(f"s{i}", rows, rng.randrange(6, 20) * MS, rng.randrange(1, 5), rng.randrange(9) * MS)
        )
    quality = {s.name: "exact" for s in job.sources}  # exact | rowwise
    makers: dict[str, SubjobSpec] = {}
    for k in range(rng.choice((1, 1, 2, 2, 3, 3, 4, 5, 6, 8))):
        spec = _subjob(rng, f"j{k}", quality, makers, cores, only)
        job.subjobs.append(spec)
        stream = spec.stream
        exact = spec.promise == "precise" and all(quality[s] == "exact" for s in spec.inputs)
        quality[stream] = "exact" if exact else "rowwise"
        makers[stream] = spec
    read = {s for spec in job.subjobs for s in spec.inputs}
    ends = [spec.stream for spec in job.subjobs]
    tapped = [s for s in ends if s not in read or rng.random() < 0.15]
    job.sinks = {f"k{i}": s for i, s in enumerate(tapped)}
    return job


def _subjob(
    rng: random.Random,
    name: str,
    quality: dict[str, str],
    makers: dict[str, SubjobSpec],
    cores: Cores,
    only: str | None,
) -> SubjobSpec:
    streams = list(quality)
    recent = streams[-3:]
    inputs = [rng.choice(recent if rng.random() < 0.7 else streams)]
    exact = quality[inputs[0]] == "exact"
    if len(streams) > 1 and rng.random() < (
        0.8 if only == "passiveStandby/extended" else 0.4
    ):  # it is for joins
        other = rng.choice([s for s in streams if s != inputs[0]])
        inputs.append(other)
        exact = exact and quality[other] == "exact"
    op = _operator(rng, len(inputs), exact)
    mode = only if only is not None else rng.choice(MODES)
    if not _fits(mode, op, exact, [makers[s] for s in inputs if s in makers]):
        mode = "passiveStandby"
    build, fam, promise, shape = _mode(rng, mode, op, cores, exact)
    beside = mode == "replicaBackup" and fam == "lease"
    elements = _elements(rng, name, op, tuple(inputs), shape if exact else "one")
    # It reads what the subjob reads, as manifests have to say
    stand_in = Filter(5) if len(inputs) == 1 else Union(5)
    simpler = ((name, stand_in, tuple(inputs)),) if rng.random() < 0.3 else None
    process = rng.random() < 0.3
    return SubjobSpec(
        name,
        elements,
        build,
        fam,
        mode,
        promise,
        side_by_side=beside,
        alternative=simpler,
        process=process,
        logged=shape == "shared",
    )


def _operator(rng: random.Random, arity: int, exact: bool) -> Operator:
    salt = rng.randrange(1, 1000)
    if arity == 2:
        return rng.choice((Union(salt), Zip(salt), Join(salt), Union(salt))) if exact else Union(salt)
    if not exact:
        return rng.choice((Operator(salt), Filter(salt)))
    window = rng.randrange(2, 7)
    aggregate = Aggregate(salt, window=window, advance=rng.randrange(1, window + 1))
    return rng.choice((Operator(salt), Filter(salt), aggregate, aggregate, RandomFilter(salt)))


def _fits(mode: str, op: Operator, exact: bool, producers: list[SubjobSpec]) -> bool:
    match mode:
        case "savepoint":
            return not op.arbitrary and exact and all(p.mode != "upstreamBackup" for p in producers)
        case "replicaBackup":
            return not op.arbitrary and all(p.promise != "rollback" for p in producers)
        case "passiveStandby/synchronized" | "passiveStandby/extended":
            return not op.arbitrary
        case _:
            return True


def _mode(
    rng: random.Random, mode: str, op: Operator, cores: Cores, exact: bool
) -> tuple[Build, str, str, Shape]:
    """How instances are made, how they are run, what they promise, and which elements are possible.

    Replica backup and savepoint run with a Lease, as the runtimes have it, or without, as in the papers;
    replicas that read a subjob which loses tuples run with one: it says which of them begins anew.
    """
    strong = rng.random() < 0.7 or isinstance(op, RandomFilter)
    m = INTERVAL
    match mode:
        case "amnesia":
            return (lambda n, w, d: cores.amnesia(n, w, d)), "lease", "gap", "chain"
        case "upstreamBackup" if strong and (op.arbitrary or rng.random() < LOGGED):
            return (lambda n, w, d: cores.logged(n, w, d, interval=m)), "lease", "precise", "shared"
        case "upstreamBackup":
            forward = strong and not op.arbitrary
            promise = "precise" if forward else "rollback"
            build = lambda n, w, d: cores.upstream(n, w, d, interval=m, forward=forward)  # noqa: E731
            return build, "lease", promise, "one" if op.arbitrary else "chain"
        case "activeStandby" if op.arbitrary:
            promise = "precise" if strong else "rollback"
            choices = {"exact": False, "determinants": strong}
            return (lambda n, w, d: cores.active(n, w, d, interval=m, **choices)), "lease", promise, "one"
        case "activeStandby":
            return (lambda n, w, d: cores.active(n, w, d, interval=m)), "lease", "precise", "chain"
        case "replicaBackup":
            fam = rng.choice(("lease", "lease", "lease", "replica" if exact else "lease"))
            return (lambda n, w, d: cores.replica(n, w, d, interval=20)), fam, "precise", "chain"
        case "passiveStandby/synchronized" | "passiveStandby/extended":
            extended = mode == "passiveStandby/extended"
            return (
                (lambda n, w, d: cores.synchronized(n, w, d, interval=m, extended=extended)),
                "lease",
                "precise",
                "chain",
            )
        case "savepoint":
            fam = rng.choice(("lease", "savepoint"))
            return (lambda n, w, d: cores.savepoint(n, w, d)), fam, "precise", "chain"
    if op.arbitrary:
        promise = "precise" if strong else "rollback"
        return (
            (lambda n, w, d: cores.passive(n, w, d, interval=m, hold_back=strong, exact=False)),
            "lease",
            promise,
            "one",
        )
    strategy = rng.choice(list(Strategy))
    return (
        (lambda n, w, d: cores.passive(n, w, d, interval=m, strategy=strategy)),
        "lease",
        "precise",
        "chain",
    )


def _elements(
    rng: random.Random, name: str, op: Operator, inputs: tuple[str, ...], shape: Shape
) -> tuple[tuple[str, Operator, tuple[str, ...]], ...]:
    if shape == "one" or rng.random() < 0.6:
        return ((name, op, inputs),)
    window = rng.randrange(2, 5)
    last = rng.choice(
        (Operator(7), Filter(9), Aggregate(11, window=window, advance=rng.randrange(1, window + 1)))
    )
    inner = f"{name}.a"
    if shape == "shared" and op.salt % 2:
        both = (Zip(13), Join(15), Union(17))[op.salt % 3]
        return ((inner, op, inputs), (name, both, (inputs[0], inner)))
    return ((inner, op, inputs), (name, last, (inner,)))
