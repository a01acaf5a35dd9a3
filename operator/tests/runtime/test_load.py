"""What an instance watches for is what the manifest says now."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from understudy.model.ha import Ha, Overload

from .troupe import Player, Troupe, until


def tell(player: Player, overload: Overload | None) -> None:
    changed: Ha = player.scene.wanted.model_copy(update={"overload": overload})
    player.shell.changing.tell(changed)


def test_limits_that_come_with_an_edit_are_watched_from_then_on_and_no_longer_than_they_stand(tmp_path: Path) -> None:
    troupe = Troupe("{mode: amnesia}", tmp_path)
    try:
        first = troupe.players["first-0"]
        troupe.begin()
        troupe.flows()
        tell(first, Overload(backlog=timedelta(seconds=1), withheld=99))
        first.inbox.hold()
        until(lambda: "backlog" in (first.status()["overload"] or ""), 60)
        tell(first, None)
        until(lambda: first.status()["overload"] is None)
    finally:
        troupe.close()
