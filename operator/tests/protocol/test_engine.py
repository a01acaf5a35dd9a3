"""What counts as an engine that stands still, look by look."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pytest

from understudy.protocol.engine import (
    HELD_MS,
    JVM,
    LONGEST_MS,
    PATIENCE,
    SHOWN_MS,
    EngineWatch,
    Signs,
    Stand,
    default_timeout,
    leaves,
    longest,
    not_started,
)
from understudy.protocol.ids import Millis

TIMEOUT = 3_000
LOOK = 100
ADVICE = "if it may take so long, raise ha.engineTimeout"


@dataclass(slots=True)
class Engine:
    """An engine in virtual time, looked at ten times a second."""

    watch: EngineWatch
    now: int = 0
    answers: int = 0
    steps: int = 0
    ran: float = 0
    waited: float = 0
    tasks: int = 0
    """That run on executors now."""
    stopped: str | None = None
    """A process that is stopped now."""
    begun: int = 1
    """Micro-batches of `beats`, which takes ten a second if it is said to begin them."""
    others: int = 0
    """The same of another element, `peaks`."""

    def run(
        self,
        seconds: float,
        *,
        answers: bool = True,
        steps: bool = True,
        idle: bool = False,
        load: float = 0.3,
        starved: float = 0,
        begins: bool = False,
        others: bool = False,
    ) -> Engine:
        for _ in range(round(seconds * 1000 / LOOK)):
            self.now += LOOK
            self.answers += answers
            self.steps += steps
            self.begun += begins
            self.others += others
            self.ran += load * LOOK
            self.waited += starved * LOOK
            self.look(idle)
        return self

    def look(self, idle: bool = False) -> None:
        waits = frozenset({"beats"}) if idle else frozenset()
        counts = {JVM: self.answers, "beats": self.steps, "peaks": self.now}
        batches = {"beats": self.begun, "peaks": self.others}
        signs = Signs(counts, waits, round(self.ran), batches, round(self.waited), self.tasks, self.stopped)
        self.watch = self.watch.look(Millis(self.now), signs, TIMEOUT)

    def sleep(self, seconds: float) -> Engine:
        """Neither the engine nor the watch runs."""
        self.now += round(seconds * 1000)
        return self


def engine(remote: bool = False) -> Engine:
    return Engine(EngineWatch(remote=remote)).run(5)


def test_an_engine_that_gives_signs_of_life_is_well() -> None:
    assert engine().run(60).watch.stalled is None


def test_a_jvm_that_stops_is_stalled_after_the_timeout_and_not_before() -> None:
    stopped = engine().run(2.9, answers=False, steps=False, load=0)
    assert stopped.watch.stalled is None
    assert (
        stopped.run(0.2, answers=False, steps=False, load=0).watch.stalled
        == "the JVM did not answer for 3.1 s"
    )


def test_a_query_that_makes_no_step_is_stalled_though_the_jvm_answers() -> None:
    """A stopped Python worker, a dead lock."""
    stuck = engine().run(3.1, steps=False, load=0.01)
    assert stuck.watch.stalled == f"the query of beats made no step for 3.1 s; {ADVICE}"


def test_a_long_micro_batch_that_uses_the_processor_is_no_hang() -> None:
    assert engine().run(LONGEST_MS / 1000, steps=False, load=0.2).watch.stalled is None


def test_a_micro_batch_that_is_at_work_for_longer_than_any_before_it_is_an_endless_loop() -> None:
    looping = engine().run(LONGEST_MS / 1000 + 0.2, steps=False, load=1)
    assert (
        looping.watch.stalled
        == f"the query of beats made no step for 600.1 s, though it is at work; {ADVICE}"
    )


@pytest.mark.parametrize(
    ("median", "timeout", "limit"),
    [(None, 3_000, 600_000), (400, 8_000, 600_000), (5_000, 100_000, 5_000_000), (40, 90_000, 900_000)],
)
def test_how_long_a_query_may_be_at_work_follows_its_history_and_the_timeout(
    median: float | None, timeout: int, limit: int
) -> None:
    assert longest(median, timeout) == limit


def test_a_query_whose_neighbours_use_the_processor_is_given_ten_timeouts() -> None:
    """Nobody can tell whose work it is: it may be a long micro-batch, or it hangs while the others go on."""
    limit = PATIENCE * TIMEOUT / 1000
    quiet = engine().run(limit - 0.5, steps=False, others=True, load=0.5)
    assert quiet.watch.stalled is None
    assert "and the others went on" in str(quiet.run(1, steps=False, others=True, load=0.5).watch.stalled)


def test_an_engine_that_does_not_get_the_processor_is_no_hang() -> None:
    assert engine().run(600, answers=False, steps=False, load=0.01, starved=0.9).run(1).watch.stalled is None


def test_a_query_that_waits_for_a_plan_or_for_room_has_nothing_to_do() -> None:
    assert engine().run(600, steps=False, idle=True, load=0).watch.stalled is None


def test_a_jvm_that_does_not_answer_for_very_long_is_stalled_though_it_uses_the_processor() -> None:
    limit = PATIENCE * TIMEOUT / 1000
    busy = engine().run(limit - 0.5, answers=False, steps=False, idle=True, load=1)
    assert busy.watch.stalled is None
    assert "though it uses the processor" in str(busy.run(1, answers=False, idle=True, load=1).watch.stalled)


@pytest.mark.parametrize("load", [0.001, 0.005, 0.01, 0.02, 0.04])
def test_a_query_with_executors_that_runs_no_task_is_stalled_after_ten_timeouts(load: float) -> None:
    """Whatever its driver does meanwhile: it hears of its executors, and is asked whether it lives."""
    away = engine(remote=True).run(29, steps=False, load=load)
    assert away.watch.stalled is None
    assert away.run(2, steps=False, load=load).watch.stalled is not None


def test_a_driver_with_executors_that_is_at_work_itself_is_no_hang() -> None:
    assert engine(remote=True).run(300, steps=False, load=0.06).watch.stalled is None


def test_a_task_on_an_executor_may_take_ten_minutes_beside_an_idle_driver() -> None:
    away = engine(remote=True)
    away.tasks = 1
    assert away.run(LONGEST_MS / 1000, steps=False, load=0.001).watch.stalled is None
    assert "though it is at work" in str(away.run(1, steps=False, load=0.001).watch.stalled)


def test_a_jvm_that_stops_while_tasks_run_on_its_executors_is_stalled_after_the_timeout() -> None:
    stopped = engine(remote=True)
    stopped.tasks = 1
    assert (
        stopped.run(3.1, answers=False, steps=False, load=0).watch.stalled
        == "the JVM did not answer for 3.1 s"
    )


@pytest.mark.parametrize("does", [{"idle": True}, {"others": True, "load": 1}, {"starved": 1}, {}])
def test_a_worker_that_is_stopped_is_a_stalled_engine_whatever_the_others_do(does: dict[str, float]) -> None:
    worker = engine()
    worker.stopped = "python3 (process 77)"
    assert worker.run(2.9, steps=False, **does).watch.stalled is None  # type: ignore[arg-type]
    why = worker.run(0.3, steps=False, **does).watch.stalled  # type: ignore[arg-type]
    assert why == "python3 (process 77) has been stopped for 3.1 s"
    assert worker.watch.quiet_ms >= 3_000


def test_an_engine_that_does_not_miss_the_stopped_worker_goes_on() -> None:
    worker = engine()
    worker.stopped = "python3 (process 77)"
    assert worker.run(60, begins=True, others=True).watch.stalled is None
    assert worker.watch.quiet_ms < LOOK
    assert worker.run(3.2, steps=False, others=True).watch.stalled is not None


def test_a_worker_that_goes_on_in_time_was_not_stopped() -> None:
    worker = engine()
    for _ in range(5):
        worker.stopped = "python3 (process 77)"
        worker.run(2.9, idle=True)
        worker.stopped = None
        assert worker.run(0.1, idle=True).watch.stalled is None


def test_a_watch_that_was_stopped_with_the_workers_does_not_count_that_time() -> None:
    worker = engine()
    worker.stopped = "python3 (process 77)"
    assert worker.run(1, idle=True).sleep(60).run(1, idle=True).watch.stalled is None


def test_time_in_which_the_watch_did_not_run_is_no_silence() -> None:
    paused = engine().run(1, answers=False, steps=False, load=0).sleep(60)
    paused.look()
    assert paused.watch.stalled is None
    assert paused.run(0.5, answers=False, steps=False, load=0).run(1).watch.stalled is None


def test_an_engine_that_goes_on_is_well_again() -> None:
    assert engine().run(5, answers=False, steps=False, load=0).run(0.2).watch.stalled is None


@pytest.mark.parametrize(("median", "timeout"), [(None, 3_000), (40, 3_000), (151, 3_020), (5_000, 100_000)])
def test_the_default_timeout_follows_the_median_micro_batch(median: float | None, timeout: int) -> None:
    assert default_timeout(median) == timeout


def _moments(stand: Stand) -> Iterable[bool]:
    return [leaves(stand, stalled_ms, 2_000) for stalled_ms in (0, SHOWN_MS, 2_000, HELD_MS)]


@pytest.mark.parametrize(
    ("stand", "when_shown", "after_grace"),
    [
        (Stand(leads=True, covered=True, needed=True), False, True),
        (Stand(leads=False, covered=True, needed=True), True, True),
        (Stand(leads=True, covered=False, needed=True), False, False),
        (Stand(leads=False, covered=False, needed=True), False, False),
        (Stand(leads=True, covered=False, needed=False), True, True),
    ],
)
def test_a_stalled_instance_leaves_when_its_state_is_safe(
    stand: Stand, when_shown: bool, after_grace: bool
) -> None:
    assert _moments(stand) == [False, when_shown, after_grace, True]


def test_the_sentence_stays_as_it_was_when_the_stall_was_noticed() -> None:
    stopped = engine().run(3.2, answers=False, steps=False, load=0)
    noticed = stopped.watch.stalled
    assert noticed is not None
    assert stopped.run(30, answers=False, steps=False, load=0).watch.stalled == noticed
    assert stopped.watch.quiet_ms > 30_000


def test_where_nobody_looks_whether_the_processor_was_wanted_only_its_use_counts() -> None:
    watch = EngineWatch()
    for now in range(0, TIMEOUT + 2 * LOOK, LOOK):
        watch = watch.look(Millis(now), Signs({JVM: 1}), TIMEOUT)
    assert watch.stalled == "the JVM did not answer for 3.1 s"


def test_time_in_which_the_engine_waited_counts_from_when_it_was_first_measured() -> None:
    """Whoever waits for the processor most of the time is at work. What it waited before does not count."""
    watch = EngineWatch().look(Millis(0), Signs({JVM: 1}), TIMEOUT)
    for now in range(LOOK, TIMEOUT + 2 * LOOK, LOOK):
        watch = watch.look(Millis(now), Signs({JVM: 1}, waited_ms=50_000), TIMEOUT)
    assert watch.stalled == "the JVM did not answer for 3.1 s"


def test_the_first_of_two_reasons_is_said() -> None:
    """The JVM does not answer, and a worker is stopped."""
    stopped = engine()
    stopped.stopped = "a Python worker (process 7)"
    assert (
        stopped.run(3.1, answers=False, steps=False, load=0).watch.stalled
        == "the JVM did not answer for 3.1 s"
    )


def test_the_jvm_of_a_subjob_with_executors_has_one_timeout() -> None:
    assert engine(remote=True).run(3.1, answers=False, load=0).watch.stalled is not None


def test_the_work_of_a_query_itself_is_not_that_of_its_neighbours() -> None:
    """It begins micro-batches and makes no step: whatever that is, nobody else uses the processor."""
    assert (
        engine().run(PATIENCE * TIMEOUT / 1000 + 1, steps=False, begins=True, load=0.5).watch.stalled is None
    )


@pytest.mark.parametrize(("age_ms", "late"), [(299_999, False), (300_000, False), (300_001, True)])
def test_an_engine_that_has_not_started_is_given_five_minutes(age_ms: int, late: bool) -> None:
    assert (not_started(age_ms) == "Spark did not start within 300 s") is late


def test_an_engine_that_uses_less_processor_time_than_before_is_a_new_one_and_is_given_time() -> None:
    watch = EngineWatch().look(Millis(0), Signs({JVM: 1}, ran_ms=9_000), TIMEOUT)
    for now in range(LOOK, TIMEOUT + 2 * LOOK, LOOK):
        watch = watch.look(Millis(now), Signs({JVM: 1}, ran_ms=0), TIMEOUT)
    assert watch.stalled is None
