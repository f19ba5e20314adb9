"""Rows that callers name: ids, secrecy, and which metadata fits a filter."""

from typing import Any

import pytest

from day1.model.contexts.keyed import context_id, fits, memory_id, sensitivity


def test_an_id_follows_from_the_space_and_the_key() -> None:
    ids = {
        context_id("project:metal", "plan"),
        context_id("project:metal", "Plan"),
        context_id("project:wood", "plan"),
        context_id(None, "plan"),
        memory_id("project:metal", "plan"),
        memory_id(None, "plan"),
    }
    assert len(ids) == 6
    assert context_id("project:metal", "plan") in ids
    assert {name.partition("_")[0] for name in ids} == {"obs", "fact"}


@pytest.mark.parametrize(
    ("given", "inside", "tags", "found"),
    [
        (None, None, None, None),
        ("secret", None, None, "secret"),
        ("normal", {"sensitivity": "secret"}, ["secret"], "normal"),
        (None, {"sensitivity": "Secret "}, None, "secret"),
        (None, {"sensitivity": 1}, [], None),
        (None, ["sensitivity", "secret"], None, None),
        (None, "secret", None, None),
        (None, {"a": 1}, ["work", "SECRET"], "secret"),
        (None, {"a": 1}, ["no secret"], None),
    ],
)
def test_what_makes_a_memory_secret(
    given: str | None, inside: object, tags: list[str] | None, found: str | None
) -> None:
    assert sensitivity(given, inside, tags) == found


@pytest.mark.parametrize(
    ("wanted", "metadata", "fitting"),
    [
        ({}, None, True),
        ({"a": 1}, None, False),
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"a": True}, False),
        ({"a": 0}, {"a": False}, False),
        ({"a": "1"}, {"a": 1}, False),
        ({"a": None}, {"b": 1}, False),
        ({"a": None}, {"a": None}, True),
        ({"a": {"b": [1, {"c": 2}]}}, {"a": {"b": [1, {"c": 2}]}}, True),
        ({"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, False),
        ({"a": [1]}, {"a": [True]}, False),
        ({"a": [1]}, {"a": [1, 2]}, False),
    ],
)
def test_which_metadata_fits(
    wanted: dict[str, Any], metadata: dict[str, Any] | None, fitting: bool
) -> None:
    assert fits(wanted, metadata) is fitting
