"""Which texts, numbers and names from outside are taken."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from day1.errors import InvalidRequest, Refused
from day1.model.rows.json_columns import read_detail, read_tags
from day1.model.rows.origin import MAX_LABEL, named
from day1.model.rows.validation import (
    MAX_INTEGER,
    clean,
    filled,
    fits_one_memory,
    one_memory,
    secret_notes,
    sound,
)
from day1.model.values.parts import MAX_TEXT, TooLong

NUL, HALF = "a\0b", "a\ud800b"
LONG = "a" * (MAX_TEXT + 1)
KEY = "AKIA" + "A" * 16


@pytest.mark.parametrize(
    ("check", "text", "why"),
    [
        (clean, NUL, "must not contain NUL characters"),
        (clean, HALF, r"must not contain half a character \(a lone surrogate\)"),
        (clean, "\udfff", "half a character"),
        (filled, NUL, "NUL"),
        (filled, "", "must not be empty"),
        (filled, " \n", "must not be empty"),
        (one_memory, " ", "must not be empty"),
        (one_memory, HALF, "half a character"),
        (fits_one_memory, LONG, "has "),
        (one_memory, LONG, "has "),
    ],
)
def test_a_text_that_cannot_be_kept_is_refused(
    check: Callable[[str], str], text: str, why: str
) -> None:
    with pytest.raises(TooLong if text is LONG else ValueError, match=why):
        check(text)


@pytest.mark.parametrize("text", ["a", " a ", "北京 \U0001f600", LONG[1:]])
@pytest.mark.parametrize("check", [clean, filled, fits_one_memory, one_memory])
def test_a_text_is_taken_as_it_is(check: Callable[[str], str], text: str) -> None:
    assert check(text) == text


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"a": [1, {"b": None}, True, -MAX_INTEGER, MAX_INTEGER, 0.5]},
        {"a": "x" * (MAX_TEXT - len('{"a":""}'))},
    ],
)
def test_sound_json_is_taken_as_it_is(value: Any) -> None:
    assert sound(value) is value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({NUL: 1}, "NUL"),
        ({"a": HALF}, "half a character"),
        ([[NUL]], "NUL"),
        ([{"a": [HALF]}], "half a character"),
        ([MAX_INTEGER + 1], "^numbers must be finite and within 2\\^53$"),
        ([-MAX_INTEGER - 1], "2\\^53"),
        ([math.inf], "2\\^53"),
        ([math.nan], "2\\^53"),
        (
            {"a": "x" * (MAX_TEXT - len('{"a":""}') + 1)},
            f"^must have at most {MAX_TEXT} characters as JSON$",
        ),
    ],
)
def test_json_that_other_readers_would_not_get_back_is_refused(value: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        sound(value)


@pytest.mark.parametrize("rule", ["warn", "ignore", "refuse"])
def test_a_text_without_a_secret_brings_no_warning(rule: str) -> None:
    assert secret_notes(rule, "plain", None) == []


def test_the_rule_decides_what_becomes_of_a_secret() -> None:
    (note,) = secret_notes("warn", None, "plain", f"key {KEY}")
    assert note == (
        "This looks as if it holds an AWS access key; memory is shared and keeps its history."
    )
    assert secret_notes("ignore", KEY) == []
    with pytest.raises(Refused, match="an AWS access key: leave the secret out") as caught:
        secret_notes("refuse", KEY)
    assert caught.value.details["looks_like"] == "an AWS access key"


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (None, None),
        ("", None),
        ("  ", None),
        ("ada", "ada"),
        (" ada ", " ada "),
        ("a" * MAX_LABEL, "a" * MAX_LABEL),
    ],
)
def test_a_name_beside_the_arguments_is_taken_if_it_is_one(given: object, name: str | None) -> None:
    assert named(given, "X-Agent") == name


@pytest.mark.parametrize("given", ["a" * (MAX_LABEL + 1), "a\nb", "a\0", 7, True, ["ada"]])
def test_a_name_beside_the_arguments_is_a_short_printable_text(given: object) -> None:
    with pytest.raises(
        InvalidRequest, match=r"^X-Agent must be a name of at most 255 printable char"
    ):
        named(given, "X-Agent")


@pytest.mark.parametrize(
    ("cell", "tags", "detail"),
    [
        (None, [], {}),
        ("[redacted]", [], {}),
        ('["a", 1, "b"]', ["a", "b"], {}),
        ('{"key": "k"}', [], {"key": "k"}),
        ("7", [], {}),
    ],
)
def test_columns_of_json_are_read_whoever_wrote_them(
    cell: str | None, tags: list[str], detail: dict[str, str]
) -> None:
    assert (read_tags(cell), read_detail(cell)) == (tags, detail)
