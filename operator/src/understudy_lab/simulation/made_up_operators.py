"""What simulated elements compute: a made-up operator for each way in which real ones depend on their input.

They are no reference for the operators of manifests (that is `understudy_lab.verify`): values are hashes,
and a row is (value, lineage), where lineage has one bit for each source tuple behind the row. Which tuples a
window still needs is the product's own rule.

An operator is a function of positions: given the same rows and the same order of inputs it makes the same
rows, wherever batches are cut. `next_input` says which input the next tuple comes from; for arbitrary
operators that is a choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from understudy.protocol.selection import CountWindow

Row = tuple[int, int]
Read = Callable[[int, int], "Row | None"]  # (input, seq): None was skipped
MASK = (1 << 61) - 1


def mix(a: int, b: int) -> int:
    return (a * 1_000_003 + b * 7_919 + 12_345) & MASK


@dataclass(frozen=True, slots=True)
class Operator:
    """The base is map: one input, one row out for each in. `salt` makes equal operators differ."""

    salt: int = 1
    arity: int = 1
    kind: str = "repeatable"
    arbitrary: bool = False
    cost: float = 10.0  # microseconds for each input tuple

    def next_input(self, positions: Sequence[int], stops: Sequence[int], ended: Sequence[bool]) -> int | None:
        """Which input the next tuple is taken from, or None to wait."""
        return 0 if positions[0] < stops[0] else None

    def take(self, i: int, positions: Sequence[int], read: Read, choice: int) -> list[Row]:
        row = read(i, positions[i])
        return [] if row is None else [(mix(row[0], self.salt), row[1])]

    def selection(self, positions: Sequence[int]) -> tuple[int, ...]:
        return tuple(positions)

    def price(self, filled: int) -> float:
        """Cost of one tuple when the element holds `filled` tuples before it."""
        return self.cost

    def choose(self, bit: int) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class Filter(Operator):
    keep: int = 2  # of 3

    def take(self, i: int, positions: Sequence[int], read: Read, choice: int) -> list[Row]:
        row = read(i, positions[i])
        return [row] if row is not None and (row[0] ^ self.salt) % 3 < self.keep else []


@dataclass(frozen=True, slots=True)
class Aggregate(Operator):
    """Windows of `window` tuples every `advance` tuples, aligned to seq 0: convergent-capable."""

    window: int = 4
    advance: int = 2
    kind: str = "convergent"

    def take(self, i: int, positions: Sequence[int], read: Read, choice: int) -> list[Row]:
        end = positions[0] + 1
        start = end - self.window
        if start < 0 or start % self.advance:
            return []
        value, lineage = self.salt, 0
        for seq in range(start, end):
            row = read(0, seq)
            if row is not None:
                value, lineage = mix(value, row[0]), lineage | row[1]
        return [(value, lineage)] if lineage or value != self.salt else []

    def selection(self, positions: Sequence[int]) -> tuple[int, ...]:
        return (CountWindow(self.window, self.advance).needed(positions[0]),)

    def price(self, filled: int) -> float:
        """Each tuple enters every open window; a restarted element opens one window per advance."""
        return self.cost * min(self.window / self.advance, filled // self.advance + 1)


@dataclass(frozen=True, slots=True)
class Zip(Operator):
    """Two inputs, alternately: deterministic, whenever tuples arrive."""

    arity: int = 2
    kind: str = "deterministic"

    def next_input(self, positions: Sequence[int], stops: Sequence[int], ended: Sequence[bool]) -> int | None:
        first = 0 if positions[0] <= positions[1] else 1
        if positions[first] < stops[first]:
            return first
        if ended[first] and positions[1 - first] < stops[1 - first]:
            return 1 - first
        return None


@dataclass(frozen=True, slots=True)
class Join(Zip):
    """Each tuple with the last `window` of the other input: several rows of one step, or none."""

    window: int = 3
    kind: str = "repeatable"

    def take(self, i: int, positions: Sequence[int], read: Read, choice: int) -> list[Row]:
        mine = read(i, positions[i])
        found: list[Row] = []
        for seq in range(max(0, positions[1 - i] - self.window), positions[1 - i]):
            other = read(1 - i, seq)
            if mine is not None and other is not None and (mine[0] + other[0] + self.salt) % 3:
                found.append(
                    (mix(mine[0], other[0]) if i == 0 else mix(other[0], mine[0]), mine[1] | other[1])
                )
        return found

    def selection(self, positions: Sequence[int]) -> tuple[int, ...]:
        return tuple(max(0, p - self.window) for p in positions)


@dataclass(frozen=True, slots=True)
class Union(Operator):
    """Inputs as they arrive: non-deterministic. The shell supplies the order."""

    arity: int = 2
    kind: str = "arbitrary"
    arbitrary: bool = True


@dataclass(frozen=True, slots=True)
class RandomFilter(Operator):
    """Drops a third at random: the choice is a bit for each tuple."""

    kind: str = "arbitrary"
    arbitrary: bool = True

    def take(self, i: int, positions: Sequence[int], read: Read, choice: int) -> list[Row]:
        row = read(i, positions[i])
        return [row] if row is not None and choice else []

    def choose(self, bit: int) -> int:
        return int(bit % 3 > 0)


def rowwise(op: Operator) -> bool:
    """Whether it makes its rows of one row each."""
    return type(op) in (Operator, Filter, Union)


def made_alone(op: Operator, row: Row, i: int = 0) -> list[Row]:
    """What such an operator makes of a row of its input i; of a random filter, what it may make."""
    return op.take(i, [0] * op.arity, lambda _i, _seq: row, 1)


def reference(op: Operator, inputs: Sequence[Sequence[Row]]) -> list[Row]:
    """What a deterministic operator makes of whole streams."""
    positions, out = [0] * op.arity, []
    stops, ended = [len(rows) for rows in inputs], [True] * op.arity
    while (i := op.next_input(positions, stops, ended)) is not None:
        out += op.take(i, positions, lambda j, seq: inputs[j][seq] if seq < len(inputs[j]) else None, 0)
        positions[i] += 1
    return out
