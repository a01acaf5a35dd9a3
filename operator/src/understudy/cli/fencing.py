"""`kubectl understudy failover` and `fence`: take an instance away for good, and wait until the Lease says
so.

Neither needs the operator. A pod's name is never used again, and its token ends with it, so that it can not
take the Lease; and receivers refuse the epoch that is over. So even a process that lives on behind a broken
cable writes no more.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from understudy.cli import output
from understudy.cli.pages import cost
from understudy.model.words import Mode

Json = dict[str, Any]

PATIENCE_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Hands:
    """How the commands read and change the cluster."""

    job: Callable[[], Json]
    lease: Callable[[], Json]
    pods: Callable[[], list[str]]
    """The instances of the subjob."""
    kill: Callable[[str], None]
    patience: float = PATIENCE_SECONDS
    say: Callable[[str], None] = print


@dataclass(frozen=True, slots=True)
class Lead:
    holder: str | None
    epoch: int

    @classmethod
    def of(cls, lease: Json) -> Lead:
        spec = lease.get("spec") or {}
        return cls(spec.get("holderIdentity"), int(spec.get("leaseTransitions") or 0))


def add(parser: argparse.ArgumentParser, *, pod: bool) -> None:
    parser.add_argument("job")
    parser.add_argument("subjob")
    if pod:
        parser.add_argument("pod", help="the instance that must not write any more")
    parser.add_argument("--force", action="store_true", help="even if no standby is ready to take over")
    output.add(parser)


def failover(hands: Hands, args: argparse.Namespace) -> int:
    """0: another instance leads; 1: refused, or no instance took over."""
    lead = Lead.of(hands.lease())
    if lead.holder is None:
        hands.say(f"{args.subjob} has no primary")
        return 1
    return _take_away(hands, args, lead, lead.holder)


def fence(hands: Hands, args: argparse.Namespace) -> int:
    """0: the instance is gone and can not write again; 1: refused, or no instance took over from it."""
    lead, there = Lead.of(hands.lease()), hands.pods()
    if args.pod not in there:
        hands.say(f"{args.pod} is no instance of {args.subjob}; it has {', '.join(there) or 'none'}")
        return 1
    if args.pod == lead.holder and not args.force:
        hands.say(
            f"{args.pod} leads. Let it hand over first (kubectl understudy switchover), or --force a "
            "take-over"
        )
        return 1
    return _take_away(hands, args, lead, args.pod)


def _take_away(hands: Hands, args: argparse.Namespace, lead: Lead, pod: str) -> int:
    subjob = _subjob(hands.job(), args.subjob)
    if pod == lead.holder:
        hands.say(f"{args.subjob} without {pod}: {cost(subjob.get('ifItFailedNow'))}")
    if pod == lead.holder and not subjob.get("protected") and not args.force:
        hands.say(
            f"refused: no standby is ready to take over {args.subjob}; --force takes {pod} away all the same"
        )
        return 1
    hands.kill(pod)
    anew = pod == lead.holder or subjob.get("mode") == Mode.REPLICA_BACKUP
    after = _until(hands, pod, lead.epoch + anew)
    if after is None:
        hands.say(
            f"{pod} is deleted, but nobody has begun a new epoch of {args.subjob} within {hands.patience:g} s"
        )
        return 1
    hands.say(f"{pod} writes no more; {after.holder} leads {args.subjob} with epoch {after.epoch}")
    return 0


def _subjob(job: Json, name: str) -> Json:
    subjobs = (job.get("status") or {}).get("subjobs") or ()
    found: Json = next((subjob for subjob in subjobs if subjob["name"] == name), {})
    return found


def _until(hands: Hands, gone: str, epoch: int) -> Lead | None:
    """The new leader, once another instance leads in this epoch or a later one. Replicas lead side by side in
    one epoch, so a replica that is taken away is fenced off only when the other has begun the next epoch."""
    end = time.monotonic() + hands.patience
    while time.monotonic() < end:
        lead = Lead.of(hands.lease())
        if lead.holder not in (None, gone) and lead.epoch >= epoch:
            return lead
        time.sleep(0.5)
    return None
