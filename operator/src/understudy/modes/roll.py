"""The roll call of a replacement: it asks each consumer of each stream from where it wants to continue (Hwang
§6: "the failover node must ask downstream neighbors for the identifiers of the last tuples they received").

Consumers answer by subscribing again. A consumer that was lost in the same failure does not answer. The
replacement waits for it a limited time, and then serves those that have answered: the others are *late*.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from understudy.protocol import events as on
from understudy.protocol.ids import Consumer, Millis, Seq, Stream
from understudy.protocol.ledger import Wiring

Reader = tuple[Stream, Consumer]


@dataclass(frozen=True, slots=True)
class RollCall:
    said: Mapping[Stream, Mapping[Consumer, on.Subscribed | None]]
    """For each stream the answers of its consumers outside the subjob; None: no answer yet."""
    since: Millis | None = None  # time of the first look at it

    @classmethod
    def of(cls, wiring: Wiring) -> RollCall:
        inner = set(wiring.inputs)
        outside = {s: [c for c in wiring.consumers[s] if c not in inner] for s in wiring.leaving}
        return cls({s: dict.fromkeys(consumers) for s, consumers in outside.items()})

    def heard(self, event: on.Subscribed) -> RollCall:
        if event.consumer not in self.said.get(event.stream, {}):
            return self
        return replace(
            self, said={**self.said, event.stream: {**self.said[event.stream], event.consumer: event}}
        )

    def looked_at(self, now: Millis) -> RollCall:
        return self if self.since is not None else replace(self, since=now)

    @property
    def complete(self) -> bool:
        return not self.silent

    @property
    def silent(self) -> set[Reader]:
        return {(s, c) for s, per in self.said.items() for c, answer in per.items() if answer is None}

    def waited(self, now: Millis, patience: int) -> bool:
        """Whether the roll call has lasted for longer than `patience`, and each stream has a consumer that
        answered."""
        answered = all(any(per.values()) for per in self.said.values())
        return answered and self.since is not None and now - self.since > patience

    def furthest(self, stream: Stream) -> Seq:
        """The end of what any consumer that has answered has received."""
        return Seq(max((e.start for e in self._answers(stream)), default=0))

    def answers(self, stream: Stream) -> list[on.Subscribed]:
        """All answers for a stream, the one with the lowest position first."""
        return sorted(self._answers(stream), key=lambda e: e.start)

    @property
    def all(self) -> tuple[on.Subscribed, ...]:
        return tuple(e for stream in self.said for e in self._answers(stream))

    def _answers(self, stream: Stream) -> list[on.Subscribed]:
        return [e for e in self.said[stream].values() if e is not None]
