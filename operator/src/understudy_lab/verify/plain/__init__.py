"""A job's streams without Spark: expressions and operators as ordinary Python, for a second opinion on a run.

It knows filter, map, union, sample with a seed and count windows over generators, and the expressions that
such jobs mostly use. For everything else it says so (`NotPlain`) instead of guessing.

| module | what |
|---|---|
| `types` | Spark's types as far as they are known here, and which one an operation gives |
| `murmur` | Spark's `hash` |
| `expressions` | a parsed expression as a function of a row |
| `windows` | aggregates over count windows |
| `streams` | sources and elements as lists of rows |
"""

from understudy_lab.verify.plain.streams import plain_reference
from understudy_lab.verify.plain.types import NotPlain

__all__ = ["NotPlain", "plain_reference"]
