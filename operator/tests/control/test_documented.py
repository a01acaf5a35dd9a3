"""What the documentation lists is what there is."""

from __future__ import annotations

import re
from pathlib import Path

from understudy.control.intents import Reason

OPERATIONS = Path(__file__).parents[3] / "docs" / "operations"


def test_the_documentation_names_every_reason_of_an_event_and_no_other() -> None:
    text = (OPERATIONS / "kubernetes.md").read_text()
    found = re.search(r"alerts can match them:\n(?P<list>[^.]*)\.", text)
    assert found is not None
    assert sorted(re.split(r",\s+", found["list"].strip())) == sorted(str(reason) for reason in Reason)
