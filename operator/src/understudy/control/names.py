"""The names and labels of the objects of a job. Other programs rely on them."""

from __future__ import annotations

from typing import Final

GROUP: Final = "understudy.dev"

# labels
JOB: Final = "understudy.dev/job"
SUBJOB: Final = "understudy.dev/subjob"
SINK: Final = "understudy.dev/sink"
ROLE: Final = "understudy.dev/role"
INSTANCE: Final = "understudy.dev/instance"
SHARES: Final = "understudy.dev/shares"  # on an instance that may share a node with its peer
TRIAL: Final = "understudy.dev/trial"  # on a pod that waits for room: the subjob that wishes for it
DRIVER: Final = "understudy.dev/driver"  # on an executor: the instance that it works for

# annotations
ADDRESS: Final = "understudy.dev/address"  # on a Lease: where its holder listens
QUESTION: Final = "understudy.dev/question"  # on a Lease: asked by a standby that does not hear the holder
SUCCESSOR: Final = "understudy.dev/successor"  # on a Lease: the instance that its holder should move to
ENDED: Final = "ended.understudy.dev/"
"""Stands before the name of a sink that has written its stream to the end."""
CHOSEN: Final = "chosen.understudy.dev/"  # on a Lease: what the readers of a source agreed on
ACKS: Final = "understudy.dev/acks"  # on a Lease: what the subjob has acked to the sources that it reads
REVISION: Final = "understudy.dev/revision"  # on a pod: the manifest that it was started with
QUERY: Final = "understudy.dev/query"  # on a pod: a digest of what it computes
SETTINGS: Final = "understudy.dev/settings"  # on a pod: a digest of how it is kept alive and what it may use
SPREAD: Final = "understudy.dev/spread"  # on a pod: whether it must or should keep away from its peer's node
DIGEST: Final = "understudy.dev/digest"  # on a NetworkPolicy: of what it was made with
CERTIFICATE: Final = "understudy.dev/certificate"  # on a pod: the number of the certificate that it has

# On a StreamJob, MOVE/SUBJOB: `standby` or a node; ` by NAME`: that Migration asks
MOVE: Final = "move.understudy.dev"

# what a pod's processes are told
IDENTITY: Final = "UNDERSTUDY_IDENTITY"
SECRETS: Final = "/etc/understudy-secrets"

FLIGHT_PORT: Final = 7070
STATUS_PORT: Final = 7071


def lease(job: str, subjob: str) -> str:
    return f"{job}-{subjob}"


service = lease


def budget(job: str, subjob: str) -> str:
    return f"{job}-{subjob}-primary"


def instance(job: str, subjob: str, number: int) -> str:
    return f"{job}-{subjob}-{number}"


def trial(job: str, subjob: str, number: int) -> str:
    """The name of a trial. No instance can have it: instances end with a number only."""
    return f"{job}-{subjob}-room{number}"


def number_of(name: str) -> int:
    """The number at the end of an instance's name; -1 if there is none."""
    tail = name.rpartition("-")[2]
    return int(tail) if tail.isdecimal() else -1


def sink(job: str, name: str) -> str:
    return f"{job}-sink-{name}"


def stall(pod: str, tuples: int, life: str) -> str:
    """The Incident of a sink whose disk stalled after so many tuples."""
    return f"{pod}-{life}-stalled-{tuples}"


def manifest(job: str, revision: str) -> str:
    return f"{job}-manifest-{revision}"


def run(job: str) -> str:
    return f"{job}-run"


def account(job: str) -> str:
    """The ServiceAccount of a job's pods, its Role and its RoleBinding; also its NetworkPolicy."""
    return f"understudy-{job}"


def authority(job: str) -> str:
    """The Secret with the key that signs the job's certificates; no pod sees it."""
    return f"{job}-authority"


def certificate(job: str, number: int) -> str:
    """The Secret with the certificate of a job's pods."""
    return f"{job}-certificate-{number}"


def failure_process(job: str, subjob: str, epoch: int) -> str:
    """The Job that runs when a subjob has failed for good."""
    return f"{job}-{subjob}-failed-{epoch}"


def incident(job: str, subjob: str, epoch: int) -> str:
    """The Incident of a take-over."""
    return f"{job}-{subjob}-epoch-{epoch}"


def loss(pod: str, life: str = "") -> str:
    """The Incident of a standby or a sink whose pod was lost; `life` tells a sink's pods from each other."""
    return f"{pod}-{life}-lost" if life else f"{pod}-lost"


def restart(pod: str, restarts: int, life: str = "") -> str:
    """The Incident of a standby or a sink whose container died for the nth time."""
    return f"{pod}-{life}-restart-{restarts}" if life else f"{pod}-restart-{restarts}"
