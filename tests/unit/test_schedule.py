"""When jobs are due, and the ids of schedules."""

from itertools import product

import pytest

from day1.model.branches.branch import Branch
from day1.model.jobs.job import KINDS, JobKind
from day1.model.jobs.schedule import Calendar, schedule_id
from day1.model.values.instant import DAY, parse, show

MAIN = Branch("b1", "main", None, None, 1)
SIDE = Branch("b2", "side", None, None, 1)
OTHER = Branch("b3", "other", None, None, 1)


@pytest.mark.parametrize(
    ("kind", "now", "due"),
    [
        ("consolidate", "2026-03-04T01:59:59Z", "2026-03-04T02:00:00Z"),
        ("consolidate", "2026-03-04T02:00:00Z", "2026-03-05T02:00:00Z"),
        ("patterns_extract", "2026-12-31T12:00:00Z", "2027-01-01T02:00:00Z"),
        ("cleanup", "2026-03-04T23:00:00Z", "2026-03-05T02:00:00Z"),
        ("decay_update", "2026-03-04T09:59:59Z", "2026-03-04T10:00:00Z"),
        ("decay_update", "2026-03-04T10:00:00Z", "2026-03-04T11:00:00Z"),
        # 2026-03-08 is a Sunday.
        ("archive_create", "2026-03-04T10:00:00Z", "2026-03-08T02:00:00Z"),
        ("archive_create", "2026-03-08T01:00:00Z", "2026-03-08T02:00:00Z"),
        ("archive_create", "2026-03-08T02:00:00Z", "2026-03-15T02:00:00Z"),
    ],
)
def test_a_job_is_due_at_its_next_time_in_utc(kind: JobKind, now: str, due: str) -> None:
    assert show(Calendar().next_after(kind, parse(now))) == show(parse(due))


def test_the_settings_choose_hour_and_day() -> None:
    calendar, now = Calendar(hour=23, weekday=0), parse("2026-03-04T10:00:00Z")
    assert show(calendar.next_after("cleanup", now)) == show(parse("2026-03-04T23:00:00Z"))
    assert show(calendar.next_after("archive_create", now)) == show(parse("2026-03-09T23:00:00Z"))


def test_the_next_time_is_always_later_and_at_most_a_week_away() -> None:
    for hour, weekday, kind in product((0, 2, 23), range(7), KINDS):
        for now in (0, 1, 17 * DAY, 17 * DAY + 2 * DAY // 24, 18 * DAY - 1):
            due = Calendar(hour, weekday).next_after(kind, now)
            assert now < due <= now + 7 * DAY


def test_an_id_names_its_kind_and_wallet() -> None:
    assert schedule_id("consolidate", "0xA1", MAIN) == "consolidate:0xA1"


def test_no_two_schedules_have_one_id() -> None:
    wallets = ("w", "W", "a/b", "a b", "~", "w@x", "w~x", "x" * 65, "é", "e\u0301", "consolidate:w")
    branches = (MAIN, SIDE, OTHER)
    ids = {schedule_id(kind, wallet, b) for kind in KINDS for wallet in wallets for b in branches}
    assert len(ids) == len(KINDS) * len(wallets) * len(branches)


def test_the_ids_that_are_stored_never_change() -> None:
    name = "cleanup:~9b29579916e48666"
    assert schedule_id("cleanup", "a/b", MAIN) == name
    assert schedule_id("cleanup", "a/b", SIDE) == f"{name}@5bdda132372f7f03"


def test_an_id_fits_into_one_part_of_an_address() -> None:
    for wallet in ("a/b", "a b", "x" * 255, "?", "#"):
        name = schedule_id("cleanup", wallet, SIDE)
        assert not {*"/ ?#"} & {*name}
        assert len(name) < 60
