"""The certificates by which a job's pods know each other: when one is issued, and which one a new pod gets.

A process keeps the certificate that it was started with. So a new certificate replaces pods in the same way
as changed settings: first the standby, then the primary, by a take-over. The job's authority stays the same,
so pods with the old and the new certificate trust each other.

Whether a job has certificates is decided when the operator first sees it: pods with and without certificates
could not talk to each other.
"""

from __future__ import annotations

from typing import Final

from understudy.control import names
from understudy.control.intents import Intent, IssueCertificate, Kind, Record, Remove
from understudy.control.observed import Observed

RENEWED: Final = 3  # with a third of its life left


def certificate_for(seen: Observed) -> int:
    """The number of the certificate that a pod made now gets; 0: none."""
    if seen.run is None:
        return 1 if seen.safeguards.tls else 0
    return seen.run.certificate + 1 if _due(seen) else seen.run.certificate


def plan_certificate(seen: Observed) -> tuple[Intent, ...]:
    """Issues the first certificate before anything else is recorded: a job whose record names no certificate
    has none."""
    if seen.run is not None and not _due(seen):
        return _worn_out(seen)
    number = certificate_for(seen)
    if not number:
        return ()
    until = seen.now_ms + seen.safeguards.certificate_ms
    entries = {"certificate": str(number), "certificateUntil": str(until)}
    why = "the old one ends soon" if number > 1 else "the job's pods speak to each other only"
    return (
        IssueCertificate(number, until, f"certificate {number} is issued: {why}"),
        Record(entries, f"pods get certificate {number} from now on"),
    )


def _due(seen: Observed) -> bool:
    run = seen.run
    if run is None or not run.certificate or not seen.safeguards.tls:
        return False
    return seen.now_ms >= run.certificate_until_ms - seen.safeguards.certificate_ms // RENEWED


def _worn_out(seen: Observed) -> tuple[Intent, ...]:
    """Certificates that no pod uses any longer."""
    run = seen.run
    if run is None or run.certificate_from >= run.certificate:
        return ()
    if any(pod.certificate < run.certificate for pod in seen.pods):
        return ()
    gone = range(run.certificate_from, run.certificate)
    return (
        *(
            Remove(Kind.CERTIFICATE, names.certificate(seen.name, n), f"no pod has certificate {n}")
            for n in gone
        ),
        Record({"certificateFrom": str(run.certificate)}, "older certificates were removed"),
    )
