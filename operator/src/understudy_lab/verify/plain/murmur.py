"""Spark's `hash`: Murmur3 (x86, 32 bits) with seed 42, one argument after the other."""

from __future__ import annotations

from typing import Any, Final

from understudy_lab.verify.plain.types import Kind, NotPlain, Type

SEED: Final = 42
MASK: Final = 0xFFFFFFFF


def spark_hash(values: list[tuple[Type, Any]]) -> int:
    found = SEED
    for type_, value in values:
        found = found if value is None else _hash(type_, value, found)
    return _signed(found)


def _hash(type_: Type, value: Any, seed: int) -> int:
    match type_.kind:
        case Kind.INT:
            return _finish(_mix(seed, value & MASK), 4)
        case Kind.LONG:
            return _finish(_mix(_mix(seed, value & MASK), value >> 32 & MASK), 8)
        case Kind.BOOLEAN:
            return _finish(_mix(seed, int(value)), 4)
        case Kind.STRING:
            return _bytes(value.encode(), seed)
        case _:
            raise NotPlain(f"hash of a {type_.kind.value}")


def _bytes(data: bytes, seed: int) -> int:
    """Whole words first; Spark mixes each byte that is left as a signed word of its own."""
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        seed = _mix(seed, int.from_bytes(data[at : at + 4], "little"))
    for byte in data[whole:]:
        seed = _mix(seed, (byte - 256 if byte > 127 else byte) & MASK)
    return _finish(seed, len(data))


def _mix(h: int, k: int) -> int:
    k = _rotated(k * 0xCC9E2D51 & MASK, 15) * 0x1B873593 & MASK
    return (_rotated(h ^ k, 13) * 5 + 0xE6546B64) & MASK


def _finish(h: int, length: int) -> int:
    h ^= length
    h = (h ^ h >> 16) * 0x85EBCA6B & MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & MASK
    return h ^ h >> 16


def _rotated(x: int, bits: int) -> int:
    return (x << bits | x >> 32 - bits) & MASK


def _signed(x: int) -> int:
    return x - (1 << 32) if x >> 31 else x
