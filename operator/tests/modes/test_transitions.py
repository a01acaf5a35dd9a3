"""The tables of transitions: what they hold, and what happens to a pair that they do not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from tests.modes.test_passive_standby_roles import UP, instance, lease, primary
from understudy.modes import moving
from understudy.modes.amnesia import Amnesia
from understudy.modes.instance import Instance
from understudy.modes.moving import Phase
from understudy.modes.transition_tables import OWN, transition_files
from understudy.modes.transitions import SHOWN, Ignored, Impossible, State, Table, ignored, row
from understudy.protocol import events as on
from understudy.protocol.commands import Commands
from understudy.protocol.events import Event
from understudy.protocol.ids import Epoch, Millis, Range, Seq

EVENTS: tuple[type[Any], ...] = get_args(Event)
MODES = [Amnesia, *(mode for _, mode in OWN)]
NOT_ASKED = {on.Started, on.RecoveryInformation}
READS_NOTHING = {on.Arrived, on.Processed, on.Redirected, on.Released, on.Resumes}
"""What an instance hears of its own engine and its own readers: at a standby there are none."""


def absent(mode: type[Instance], state: State) -> set[type[Any]]:
    return {event for event in EVENTS if (state, event) not in mode.TRANSITIONS}


@pytest.mark.parametrize("mode", MODES)
def test_only_what_nobody_can_say_is_absent(mode: type[Instance]) -> None:
    """Whatever another process says has an entry, in whichever mode that process is."""
    assert absent(mode, State.PRIMARY) <= NOT_ASKED
    assert absent(mode, State.STANDBY) <= NOT_ASKED | READS_NOTHING | {on.Paused}
    for state in {state for state, _ in mode.TRANSITIONS} - {State.PRIMARY, State.STANDBY}:
        assert absent(mode, state) <= NOT_ASKED | {on.Paused}


def test_the_table_of_moves_is_complete() -> None:
    events = {event for _, event in moving.TRANSITIONS}
    assert {(phase, event) for phase in Phase for event in events} == set(moving.TRANSITIONS)


@pytest.mark.parametrize("mode", [*MODES, moving])
def test_every_entry_says_in_words_what_it_does(mode: Any) -> None:
    for (state, event), answer in mode.TRANSITIONS.items():
        text = answer.why if isinstance(answer, Ignored) else answer.__doc__
        assert text, f"{state} {event}"


@pytest.mark.parametrize("mode", MODES)
def test_the_handler_in_the_table_is_the_one_that_runs(mode: type[Instance]) -> None:
    """Handlers are found by name; the table, and the page made of it, must not name another mode's."""
    for (state, event), answer in mode.TRANSITIONS.items():
        if not isinstance(answer, Ignored):
            assert getattr(mode, answer.__name__, answer) is answer, f"{state} {event}"


def test_an_event_that_cannot_happen_raises_with_what_led_to_it() -> None:
    found = primary()
    found.handle(on.Arrived(UP, Range(Seq(0), Seq(7)), Epoch(1)))
    with pytest.raises(Impossible) as raised:
        found.handle(on.Started(Epoch(3), fresh=True))
    assert (raised.value.name, raised.value.role, raised.value.epoch) == ("job-0", "primary", 1)
    for said in ("job-0", "primary", "epoch 1", "Started", "LeaseWon", "Arrived", "stop=7"):
        assert said in str(raised.value)


def test_the_story_has_the_last_twenty_events_and_of_ticks_in_a_row_one() -> None:
    found = instance("job-1")
    found.handle(on.LeaseSeen(lease("job-0", 1)))
    for number in range(30):
        found.handle(on.Tick(Millis(number)))
        found.handle(on.Tick(Millis(number)))
        found.handle(on.KeepAlive(Millis(number), Epoch(1)))
    with pytest.raises(Impossible) as raised:
        found.handle(on.Paused())
    told = raised.value.events
    assert len(told) == SHOWN == 20
    assert told[-3:] == (on.Tick(Millis(29)), on.KeepAlive(Millis(29), Epoch(1)), on.Paused())
    assert sum(isinstance(event, on.Tick) for event in told) == 9


def test_an_event_that_is_ignored_on_purpose_changes_nothing() -> None:
    found = instance("job-1")
    found.handle(on.LeaseSeen(lease("job-0", 1)))
    before = (found.role, found.epoch, found.ledger, found.lease)
    assert found.handle(on.BackupRequested(UP, Seq(7), Epoch(1))) == ()
    assert (found.role, found.epoch, found.ledger, found.lease) == before


def handler(_owner: Any, _event: Any) -> Commands:
    """Does it."""
    return ()


def other(_owner: Any, _event: Any) -> Commands:
    """Does something else."""
    return ()


def test_a_row_may_name_one_state_or_several() -> None:
    one, both = row(State.PRIMARY, on.Tick, handler), row((State.PRIMARY, State.STANDBY), on.Tick, handler)
    assert (one.states, both.states) == ((State.PRIMARY,), (State.PRIMARY, State.STANDBY))
    assert ignored(State.PRIMARY, "so", on.Tick).states == (State.PRIMARY,)
    assert ignored((State.PRIMARY, State.STANDBY), "so", on.Tick).states == (State.PRIMARY, State.STANDBY)


def test_a_table_keeps_the_rows_that_it_does_not_replace() -> None:
    base = Table(row(State.PRIMARY, on.Tick, handler), row(State.PRIMARY, on.Started, handler))
    found = base.extended(row(State.PRIMARY, on.Tick, other))
    assert dict(found) == {(State.PRIMARY, on.Tick): other, (State.PRIMARY, on.Started): handler}


def test_a_new_state_answers_like_the_one_that_it_is_made_of_and_like_no_other() -> None:
    base = Table(row(State.PRIMARY, on.Tick, handler), row(State.STANDBY, on.Tick, other))
    found = dict(base.with_state(State.RUNNING, State.STANDBY))
    assert found.pop((State.RUNNING, on.Tick)) is other
    assert found == dict(base)


def test_the_page_of_a_mode_shows_its_own_rows_only() -> None:
    (text,) = transition_files().values()
    assert text == (Path(__file__).parents[3] / "docs" / "modes" / "transitions.md").read_text()
