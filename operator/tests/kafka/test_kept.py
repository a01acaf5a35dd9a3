"""Texts that outlive all pods: the greatest epoch counts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from understudy.kafka.client import Connection
from understudy.kafka.kept import KeptTexts
from understudy.protocol.ids import Epoch
from understudy_lab.broker.process import Broker

pytestmark = pytest.mark.broker


def test_what_the_latest_epoch_wrote_last_is_kept(broker: Broker, topic: Callable[..., str]) -> None:
    name = f"{topic()}.kept"
    one, other = (KeptTexts(Connection(broker.address), name) for _ in range(2))
    assert one.kept("acks/beats") is None
    one.keep("acks/beats", "first", Epoch(1))
    one.keep("acks/beats", "second", Epoch(1))
    assert other.kept("acks/beats") == "second"
    other.keep("acks/beats", "third", Epoch(10))
    one.keep("acks/beats", "late", Epoch(9))
    one.keep("acks/other", "not its own", Epoch(11))
    assert one.kept("acks/beats") == other.kept("acks/beats") == "third"


def test_texts_of_earlier_epochs_are_removed(broker: Broker, topic: Callable[..., str]) -> None:
    name = f"{topic()}.kept"
    kept = KeptTexts(Connection(broker.address), name)
    for epoch in range(3):
        kept.keep("acks/beats", f"text {epoch}", Epoch(epoch))
    assert dict(kept._records("acks/beats")) == {
        b"acks/beats/0": None,
        b"acks/beats/1": None,
        b"acks/beats/2": b"text 2",
    }
