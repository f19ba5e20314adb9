"""Answers that are built from records."""

from dataclasses import dataclass

import pytest
from pydantic import ValidationError

from day1.call.fields import Response, Time


@dataclass(frozen=True)
class Record:
    """A record with more than its answer shows."""

    name: str = "a"
    tags: tuple[str, ...] = ("b",)
    created_at: int = 0
    ended_at: int | None = None
    hidden: str = "c"


class Shown(Response):
    """What is shown of a record."""

    name: str
    tags: list[str]
    created_at: Time
    ended_at: Time | None
    note: str | None = None


def test_an_answer_has_the_fields_of_a_record_and_what_is_given_beside_them() -> None:
    assert Shown.from_record(Record(), name="given").model_dump() == {
        "name": "given",
        "tags": ["b"],
        "created_at": "1970-01-01T00:00:00.000000+00:00",
        "ended_at": None,
        "note": None,
    }


def test_a_field_that_neither_has_is_an_error() -> None:
    with pytest.raises(ValidationError, match="created_at"):
        Shown.from_record(object(), name="given", tags=[], ended_at=None)
