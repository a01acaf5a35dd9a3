"""Requests become tuples: which are new, repeated or refused. Many are committed at once."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
import pyarrow.json

from understudy.ingest.log import Log
from understudy.ingest.records import Batch, Last

OK: Final = 200
BAD: Final = 400
CONFLICT: Final = 409


@dataclass(frozen=True, slots=True)
class Request:
    """`sequence`: the producer numbers its requests from 1 on."""

    producer: str
    sequence: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    rows: int = 0
    repeated: bool = False
    expected: int | None = None
    """Of a refused sequence: the one that would have been taken."""
    why: str | None = None


REPEATED: Final = Answer(OK, repeated=True)


class Committer:
    """Called by one thread. Raises what the log raises; then no answer may be sent."""

    def __init__(self, log: Log, schema: pa.Schema) -> None:
        self._log, self._schema = log, schema

    def commit(self, requests: Sequence[Request]) -> list[Answer]:
        """The answers in the order of the requests. All that is promised is on disk."""
        requests = [replace(request, body=_with_newline(request.body)) for request in requests]
        counted = count_rows([request.body for request in requests], self._schema)
        batches, answers, taken = list[Batch](), list[Answer](), dict[str, Last]()
        for request, rows in zip(requests, counted, strict=True):
            last = taken.get(request.producer) or self._log.last_of(request.producer)
            answer = judged(request, last) or _bad(rows)
            if answer is None:
                assert isinstance(rows, int)
                batch = Batch(request.producer, request.sequence, rows, request.body)
                taken[request.producer] = Last(batch.sequence, batch.checksum)
                batches.append(batch)
                answer = Answer(OK, rows)
            answers.append(answer)
        if batches:
            self._log.append(batches)
        return answers


def judged(request: Request, last: Last | None) -> Answer | None:
    """The answer to a request that adds nothing; None if it comes next. Its body ends with a newline."""
    expected = last.sequence + 1 if last is not None else 1
    if request.sequence == expected:
        return None
    if request.sequence > expected:
        why = f"the sequence is {request.sequence}, and {expected} comes next"
        return Answer(CONFLICT, expected=expected, why=why)
    if last is not None and request.sequence == last.sequence:
        checksum = zlib.crc32(request.body)
        if checksum != last.checksum:
            why = f"request {request.sequence} was taken with another body"
            return Answer(CONFLICT, expected=expected, why=why)
    return REPEATED


def _bad(rows: int | str) -> Answer | None:
    return Answer(BAD, why=rows) if isinstance(rows, str) else None


def count_rows(bodies: Sequence[bytes], schema: pa.Schema) -> list[int | str]:
    """For each body how many rows it has, or why it is refused. Bodies of one line are parsed together: one
    after the other would cost ten times as much. Each has at least one row, so if there are as many rows as
    bodies, each has one."""
    single = [body for body in bodies if _is_single(body)]
    all_have_one = _parsed(b"".join(single), schema) == len(single)
    return [1 if all_have_one and _is_single(body) else _count(body, schema) for body in bodies]


def _count(body: bytes, schema: pa.Schema) -> int | str:
    return _parsed(body, schema) if _is_framed(body) else _NO_OBJECTS


def _is_single(body: bytes) -> bool:
    return body.count(b"\n") == 1 and _is_framed(body)


_NO_OBJECTS: Final = "the body is not JSON objects, one in each line"


def _is_framed(body: bytes) -> bool:
    """Such a body can't continue in the next one: after an object that is not closed, `{` is an error."""
    return body.startswith(b"{") and body.endswith(b"}\n")


def _with_newline(body: bytes) -> bytes:
    return body.strip() + b"\n"


def _parsed(body: bytes, schema: pa.Schema) -> int | str:
    try:
        return int(rows_of(body, schema).num_rows)
    except (pa.ArrowException, ValueError) as error:
        return str(error)


def rows_of(body: bytes, schema: pa.Schema) -> pa.Table:
    """Raises ValueError or ArrowException."""
    parse = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    read = pyarrow.json.ReadOptions(use_threads=False, block_size=max(len(body), 1))
    return pyarrow.json.read_json(pa.BufferReader(body), read_options=read, parse_options=parse)
