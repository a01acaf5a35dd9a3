"""A job's streams without Spark: expressions and operators as ordinary Python, for a second opinion on a run.

It knows filter, map, union, sample with a seed and windows over generators, and the expressions that such
jobs mostly use. For everything else it says so (`NotPlain`) instead of guessing.

| module | what |
|---|---|
| `operators` | what each operator makes of whole streams |
| `streams` | a job's sources and elements, by these operators |
| `expressions` | a parsed expression as a function of a row |
| `aggregates` | an aggregate function as a function of the rows of a window and group |
| `murmur` | Spark's `hash` |
| `types` | Spark's types as far as they are known here, and which one an operation gives |
"""

from understudy_lab.verify.plain.streams import plain_reference
from understudy_lab.verify.plain.types import NotPlain

__all__ = ["NotPlain", "plain_reference"]
