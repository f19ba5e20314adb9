import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.errors import InvalidRequest
from day1.model.values.space import MAX_SPACE, similar_spaces, space_name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("project:metal", "project:metal"),
        ("  Project:METAL ", "project:metal"),
        ("shared notes", "namespace:shared notes"),
        ("github.com/a/b", "namespace:github.com/a/b"),
        ("agent:W/user:Ann", "agent:w/user:ann"),
        ("thread:2026:7", "thread:2026:7"),
        ("project:STRASSE", "project:strasse"),
        ("project:straße", "project:strasse"),
        ("project:u\u0308", "project:ü"),
        ("k:" + "x" * (MAX_SPACE - 2), "k:" + "x" * (MAX_SPACE - 2)),
    ],
)
def test_a_space_is_written_in_one_way(text, name):
    assert space_name(text) == name


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", ":", "project:", ":metal", "project: ", "project:a//b", "project:/a"),
        *("project:a/", "project:a\0b", "a\nb", "project:a\ud800", "a b:c"),
        "k:" + "x" * (MAX_SPACE - 1),
    ],
)
def test_what_is_no_name_of_a_space_is_refused(text):
    with pytest.raises(InvalidRequest):
        space_name(text)


@given(st.text(max_size=300))
def test_a_name_stays_as_it_is(text):
    try:
        name = space_name(text)
    except InvalidRequest:
        return
    assert space_name(name) == name == unicodedata.normalize("NFC", name)
    assert len(name) <= MAX_SPACE
    assert ":" in name


def test_who_errs_in_a_name_is_told_which_are_alike():
    known = ["project:metal", "project:metals", "namespace:metal", "user:ann", "project:wood"]
    assert similar_spaces("project:metall", known)[:2] == ["project:metal", "project:metals"]
    assert similar_spaces("agent:ann", known)[0] == "user:ann"
    assert similar_spaces("project:metal", known)[0] == "namespace:metal"
    assert similar_spaces("project:metal", []) == []
    assert similar_spaces("k:zzzzzz", known) == []
