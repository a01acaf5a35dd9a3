"""One broker for all tests of a session, and topics of their own for each."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.kafka.topics_in_use import Open, Reader
from understudy.kafka.topic import SourceTopic
from understudy_lab.broker import topics
from understudy_lab.broker.process import Broker

_numbers = itertools.count()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    found = Broker(Path(tmp_path_factory.mktemp("kafka")) / "data")
    try:
        found.start()
        yield found
    finally:
        found.remove()


@pytest.fixture
def topic(broker: Broker) -> Callable[..., str]:
    """Makes a topic with so many partitions, and settings, and says its name."""

    def make(partitions: int = 1, **config: str) -> str:
        name = f"topic-{next(_numbers)}"
        topics.create(broker, name, partitions, **config)
        return name

    return make


@pytest.fixture
def open_reader() -> Iterator[Open]:
    with ExitStack() as stack:

        def opened(source: SourceTopic, start: int | None = 0) -> Reader:
            reader = Reader.of(source, start)
            stack.callback(reader.source.close)
            return reader

        yield opened
