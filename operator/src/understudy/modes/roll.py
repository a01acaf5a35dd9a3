"""The roll call of a replacement: it asks each consumer of each stream from where it wants to continue (Hwang
§6: "the failover node must ask downstream neighbors for the identifiers of the last tuples they received").

Consumers answer by subscribing again. A consumer that was lost in the same failure does not answer. The
replacement waits for it a limited time, and then serves those that have answered: the others are *late*.
"""

from __future__ import annotations

from understudy.protocol import events as on
from understudy.protocol.ids import Consumer, Millis, Seq, Stream
from understudy.protocol.ledger import Wiring

Reader = tuple[Stream, Consumer]


class RollCall:
    def __init__(self, wiring: Wiring) -> None:
        inner = set(wiring.inputs)
        self._heard: dict[Stream, dict[Consumer, on.Subscribed | None]] = {
            s: dict.fromkeys(c for c in wiring.consumers[s] if c not in inner) for s in wiring.leaving
        }
        self._since: Millis | None = None

    def heard(self, event: on.Subscribed) -> None:
        if event.consumer in self._heard.get(event.stream, {}):
            self._heard[event.stream][event.consumer] = event

    @property
    def complete(self) -> bool:
        return not self.silent

    @property
    def silent(self) -> set[Reader]:
        return {(s, c) for s, per in self._heard.items() for c, answer in per.items() if answer is None}

    def waited(self, now: Millis, patience: int) -> bool:
        """Whether the roll call has lasted for longer than `patience`, and each stream has a consumer that
        answered."""
        self._since = now if self._since is None else self._since
        answered = all(any(per.values()) for per in self._heard.values())
        return answered and now - self._since > patience

    def furthest(self, stream: Stream) -> Seq:
        """The end of what any consumer that has answered has received."""
        return Seq(max((e.start for e in self._answers(stream)), default=0))

    def answers(self, stream: Stream) -> list[on.Subscribed]:
        """All answers for a stream, the one with the lowest position first."""
        return sorted(self._answers(stream), key=lambda e: e.start)

    @property
    def all(self) -> tuple[on.Subscribed, ...]:
        return tuple(e for stream in self._heard for e in self._answers(stream))

    def _answers(self, stream: Stream) -> list[on.Subscribed]:
        return [e for e in self._heard[stream].values() if e is not None]
