"""Asks which other instance hears the holder of a Lease: those of the subjobs that read its stream."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.flight as flight

from understudy.model.job import StreamJob
from understudy.process.ports import Surroundings
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.peermessage import AskHears, Hears
from understudy.streams import wire
from understudy.streams.connection import connect

ASK_SECONDS = 0.5


class Witnesses:
    def __init__(self, job: StreamJob, subjob: str, surroundings: Surroundings) -> None:
        self._subjob, self._surroundings = subjob, surroundings
        self._readers = [other.name for other in job.subjobs if subjob in other.inputs]

    def heard(self, lease: LeaseRecord) -> str | None:
        """The address of an instance that the holder serves now, if there is one."""
        addresses = (address for reader in self._readers for address in self._surroundings.addresses(reader))
        return next((address for address in addresses if self._hears(address, lease)), None)

    def _hears(self, address: str, lease: LeaseRecord) -> bool:
        try:
            with connect(address) as client:
                answer = wire.say(client, AskHears(self._subjob, lease.epoch), ASK_SECONDS)
        except (flight.FlightError, pa.ArrowException, OSError, StopIteration):
            return False
        return isinstance(answer, Hears) and answer.heard
