"""JSON that is kept as it came, and the text that search reads of it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.model.contexts.content import (
    JsonTooLong,
    as_kept,
    as_value,
    flattened,
    from_kept,
    readable_json,
    texts_inside,
)
from day1.model.values.parts import MAX_TEXT, MOST_VALUE

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(JSON)
def test_any_json_comes_back_as_it_went(value: Any) -> None:
    """Byte for byte: `1`, `"1"`, `1.0` and `true` are four values, and keys keep their order."""
    assert dumped(from_kept(as_kept(value))) == dumped(value)
    text = flattened(value)
    assert text.strip()
    assert len(text) <= MAX_TEXT
    assert "\0" not in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("buy tea", "buy tea"),
        (" ", '" "'),
        ("", '""'),
        (None, "null"),
        ([], "[]"),
        ({}, "{}"),
        (1, "1"),
        (True, "true"),
        ({"a": [1, 2.5, None, "ü"]}, "a[0]: 1\na[1]: 2.5\na[2]: null\na[3]: ü"),
        ({"t": [{"done": True}], "e": {}, "s": ""}, 't[0].done: true\ne: {}\ns: ""'),
        ("u\u0308", "ü"),
        (2**70, str(2**70)),
    ],
)
def test_json_is_read_as_lines_of_paths_and_values(value: Any, text: str) -> None:
    assert flattened(value) == text


def test_a_long_text_of_many_paths_is_cut() -> None:
    long = {"key" * 40: list(range(2_000))}
    as_kept(long)
    assert len(flattened(long)) == MAX_TEXT
    assert flattened(long).endswith("…")


def test_a_long_key_above_a_long_list_is_written_in_linear_time() -> None:
    """With its path before each value, this value of 8 MiB would have 2,000 GB."""
    value = {"k" * 4_000_000: [0] * 2_000_000, "password": ["x", {"y": "z"}]}
    assert len(flattened(value)) == MAX_TEXT
    assert len(texts_inside(value)) < 5_000_000


@pytest.mark.parametrize(
    ("value", "lines"),
    [
        ("a text", ["a text"]),
        ({"password": "hunter2", "n": 1}, ["n: 1", "password: hunter2"]),
        ({"a": [{"key": "b"}, "c", None, 2], "d": {}}, ["a", "c", "d", "key: b"]),
    ],
)
def test_every_text_inside_is_checked_for_secrets(value: Any, lines: list[str]) -> None:
    assert sorted(texts_inside(value).split("\n")) == lines


def test_a_value_ends_at_8_mib_in_bytes() -> None:
    longest = "\u00e9" * ((MOST_VALUE - 2) // 2)
    assert as_value(longest) == f'"{longest}"'
    with pytest.raises(JsonTooLong) as refused:
        as_value(longest + "x")
    assert refused.value.length == MOST_VALUE + 1


def test_a_list_that_contains_itself_has_too_many_levels() -> None:
    inside: list[Any] = []
    inside += [inside, inside]
    with pytest.raises(ValueError, match="64 levels"):
        as_value(inside)


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (float("nan"), "finite"),
        ([float("-inf")], "finite"),
        ("a\0", "NUL"),
        ({"a\0": 1}, "NUL"),
        ("\ud800", "surrogate"),
        (nested(64), "64 levels"),
        ({1: 2}, "keys"),
        ({"a": {3}}, "JSON"),
        pytest.param(10**5000, "4,300 digits", id="digits"),
        ("x" * MAX_TEXT, "at most 32,768"),
    ],
)
def test_what_cannot_be_kept_is_refused(value: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        as_kept(value)


def test_the_deepest_that_is_kept() -> None:
    assert from_kept(as_kept(nested(63))) == nested(63)


def test_json_that_every_reader_can_read() -> None:
    readable_json({"n": 1.5, "s": "\0é", "l": [None, True]})
    deep: object = 1
    for _ in range(64):
        deep = [deep]
    for value in ({"n": float("inf")}, {"s": "\ud83d"}, {"\ud83d": 1}, deep):
        with pytest.raises(ValueError, match=r"finite|half|levels"):
            readable_json(value)
