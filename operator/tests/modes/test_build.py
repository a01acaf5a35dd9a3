"""Which core a manifest gets, wired as it says."""

from __future__ import annotations

import pytest

from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.modes.active_standby import ActiveStandby
from understudy.modes.amnesia import Amnesia
from understudy.modes.build import decided, instance_of, sink_consumer, wiring_of
from understudy.modes.instance import Instance
from understudy.modes.logged_backup import LoggedBackup
from understudy.modes.passive_standby import PassiveStandby
from understudy.modes.replica_backup import ReplicaBackup
from understudy.modes.savepoint import SavepointMode
from understudy.modes.synchronized_backup import SynchronizedBackup
from understudy.modes.upstream_backup import UpstreamBackup
from understudy.protocol.ids import Consumer, Stream

UNION, FILTER, CHANCE = "{union: {}}", '{filter: {where: "k > 0"}}', '{map: {select: {z: "randn()"}}}'
JOB = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: built}
spec:
  sources:
    - {name: odd, generator: {rate: 60, fields: {k: "_seq * 2 + 1"}}}
    - {name: even, generator: {rate: 40, fields: {k: "_seq * 2"}}}
  subjobs:
    - {name: it, inputs: INPUTS, operators: [OPERATOR], ha: HA}
    - {name: next, inputs: [it], operators: [{map: {select: {one: "1"}}}], ha: {mode: amnesia}}
  sinks:
    - {name: it, input: it, files: {path: out/it}}
    - {name: end, input: next, files: {path: out/end}}
"""


def job_of(operator: str, ha: str) -> StreamJob:
    inputs = "[odd, even]" if operator == UNION else "[odd]"
    found = load(JOB.replace("INPUTS", inputs).replace("OPERATOR", operator).replace("HA", ha))
    assert isinstance(found, StreamJob), found
    return found


def built(operator: str, ha: str) -> Instance:
    job = job_of(operator, ha)
    return instance_of(job, job.subjobs[0], "it-0")


@pytest.mark.parametrize(
    ("operator", "ha", "core", "expected"),
    [
        (FILTER, "{mode: amnesia, guarantee: gap}", Amnesia, {}),
        (FILTER, "{mode: passiveStandby}", PassiveStandby, {"hold_back": False}),
        (UNION, "{mode: passiveStandby}", PassiveStandby, {"hold_back": True}),
        (FILTER, "{checkpoint: {backups: synchronized}}", SynchronizedBackup, {"extended": False}),
        (FILTER, "{checkpoint: {backups: extended}}", SynchronizedBackup, {"extended": True}),
        (FILTER, "{mode: activeStandby}", ActiveStandby, {"exact": True, "determinants": False}),
        (
            UNION,
            "{mode: activeStandby, guarantee: precise}",
            ActiveStandby,
            {"exact": True, "determinants": True},
        ),
        (
            CHANCE,
            "{mode: activeStandby, guarantee: rollback}",
            ActiveStandby,
            {"exact": False, "determinants": False},
        ),
        (FILTER, "{mode: replicaBackup}", ReplicaBackup, {}),
        (FILTER, "{mode: upstreamBackup, guarantee: precise}", UpstreamBackup, {"forward": True}),
        (UNION, "{mode: upstreamBackup, guarantee: precise}", LoggedBackup, {}),
        (CHANCE, "{mode: upstreamBackup, guarantee: rollback}", UpstreamBackup, {"forward": False}),
        (FILTER, "{mode: savepoint}", SavepointMode, {}),
    ],
)
def test_a_mode_and_a_query_make_a_core(
    operator: str, ha: str, core: type[Instance], expected: dict[str, bool]
) -> None:
    found = built(operator, ha)
    assert type(found) is core
    assert {name: getattr(found, name) for name in expected} == expected


def test_readers_are_subjobs_and_sinks_of_the_same_stream() -> None:
    job = job_of(FILTER, "{mode: amnesia, guarantee: gap}")
    wiring = wiring_of(job, job.subjobs[0])
    assert wiring.consumers == {"it": (Consumer("next"), sink_consumer("it"))}
    assert (wiring.entering, wiring.external) == ((Stream("odd"),), ())
    assert wiring_of(job, job.subjobs[1]).external == (Stream("it"),)


def test_auto_is_decided_and_another_mode_is_left_as_it_is() -> None:
    auto, named = job_of(FILTER, "{mode: auto}"), job_of(FILTER, "{mode: savepoint}")
    assert decided(auto, auto.subjobs[0]).ha.mode is not auto.subjobs[0].ha.mode
    assert decided(named, named.subjobs[0]).ha.mode is named.subjobs[0].ha.mode
