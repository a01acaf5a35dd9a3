"""The reader of each kind of source."""

from __future__ import annotations

from typing import assert_never

from understudy.model.sources import Files, Generator, KafkaSource, Origin, Push
from understudy.sources.files import FilesReader
from understudy.sources.generator import GeneratorReader
from understudy.sources.port import Opening, Reader


def reader_of(origin: Origin, opening: Opening) -> Reader:
    match origin:
        case Generator():
            return GeneratorReader(origin)
        case Files():
            return FilesReader(origin, opening)
        case KafkaSource():
            from understudy.sources.kafka import KafkaReader  # only subjobs that need it pay for the client

            return KafkaReader(origin, opening)
        case Push():
            raise NotImplementedError("the source push is not available yet")
        case _:
            assert_never(origin)
