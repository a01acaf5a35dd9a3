from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.model.yamltext import MAX_DEPTH, Unreadable, read

words = st.text(st.characters(categories=["L", "N", "P", "S"]) | st.just(" "), max_size=10)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | words,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words, inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(words, plain))
def test_json_is_yaml(value: dict[str, object]) -> None:
    assert read(json.dumps(value, ensure_ascii=False)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("yes", "yes"),
        ("true", True),
        ("null", None),
        ("012", 12),
        ("1:30", "1:30"),
        ("2026-01-01", "2026-01-01"),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        (".inf", ".inf"),
        ("'5'", "5"),
        ("9" * 40, "9" * 40),
    ],
)
def test_plain_words_mean_what_yaml_1_2_says(text: str, value: object) -> None:
    assert read(f"x: {text}") == {"x": value}


def test_an_alias_stands_for_the_value_of_its_anchor() -> None:
    assert read("a: &x [1, 2]\nb: *x") == {"a": [1, 2], "b": [1, 2]}


def test_a_document_may_be_nested_as_deep_as_allowed() -> None:
    assert read("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None
    with pytest.raises(Unreadable):
        read("[" * (MAX_DEPTH + 2) + "]" * (MAX_DEPTH + 2))


@given(st.text())
def test_any_text_is_read_or_unreadable(text: str) -> None:
    with suppress(Unreadable):
        read(text)
