"""How long a memory is true and answered, and whether it is secret."""

from contextlib import AbstractContextManager, nullcontext

import pytest

from day1.errors import InvalidRequest
from day1.model.redaction.retention import end_of_span, retention, sensitivity_of, valid_time
from day1.model.values.instant import DAY, LAST, parse

DAY_1, DAY_2 = "2026-03-01", "2026-03-02"
REFUSED = pytest.raises(InvalidRequest)


@pytest.mark.parametrize(
    ("happened_at", "valid_until", "columns"),
    [
        (None, None, (None, None)),
        (DAY_1, None, (parse(DAY_1), None)),
        (None, DAY_1, (None, parse(DAY_1))),
        (DAY_1, DAY_1, (parse(DAY_1), parse(DAY_1))),
        (DAY_1, DAY_2, (parse(DAY_1), parse(DAY_2))),
        (DAY_2, "never", (parse(DAY_2), None)),
    ],
)
def test_a_valid_time_may_have_no_begin_no_end_or_neither(
    happened_at: str | None, valid_until: str | None, columns: tuple[int | None, int | None]
) -> None:
    assert tuple(valid_time(happened_at, valid_until).values()) == columns


def test_a_valid_time_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="swap them"):
        valid_time(DAY_2, DAY_1)


@pytest.mark.parametrize(
    ("expires_at", "now", "outcome"),
    [
        (None, parse(DAY_1), nullcontext()),
        ("never", parse(DAY_1), nullcontext()),
        (DAY_1, parse(DAY_1) - 1, nullcontext()),
        (DAY_1, parse(DAY_1), REFUSED),
        (DAY_1, parse(DAY_2), REFUSED),
    ],
)
def test_a_new_memory_expires_later_than_now(
    expires_at: str | None, now: int, outcome: AbstractContextManager[object]
) -> None:
    with outcome:
        retention(expires_at, None, now)


def test_what_is_not_secret_has_no_sensitivity() -> None:
    words = (None, "public", "secret")
    assert [sensitivity_of(word) for word in words] == [None, None, "secret"]


@pytest.mark.parametrize(
    ("word", "length"),
    [("30m", DAY // 48), ("12h", DAY // 2), (" 7 D ", 7 * DAY), ("4w", 28 * DAY)],
)
def test_a_span_ends_that_long_from_now(word: str, length: int) -> None:
    assert end_of_span(word, parse(DAY_1)) == parse(DAY_1) + length


@pytest.mark.parametrize("word", [None, "for ever", "7", "d", "7y", "-7d", "7.5d", "1234567d"])
def test_other_words_are_no_span(word: str | None) -> None:
    assert end_of_span(word, parse(DAY_1)) is None


@pytest.mark.parametrize("word", ["0d", "00h", "999999w"])
def test_a_span_of_nothing_or_beyond_all_years_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="must be longer"):
        end_of_span(word, parse(DAY_1))
    with pytest.raises(ValueError, match="must be longer"):
        end_of_span("1d", LAST)
