"""Draws dataclasses that travel between processes, as their types say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
FEW = 2
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(0, 2**53),
    float: st.floats(0, 1e6, allow_nan=False),
    str: TEXT,
    bool: st.booleans(),
    NoneType: st.none(),
}


def drawn(kind: Any, made: Mapping[Any, st.SearchStrategy[Any]] = SCALARS) -> st.SearchStrategy[Any]:
    """`made`: how to draw types that have rules of their own."""
    kind = getattr(kind, "__supertype__", kind)
    if kind in made:
        return made[kind]
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return st.one_of(*(drawn(part, made) for part in parts))
    if origin is Mapping:
        return st.dictionaries(drawn(parts[0], made), drawn(parts[1], made), max_size=FEW)
    if origin is tuple and parts[-1] is Ellipsis:
        return st.lists(drawn(parts[0], made), max_size=FEW).map(tuple)
    if origin is tuple:
        return st.tuples(*(drawn(part, made) for part in parts))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(kind)
    assert isinstance(kind, type), kind
    assert is_dataclass(kind), kind
    return st.builds(kind, **{name: drawn(hint, made) for name, hint in get_type_hints(kind).items()})
