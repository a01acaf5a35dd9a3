"""What a run shows while it runs."""

from __future__ import annotations

import io

from rich.console import Console

from tests.local.test_decide import SINK, running, says, seen, subjob
from understudy.cli.live import LINE_SECONDS, Lines, _table
from understudy.local.run.observed import Observed
from understudy.protocol.statuspage import Consumer, Queue, Role, State


def behind(tuples: int, milliseconds: int) -> Observed:
    consumers = {"sink/alerts": Consumer(5, 5, tuples, milliseconds)}
    outputs = {"beats": Queue(next=9, consumers=consumers)}
    primary = says(seen(subjob("beats", 0)), role=Role.PRIMARY, outputs=outputs)
    return running(seen(SINK), primary)


def shown(observed: Observed) -> str:
    text = io.StringIO()
    Console(file=text, width=200).print(_table(observed, {"alerts": 812}))
    return text.getvalue()


def lines(observed: Observed) -> str:
    text = io.StringIO()
    told = Lines(Console(file=text, width=200))
    told._said -= LINE_SECONDS
    told.watch(observed, {"alerts": 812})
    return text.getvalue()


def test_the_live_table_shows_by_how_much_a_sink_is_behind() -> None:
    assert "40,000 tuples, 3.2 s" in shown(behind(40_000, 3_200))


def test_the_lines_of_a_run_without_a_terminal_show_it_too() -> None:
    assert "alerts 812 tuples, behind by 40,000 tuples, 3.2 s" in lines(behind(40_000, 3_200))


def test_the_lines_say_of_a_primary_that_stands_still_that_it_does() -> None:
    well = says(seen(subjob("beats", 0)), role=Role.PRIMARY, epoch=1, protected=True)
    assert "beats-0 epoch 1 protected" in lines(running(well))
    hung = says(well, state=State.STALLED)
    assert "beats-0 stalled, epoch 1 protected" in lines(running(hung))


def test_a_sink_that_has_every_tuple_is_not_behind() -> None:
    assert "behind" not in lines(behind(0, 0))


def test_a_producer_that_no_longer_leads_says_nothing_about_the_lag() -> None:
    dead = seen(subjob("beats", 0), exit_code=-9, page=behind(7, 1).seen[1].page)
    assert running(seen(SINK), dead).lag("alerts") is None
