"""The report says what happened, in the words that users and outside checks know."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from math import inf

from tests.local.records import FAULT, JOB, START, STORY, instance, record
from understudy.local.report.arrivals import Arrival
from understudy.local.report.comparison import Comparison, compare
from understudy.local.report.fault_effects import incidents_of
from understudy.local.report.finish import Telling
from understudy.local.report.page import render
from understudy.local.report.record import Death, Record, Stall
from understudy.local.report.report import Report, arrived_at, record_to_json, too_late
from understudy.local.report.verdicts import Verdict
from understudy.local.run.fault_plan import Fault, Target
from understudy.local.run.intents import Finish
from understudy.local.run.members import Kind, Process
from understudy.local.run.observed import Done
from understudy.model.ha import Guarantee
from understudy.model.job import StreamJob, Subjob
from understudy.protocol.statuspage import Activity, Engine, InstancePage, Role

PRECISE = compare(range(2_000), range(2_000))


def report(of: Record | None = None, comparison: Comparison | None = PRECISE) -> Report:
    of = of or record()
    return Report(JOB, of, incidents_of(of, JOB), {"alerts": comparison} if comparison else {})


def test_the_report_has_the_fields_that_are_checked_from_outside() -> None:
    assert report().to_json() == {
        "job": "two",
        "sinks": {
            "alerts": {
                "tuples": 2000,
                "lost": 0,
                "duplicated": 0,
                "reordered": 0,
                "recovery": "precise",
                "lag": {"most": {"tuples": 300, "seconds": 3.2}, "last": {"tuples": 0, "seconds": 0.0}},
            }
        },
        "incidents": [
            {
                "subjob": "beats",
                "mode": "passiveStandby",
                "cause": "primary killed (SIGKILL)",
                "detectedMs": 12,
                "promotedMs": 21,
                "firstOutputMs": 310,
                "caughtUpMs": 480,
                "recoveryMs": 360,
                "replayed": 40,
                "lost": 0,
                "duplicated": 0,
            }
        ],
        "migrations": [],
        "subjobs": {
            "strong": {"mode": "passiveStandby", "operatorClass": "repeatable", "guarantee": "precise"},
            "beats": {"mode": "passiveStandby", "operatorClass": "convergent", "guarantee": "precise"},
        },
    }


def test_a_sink_that_was_not_compared_says_nothing_about_losses() -> None:
    found = report(comparison=None).to_json()["sinks"]["alerts"]
    compared = {"lost": None, "duplicated": None, "reordered": None, "recovery": None}
    assert found.pop("lag") is not None
    assert found == {"tuples": 1998, **compared}


def test_a_sink_with_an_unknown_lag_shows_none() -> None:
    assert report(replace(record(), lags={})).to_json()["sinks"]["alerts"]["lag"] is None


def test_a_killed_standby_is_an_incident_without_a_take_over() -> None:
    of = record()
    of.done = [Done(Fault("beats", Target.STANDBY, 20_000), Process(Kind.SUBJOB, "beats", 1), FAULT + 5_000)]
    of.noticed_ms = {Process(Kind.SUBJOB, "beats", 1): FAULT + 5_030}
    of.takeovers = {}
    (incident,) = report(of).to_json()["incidents"]
    assert (incident["cause"], incident["detectedMs"], incident["promotedMs"]) == (
        "standby killed (SIGKILL)",
        30,
        None,
    )


def test_without_a_standby_the_supervisor_detects_the_failure() -> None:
    of = record()
    of.done = [replace(of.done[0], had_standby=False)]
    of.takeovers = {(instance(1), 2): replace(STORY, detected=FAULT + 12_000)}
    assert report(of).to_json()["incidents"][0]["detectedMs"] == 30


def test_a_process_that_died_by_itself_is_an_incident() -> None:
    of = record()
    of.done, of.deaths = [], [Death(Process(Kind.SUBJOB, "beats", 0), FAULT, 1, had_standby=True)]
    assert report(of).to_json()["incidents"][0]["cause"] == "process ended by itself (exit code 1)"


def test_a_take_over_from_a_living_instance_is_a_false_suspicion() -> None:
    of = record()
    earlier = replace(
        STORY,
        cause="no keep-alive for 300 ms",
        detected=FAULT - 9_988,
        promoted=FAULT - 9_979,
        restored=FAULT - 9_965,
        first_output=FAULT - 9_690,
        caught_up=FAULT - 9_520,
    )
    of.takeovers = {(instance(1), 2): earlier, (instance(1), 4): STORY}
    false, real = report(of).to_json()["incidents"]
    assert (false["cause"], false["detectedMs"], false["promotedMs"]) == (
        "false suspicion (no keep-alive for 300 ms)",
        0,
        9,
    )
    assert real["cause"] == "primary killed (SIGKILL)"
    assert real["promotedMs"] == 21


def test_an_engine_that_stood_still_is_no_false_suspicion_and_no_death_of_its_own() -> None:
    """The standby took over first; the process that hung ended a moment later."""
    beats, why = Process(Kind.SUBJOB, "beats", 0), "the JVM did not answer for 3.1 s"
    told = Engine(Activity.STALLED, why, FAULT, 3_400, 3_000)
    hung = replace(
        record(),
        done=[],
        deaths=[Death(beats, FAULT + 3_600, 1, had_standby=True)],
        noticed_ms={beats: FAULT + 3_600},
        last={
            "beats-0": InstancePage(role=Role.STANDBY, engine=told),
            "beats-1": InstancePage(role=Role.PRIMARY),
        },
    )
    (incident,) = incidents_of(hung, JOB)
    assert incident.cause == f"its engine stood still: {why}"
    assert (incident.at_ms, incident.victim, incident.successor) == (FAULT, "beats-0", "beats-1")
    assert incident.role == "primary"
    assert incident.first_output_ms == 310


def test_a_sink_that_stood_still_is_an_incident_until_it_writes_again() -> None:
    why = "a sync of part-00000.jsonl did not end within 10 s"
    stalled = replace(record(), stalls={Process(Kind.SINK, "alerts", 0): Stall(START + 20_000, why)})
    incident = incidents_of(stalled, JOB)[-1]
    assert (incident.subjob, incident.role, incident.victim) == ("beats", "sink", "sink-alerts")
    assert incident.cause == f"the disk of sink alerts stood still: {why}"
    assert incident.first_output_ms is not None
    assert 0 < incident.first_output_ms <= 160
    assert report(of=stalled).to_json()["incidents"][-1]["lost"] == 0


def test_a_take_over_belongs_to_the_last_fault_before_it() -> None:
    of = record()
    stop = replace(of.done[0], fault=Fault("beats", Target.PRIMARY, 9_000, stop_ms=150), at_ms=FAULT - 6_000)
    of.done = [stop, *of.done]
    short, killed = report(of).to_json()["incidents"]
    assert short["cause"] == "primary stopped for 0.15 s (SIGSTOP)"
    assert (short["detectedMs"], short["promotedMs"]) == (None, None)
    assert (killed["cause"], killed["promotedMs"]) == ("primary killed (SIGKILL)", 21)


def test_protection_comes_back_after_it_was_lost() -> None:
    assert incidents_of(record(), JOB)[0].reprotected_ms == 14_000


def test_duplicates_are_blamed_on_the_incident_before_them() -> None:
    of = record()
    again = replace(of.done[0], at_ms=FAULT + 10_000, victim=Process(Kind.SUBJOB, "beats", 1))
    of.done = [*of.done, again]
    first = next(n for n, a in enumerate(of.arrivals["alerts"]) if a.at_ms > FAULT)
    place = of.arrivals["alerts"][first].tuples
    repeated = replace(PRECISE, duplicated=2, surplus=(place, place + 1))
    assert [i["duplicated"] for i in report(of, repeated).to_json()["incidents"]] == [2, 0]


def test_losses_are_blamed_on_the_incident_before_the_first_tuple_after_them() -> None:
    of = record()
    first = next(n for n, a in enumerate(of.arrivals["alerts"]) if a.at_ms > FAULT)
    place = of.arrivals["alerts"][first - 1].tuples
    gap = compare(range(2_000), [n for n in range(2_000) if not place <= n < place + 30])
    assert gap.holes == ((place, 30),)
    found = report(of, gap).to_json()
    assert (found["sinks"]["alerts"]["lost"], found["incidents"][0]["lost"]) == (30, 30)


def test_a_stream_that_was_cut_short_is_blamed_on_the_incident_that_says_so() -> None:
    of = record()
    killed = replace(of.done[0], at_ms=FAULT + 10_000, victim=Process(Kind.SUBJOB, "beats", 1))
    again = replace(of.done[0], at_ms=FAULT + 20_000, victim=Process(Kind.SUBJOB, "beats", 2))
    of.done = [*of.done, killed, again]
    later = replace(STORY, gone="beats-1", lost=3, promoted=FAULT + 15_000)
    of.takeovers = {**of.takeovers, (instance(2), 3): later}
    cut = compare(range(2_100), range(1_998))
    assert [i["lost"] for i in report(of, cut).to_json()["incidents"]] == [0, 102, 0]


def test_without_a_comparison_the_new_primary_says_what_was_lost() -> None:
    of = record()
    of.takeovers = {(instance(1), 2): replace(STORY, lost=7)}
    assert report(of, None).to_json()["incidents"][0]["lost"] == 7


def test_the_arrival_of_a_tuple_is_the_time_of_its_file() -> None:
    arrivals = [Arrival(100, 3), Arrival(200, 5)]
    assert [arrived_at(arrivals, place) for place in (0, 2, 3, 4, 5)] == [100, 100, 200, 200, inf]


def test_the_record_says_whether_the_run_was_complete() -> None:
    found = record_to_json(record(), [])
    assert (found["complete"], found["startedMs"]) == (True, START)


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "rect", "line"):
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect", "line"):
            assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_else() -> None:
    text = render(report())
    page = Reader()
    page.feed(text)
    assert page.open == []
    assert page.links == []
    assert "http" not in text
    assert "beats-1 took over" in text
    assert "precise, all 2,000 tuples" in text


def test_a_recovery_that_took_longer_than_it_may_is_a_promise_that_was_not_kept() -> None:
    for limit, kept in ((timedelta(milliseconds=300), False), (timedelta(milliseconds=400), True)):
        late = Report(with_limit(limit), record(), incidents_of(record(), JOB), {"alerts": PRECISE})
        verdict = Verdict(Guarantee.PRECISE, PRECISE)
        assert Telling(late, {"alerts": verdict}).kept is kept
        assert ("Every promise was kept" in render(late)) is kept
    said = "beats had no output for 360 ms after beats-0 was lost; its maxRecovery is 300 ms"
    assert too_late(record(), incidents_of(record(), JOB), with_limit(timedelta(milliseconds=300))) == [said]


def test_an_output_that_never_came_back_is_counted_to_the_end_of_the_run() -> None:
    of = record()
    of.takeovers, of.outcome = {}, Finish("asked to stop", complete=False)
    (sentence,) = too_late(of, incidents_of(of, JOB), with_limit(timedelta(seconds=5)))
    assert "no output in the 26000 ms between the loss of beats-0 and the end" in sentence


def with_limit(limit: timedelta) -> StreamJob:
    """The job, with a `maxRecovery` for beats."""

    def limited(subjob: Subjob) -> Subjob:
        return subjob.model_copy(update={"ha": subjob.ha.model_copy(update={"max_recovery": limit})})

    return JOB.model_copy(
        update={"subjobs": tuple(limited(s) if s.name == "beats" else s for s in JOB.subjobs)}
    )


def test_a_page_can_be_made_of_a_run_that_never_began() -> None:
    assert "</html>" in render(report(Record(began_ms=START, ended_ms=START + 10), comparison=None))


def test_the_report_names_a_subjob_that_needs_attention() -> None:
    of = record()
    of.degraded["beats"] = "beats was OOM-killed 2 times at the same place"
    subjobs = report(of).to_json()["subjobs"]
    assert [name for name, told in subjobs.items() if "degraded" in told] == ["beats"]
    assert subjobs["beats"]["degraded"] == of.degraded["beats"]
