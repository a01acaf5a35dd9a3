"""The plugin takes instances away: when it refuses, what it says first, and when it believes that it is
done."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from typing import Any

import pytest

from understudy.cli.fencing import Hands, failover, fence

Json = dict[str, Any]


@dataclass
class Cluster:
    """A subjob with a Lease that another instance takes when its holder is killed."""

    protected: bool = True
    mode: str = "passiveStandby"
    holder: str = "demo-keep-0"
    epoch: int = 3
    pods: list[str] = field(default_factory=lambda: ["demo-keep-0", "demo-keep-1"])

    def job(self) -> Json:
        now = {"replayTuples": 40, "replaySeconds": 0.2, "lostTuples": 0}
        subjob = {"name": "keep", "mode": self.mode, "protected": self.protected, "ifItFailedNow": now}
        return {"status": {"subjobs": [subjob]}}

    def lease(self) -> Json:
        return {"spec": {"holderIdentity": self.holder, "leaseTransitions": self.epoch}}

    def kill(self, pod: str) -> None:
        self.pods.remove(pod)
        if self.pods and (pod == self.holder or self.mode == "replicaBackup"):
            self.holder, self.epoch = self.pods[0], self.epoch + 1

    @property
    def hands(self) -> Hands:
        return Hands(self.job, self.lease, lambda: list(self.pods), self.kill)


def arguments(pod: str = "", *, force: bool = False) -> argparse.Namespace:
    return argparse.Namespace(job="demo", subjob="keep", pod=pod, force=force)


def test_a_failover_prints_its_cost_and_then_the_new_primary(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster()
    assert failover(cluster.hands, arguments()) == 0
    assert capsys.readouterr().out.splitlines() == [
        "keep without demo-keep-0: replays 40 tuples, about 0.2 s; loses nothing",
        "demo-keep-0 writes no more; demo-keep-1 leads keep with epoch 4",
    ]


def test_a_failover_of_an_unprotected_subjob_must_be_forced(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster(protected=False)
    assert failover(cluster.hands, arguments()) == 1
    assert "refused: no standby" in capsys.readouterr().out
    assert "demo-keep-0" in cluster.pods
    assert failover(cluster.hands, arguments(force=True)) == 0


def test_a_standby_is_fenced_and_the_primary_stays(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster()
    assert fence(cluster.hands, arguments("demo-keep-1")) == 0
    assert cluster.pods == ["demo-keep-0"]
    assert "demo-keep-1 writes no more; demo-keep-0 leads keep with epoch 3" in capsys.readouterr().out


def test_a_replica_is_fenced_by_the_next_epoch_only() -> None:
    assert fence(Cluster(mode="replicaBackup").hands, arguments("demo-keep-1")) == 0
    cluster = Cluster(mode="replicaBackup")
    deaf = Hands(cluster.job, cluster.lease, lambda: list(cluster.pods), cluster.pods.remove, patience=0.1)
    assert fence(deaf, arguments("demo-keep-1")) == 1


def test_the_holder_of_the_lease_is_not_fenced_unless_forced(capsys: pytest.CaptureFixture[str]) -> None:
    cluster = Cluster()
    assert fence(cluster.hands, arguments("demo-keep-0")) == 1
    assert "switchover" in capsys.readouterr().out
    assert fence(cluster.hands, arguments("demo-keep-0", force=True)) == 0
    assert (cluster.holder, cluster.epoch) == ("demo-keep-1", 4)


def test_an_instance_of_another_subjob_is_not_fenced() -> None:
    cluster = Cluster()
    assert fence(cluster.hands, arguments("demo-sink-out", force=True)) == 1
    assert len(cluster.pods) == 2
