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

    def found(limit: int, offset: int) -> dict[str, Any]:
        return {"entries": fit(rows[offset : offset + limit]), "total": count}

    assert [*entries_in_pages(found)] == rows
    assert entries_at(fit, rows) == rows
    assert newest_messages(listed) == rows
    for limit in (1, 2, 7, 601):
        assert newest_messages(listed, limit) == rows[-limit:]
        assert [*entries_in_pages(found, limit, 3)] == rows[3 : 3 + limit]


@pytest.mark.parametrize("limit", [None, 2_400])
def test_entries_that_others_add_and_remove_between_pages_hide_no_other_entry(
    limit: int | None,
) -> None:
    rows = [{"id": str(number)} for number in range(2_500)]

    def found(limit: int, offset: int) -> dict[str, Any]:
        answer = {"entries": rows[offset : offset + limit], "total": len(rows)}
        if offset == 0:
            del rows[10:20]
        elif offset < 2_000:
            rows.insert(0, {"id": f"added at {offset}"})
        return answer

    entries = [entry["id"] for entry in entries_in_pages(found, limit)]
    assert entries == [str(number) for number in range(limit or 2_500)]


def test_one_value_that_is_too_large_is_refused() -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise errors.AnswerTooLarge("The value is too large.")

    with pytest.raises(errors.AnswerTooLarge):
        [*entries_in_pages(refuse)]
    with pytest.raises(errors.AnswerTooLarge):
        entries_at(refuse, ["a", "b", "c"])
    for limit in (None, 1, 9):
        with pytest.raises(errors.AnswerTooLarge):
            newest_messages(refuse, limit)
