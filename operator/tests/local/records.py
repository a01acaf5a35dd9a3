"""A run as it might have been recorded: beats-0 killed at 15 s, beats-1 took over."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from tests.local.jobs import job
from understudy.local.effective import effective
from understudy.local.report.arrivals import Arrival
from understudy.local.report.record import Lags, Record
from understudy.local.run.fault_plan import Fault, Target
from understudy.local.run.intents import Finish
from understudy.local.run.members import Kind, Process
from understudy.local.run.observed import Done
from understudy.protocol.statuspage import InstancePage, Lag, Role, TakeOver

START = 1_760_000_000_000
FAULT = START + 15_000
JOB = effective(job(), timedelta(seconds=40), Path())

STORY = TakeOver(
    gone="beats-0",
    cause="its connection closed: the process is dead",
    detected=FAULT + 12,
    lease=FAULT + 20,
    promoted=FAULT + 21,
    restored=FAULT + 35,
    first_output=FAULT + 310,
    caught_up=FAULT + 480,
    recovery_ms=360,
    replayed=40,
)


def instance(number: int) -> Process:
    return Process(Kind.SUBJOB, "beats", number)


def record() -> Record:
    beats = instance(0)
    arrivals = [
        Arrival(START + ms, 1 + ms // 20) for ms in (*range(0, 15_000, 160), *range(15_310, 40_000, 160))
    ]
    return Record(
        began_ms=START - 40_000,
        started_ms=START,
        ended_ms=START + 41_000,
        outcome=Finish("every sink has written its stream to the end", complete=True),
        done=[Done(Fault("beats", Target.PRIMARY, 15_000), beats, FAULT, had_standby=True)],
        takeovers={(instance(1), 2): STORY},
        protections={"beats": [(START - 1_000, True), (FAULT + 50, False), (FAULT + 14_000, True)]},
        noticed_ms={beats: FAULT + 30},
        lags={"alerts": Lags(most=Lag(300, 3_200), last=Lag(0, 0))},
        arrivals={"alerts": arrivals},
        last={f"beats-{n}": InstancePage(role=Role.PRIMARY) for n in (0, 1)},
    )
