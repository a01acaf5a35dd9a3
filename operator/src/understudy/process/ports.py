"""What a process needs from its surroundings. Local folders and Kubernetes each implement these."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from understudy.model.ha import Driver
from understudy.protocol.epochs import LeaseRecord
from understudy.protocol.ids import Epoch, WallMillis


class Unreachable(Exception):
    """The surroundings do not answer now; try again."""


class Surroundings(Protocol):
    def read_lease(self, subjob: str) -> LeaseRecord | None:
        """The content of the subjob's Lease. Raises Unreachable."""

    def try_lease(
        self, subjob: str, expected: LeaseRecord | None, holder: str, address: str
    ) -> LeaseRecord | None:
        """Compare-and-set: the new record if the Lease was still as expected, otherwise None. If `expected`
        has a question or a successor, the Lease must still have it. Raises Unreachable."""

    def ask_holder(self, subjob: str, expected: LeaseRecord, question: str) -> None:
        """Write a question into the Lease, if it still is as expected and has none. Raises Unreachable."""

    def answer(self, subjob: str) -> None:
        """As the holder: removes the question from the Lease. Raises Unreachable."""

    def addresses(self, subjob: str) -> list[str]:
        """The addresses of a subjob's instances, possibly including dead ones."""

    def neighbours(self) -> list[str]:
        """Status pages of the job's instances on other machines; none if all are on one machine."""

    def memory_percent(self, driver: Driver) -> float:
        """How much of its memory limit this instance uses, including the processes that it started; 0 if that
        is not known."""

    def announce(self, subjob: str, instance: str, address: str, status: str) -> None:
        """This process listens at `address`; its status page is at `status`."""

    def keep_acks(self, subjob: str, acks: str, epoch: Epoch) -> None:
        """Stores the acks of a subjob to the sources that it reads, unless its Lease has another epoch by
        now. Raises Unreachable, also in that case."""

    def kept_acks(self, subjob: str) -> str | None:
        """The acks that were stored last. Raises Unreachable."""

    def chosen(self, subjob: str, source: str) -> str | None:
        """What the readers of a source have agreed on, kept with the Lease of this subjob; None: nothing yet.
        Raises Unreachable."""

    def choose(self, subjob: str, source: str, before: str | None, after: str) -> bool:
        """Compare-and-set of what is `chosen`: False if it is not `before` any more. Any instance of the job
        may call this. Raises Unreachable; the choice may have been stored then."""

    def note_end(self, subjob: str, sink: str, at: int) -> None:
        """A sink has written the stream of a subjob to its end, and will not subscribe again. Raises
        Unreachable."""

    def ends(self, subjob: str) -> dict[str, int]:
        """The sinks that have done so, with the end of the stream. Raises Unreachable."""

    def identity(self) -> str:
        """The name of this job, and of no other job of the past: what it keeps elsewhere, such as topics of
        its own, has names that begin so."""

    def secrets(self) -> Path:
        """The folder of the Secrets that this process may use: `NAME`, with a file for each key, or
        `NAME.properties`."""

    def start_time(self) -> WallMillis | None:
        """When the job starts (milliseconds since 1970): tuple n of a generator is due n/rate later. None: it
        is not known yet."""
