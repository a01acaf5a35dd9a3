"""Status pages as busy processes show them: every figure that a page can have is there."""

from __future__ import annotations

from understudy.protocol.statuspage import (
    Activity,
    Batches,
    Checkpoint,
    Consumer,
    Cost,
    Engine,
    Input,
    InstancePage,
    Loss,
    Queue,
    Role,
    Sent,
    SinkPage,
    State,
    TakeOver,
)

PRIMARY = InstancePage(
    job="two",
    subjob="beats",
    instance="two-beats-1",
    role=Role.PRIMARY,
    epoch=2,
    mode="passiveStandby",
    state=State.READY,
    protected=True,
    secondary="two-beats-2",
    inputs={"ecg": Input(1_200, 1_250), "pressure": Input(70, 70)},
    outputs={
        "beats": Queue(
            trimmed=80,
            next=113,
            bytes=5_120,
            on_disk=1_024,
            full=True,
            consumers={"sink/alerts": Consumer(110, 80, 3, 240), "correlate": Consumer(113, 113, 0, 0)},
        )
    },
    checkpoint=Checkpoint(17, at_ms=1_760_000_000_500),
    sent=Sent(checkpoint_bytes=20_480, ack_bytes=512),
    if_it_failed_now=Cost(50, 0.2, 0),
    batches=Batches(210, 96),
    engine=Engine(Activity.WORKING, quiet_ms=40, timeout_ms=3_000),
    take_over=TakeOver(
        gone="two-beats-0", cause="no keep-alive for 300 ms", promoted=1_760_000_000_000, recovery_ms=310
    ),
    losses=(Loss("ecg", 100, 160),),
    latencies={"10.191.2.7": 0.41},
)

STANDBY = InstancePage(
    job="two",
    subjob="beats",
    instance="two-beats-2",
    role=Role.STANDBY,
    epoch=2,
    mode="passiveStandby",
    state=State.STALLED,
    inputs={"ecg": Input(1_200, 1_250)},
    outputs={"beats": Queue(80, 113)},
    checkpoint=Checkpoint(17, bytes=9_000),
    engine=Engine(Activity.STALLED, "the JVM did not answer for 3.1 s", quiet_ms=3_100, timeout_ms=3_000),
    overload="memory is used up to 97 %",
)

SINK = SinkPage(
    job="two",
    sink="alerts",
    state=State.STALLED,
    stalled="a sync has not ended for 12 s",
    tuples=812,
    next=812,
    lost=4,
    quiet_ms=12,
    lag=40,
    lag_ms=1_200,
)
