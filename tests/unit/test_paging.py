"""What has more bytes than one answer may have is read in pages that are halved until they fit."""

from typing import Any

import pytest

from day1 import errors
from day1.integrations.paging import entries_at, entries_in_pages, newest_messages


@pytest.mark.parametrize("fitting", [1, 2, 3, 100, 5_000])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 600, 1_000, 1_001])
def test_pages_are_halved_until_they_fit(count: int, fitting: int) -> None:
    rows = [{"id": str(number)} for number in range(count)]

    def fit(page: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if len(page) > fitting:
            raise errors.AnswerTooLarge("The page is too large.")
        return page

    def listed(limit: int | None = None, before: str | None = None) -> list[dict[str, Any]]:
        end = count if before is None else int(before)
        return fit(rows[0 if limit is None else max(0, end - limit) : end])

    assert [*entries_in_pages(lambda limit, offset: fit(rows[offset : offset + limit]))] == rows
    assert entries_at(fit, rows) == rows
    assert newest_messages(listed) == rows
    for limit in (1, 2, 7, 601):
        assert newest_messages(listed, limit) == rows[-limit:]
        page = entries_in_pages(lambda limit, offset: fit(rows[offset : offset + limit]), limit, 3)
        assert [*page] == rows[3 : 3 + limit]


def test_one_value_that_is_too_large_is_refused() -> None:
    def refuse(*_: Any, **__: Any) -> list[dict[str, Any]]:
        raise errors.AnswerTooLarge("The value is too large.")

    with pytest.raises(errors.AnswerTooLarge):
        [*entries_in_pages(refuse)]
    with pytest.raises(errors.AnswerTooLarge):
        entries_at(refuse, ["a", "b", "c"])
    for limit in (None, 1, 9):
        with pytest.raises(errors.AnswerTooLarge):
            newest_messages(refuse, limit)
