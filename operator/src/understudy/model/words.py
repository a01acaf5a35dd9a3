"""Words of the API that the kubectl plugin uses, too. This module imports only Python itself, so the plugin
needs neither pydantic nor a SQL parser."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

GROUP: Final = "understudy.dev"
VERSION: Final = "v1alpha1"


class Mode(StrEnum):
    AMNESIA = "amnesia"
    PASSIVE_STANDBY = "passiveStandby"
    UPSTREAM_BACKUP = "upstreamBackup"
    ACTIVE_STANDBY = "activeStandby"
    REPLICA_BACKUP = "replicaBackup"
    SAVEPOINT = "savepoint"
    AUTO = "auto"


class Fault(StrEnum):
    """What a drill can do."""

    POD_KILL = "podKill"
    PROCESS_STOP = "processStop"
    NODE_LOSS = "nodeLoss"
    PARTITION = "partition"
    OVERLOAD = "overload"
    ENGINE_HANG = "engineHang"


class DrillPhase(StrEnum):
    PENDING = "Pending"
    RUNNING = "Running"
    PASSED = "Passed"
    FAILED = "Failed"


class MigrationPhase(StrEnum):
    PENDING = "Pending"
    RUNNING = "Running"
    COMPLETED = "Completed"
    FAILED = "Failed"
