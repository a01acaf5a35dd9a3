"""Amnesia with a spare, between shells over real connections; only Spark is left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from understudy.model.ha import Ha

from .troupe import Player, Troupe, expected, until

SPARE = "{mode: amnesia, spare: true}"
PASSIVE = "{mode: passiveStandby, checkpoint: {interval: 100ms}}"


@pytest.fixture(params=[SPARE])
def troupe(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Troupe]:
    found = Troupe(request.param, tmp_path)
    yield found
    found.close()


def joined(troupe: Troupe, primary: Player, name: str) -> Player:
    standby = troupe.add(name)
    until(lambda: bool(primary.status()["protected"]))
    assert primary.status()["secondary"] == name
    return standby


def told(troupe: Troupe, **ha: object) -> None:
    """As the operator does: every instance of the first subjob."""
    subjob = troupe.job.subjob("first")
    assert subjob is not None
    wanted = Ha.model_validate({"heartbeat": subjob.ha.heartbeat, **ha})
    for name, player in troupe.players.items():
        if name.startswith("first-"):
            player.shell.changing.tell(wanted)


def killed(troupe: Troupe, name: str, successor: Player) -> None:
    troupe.remove(name)
    until(lambda: troupe.leader("first") == successor.name)
    troupe.flows()


def assert_none_twice(troupe: Troupe) -> None:
    rows = list(troupe.reader.rows)
    assert rows == sorted(set(rows))


def assert_right(troupe: Troupe) -> None:
    rows = list(troupe.reader.rows)
    assert rows == expected(len(rows))


def test_a_spare_takes_over_tells_the_loss_and_gets_a_spare_itself(troupe: Troupe) -> None:
    primary = troupe.players["first-0"]
    assert (primary.status()["protected"], primary.status()["ifItFailedNow"]) == (False, None)
    spare = joined(troupe, primary, "first-1")
    assert spare.status()["state"] == "ready"
    troupe.begin()
    troupe.flows()
    cost = primary.status()["ifItFailedNow"]
    assert (cost["replayTuples"], cost["replaySeconds"]) == (0, 0.0)
    assert cost["lostTuples"] >= 0
    killed(troupe, "first-0", spare)
    status = spare.status()
    assert status["takeover"]["lost"] > 0
    assert sum(loss["to"] - loss["from"] for loss in status["losses"]) == status["takeover"]["lost"]
    joined(troupe, spare, "first-2")
    assert_none_twice(troupe)


def test_a_spare_that_leaves_is_missed(troupe: Troupe) -> None:
    primary = troupe.players["first-0"]
    joined(troupe, primary, "first-1")
    troupe.remove("first-1")
    until(lambda: not primary.status()["protected"])


@pytest.mark.parametrize("troupe", [PASSIVE], indirect=True)
def test_a_standby_becomes_the_spare_of_amnesia_and_a_standby_again(troupe: Troupe) -> None:
    primary = troupe.players["first-0"]
    standby = joined(troupe, primary, "first-1")
    troupe.begin()
    troupe.flows()
    told(troupe, mode="amnesia", spare=True)
    until(lambda: {p.status()["mode"] for p in (primary, standby)} == {"amnesia"})
    until(lambda: bool(primary.status()["protected"]))
    troupe.flows()
    told(troupe, mode="passiveStandby")
    until(lambda: {p.status()["mode"] for p in (primary, standby)} == {"passiveStandby"})
    until(lambda: bool(primary.status()["protected"]))
    assert_right(troupe)
    killed(troupe, "first-0", standby)
    assert standby.status()["takeover"]["lost"] == 0
    assert_right(troupe)


@pytest.mark.parametrize("troupe", [PASSIVE], indirect=True)
def test_a_standby_that_became_the_spare_takes_over_empty(troupe: Troupe) -> None:
    primary = troupe.players["first-0"]
    standby = joined(troupe, primary, "first-1")
    troupe.begin()
    troupe.flows()
    told(troupe, mode="amnesia", spare=True)
    until(lambda: standby.status()["mode"] == "amnesia" and bool(primary.status()["protected"]))
    troupe.flows()
    killed(troupe, "first-0", standby)
    assert standby.status()["takeover"]["lost"] > 0
    assert_none_twice(troupe)


def test_a_spare_is_asked_for_and_not_any_more_without_a_new_primary(troupe: Troupe) -> None:
    primary = troupe.players["first-0"]
    joined(troupe, primary, "first-1")
    troupe.begin()
    troupe.flows()
    for spare in (False, True):
        told(troupe, mode="amnesia", spare=spare)
        until(lambda spare=spare: primary.scene.subjob.ha.spare is spare)  # type: ignore[misc]
    troupe.flows()
    assert troupe.leader("first") == "first-0"
    assert_right(troupe)
