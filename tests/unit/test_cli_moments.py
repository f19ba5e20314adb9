"""Times as people type them."""

import pytest

from day1.errors import InvalidRequest
from day1.interfaces.cli.moments import brief, day, moment, since
from day1.model.values.instant import DAY, SECOND, parse, show

NOW = parse("2026-03-10T12:00:00Z")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", "2026-03-10T12:00:00.000000+00:00"),
        ("30s", "2026-03-10T11:59:30.000000+00:00"),
        ("10m", "2026-03-10T11:50:00.000000+00:00"),
        ("2h ago", "2026-03-10T10:00:00.000000+00:00"),
        ("3D", "2026-03-07T12:00:00.000000+00:00"),
        (" 1w ", "2026-03-03T12:00:00.000000+00:00"),
        ("2026-03-01", "2026-03-01T00:00:00.000000+00:00"),
        ("2026-03-01T10:00:00+02:00", "2026-03-01T08:00:00.000000+00:00"),
    ],
)
def test_a_time_is_iso_or_an_age(text: str, expected: str) -> None:
    assert moment(text, NOW) == expected


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("2026-03-01", "2026-03-01T23:59:59.999999"),
        ("2026-03-01T10:00", "2026-03-01T10:00:59.999999"),
        ("2026-03-01T10:00:07Z", "2026-03-01T10:00:07.999999"),
        ("2026-03-01 10:00:07-01:00", "2026-03-01T11:00:07.999999"),
        ("2026-03-01T10:00:07.5Z", "2026-03-01T10:00:07.500000"),
        ("2026-03-01T10:00:07.123456+00:00", "2026-03-01T10:00:07.123456"),
    ],
)
def test_as_an_end_a_time_is_as_long_as_it_is_written(text: str, last: str) -> None:
    assert moment(text, NOW, end=True) == show(parse(last))


def test_what_is_printed_can_be_typed_and_includes_what_it_stood_beside() -> None:
    instant = parse("2026-03-01T10:00:07.640000Z")
    assert parse(moment(brief(show(instant)), NOW, end=True)) >= instant
    assert day(show(instant)) == "2026-03-01"
    for edge in ("0001-01-01T00:00:00Z", "0999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"):
        assert brief(show(parse(edge))) == edge


@pytest.mark.parametrize("text", ["", "soon", "2x", "-3d", "3 d ago now", "1e3s"])
def test_a_text_that_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        moment(text, NOW)


def test_an_age_never_reaches_before_1970() -> None:
    assert moment("999999999w", NOW) == show(0)


@pytest.mark.parametrize(
    ("spent", "words"),
    [
        (0, "just now"),
        (59 * SECOND, "just now"),
        (60 * SECOND, "1 minute ago"),
        (2 * 3600 * SECOND, "2 hours ago"),
        (3 * DAY, "3 days ago"),
    ],
)
def test_an_age_is_said_in_words(spent: int, words: str) -> None:
    assert since(NOW - spent, NOW) == words
