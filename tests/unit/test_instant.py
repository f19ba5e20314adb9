import pytest

from day1.errors import InvalidRequest
from day1.model.values.instant import DAY, parse, show, show_optional

MARCH = 1_772_323_200_000_000  # 2026-03-01T00:00:00Z


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-03-01", MARCH),
        (" 2026-03-01 ", MARCH),
        ("20260301", MARCH),
        ("2026-03-01T00:00:00", MARCH),
        ("2026-03-01T02:00:00+02:00", MARCH),
        ("2026-02-28T19:00:00-05:00", MARCH),
        ("2026-03-01T00:00:00.000001Z", MARCH + 1),
        ("1969-12-31T23:59:59.999999Z", -1),
    ],
)
def test_a_time_is_read_to_the_microsecond(text, instant):
    assert parse(text) == instant


def test_a_date_ends_with_its_last_microsecond_and_a_time_is_its_own_end():
    for date in ("2026-03-01", "20260301", "2026-W09-7"):
        assert parse(date, end=True) == MARCH + DAY - 1
    for time in ("2026-03-01T00:00", "2026W09T00"):
        assert parse(time, end=True) == parse(time)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "2026-13-01",
        "2026-02-30",
        "10:00",
        "9999-12-31T23:59:59-23:00",
        "1e9",
        "soon " * 9,
    ],
)
def test_what_is_no_time_is_refused(text):
    with pytest.raises(
        InvalidRequest, match=r"^A time must be ISO 8601, .*T10:00:00Z\.$"
    ) as refused:
        parse(text)
    assert refused.value.details == {"given": text.strip()[:40]}


def test_a_time_is_shown_with_offset_and_microseconds_and_read_back():
    assert show(MARCH) == "2026-03-01T00:00:00.000000+00:00"
    for instant in (MARCH + 1, 0, -1, 253_402_300_799_999_999):
        assert parse(show(instant)) == instant
    assert show_optional(None) is None
    assert show_optional(0) == "1970-01-01T00:00:00.000000+00:00"
