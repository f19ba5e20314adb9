"""The columns that a correction sets, checked."""

from typing import Final, Protocol

from day1.errors import InvalidRequest
from day1.model.redaction.retention import parse_optional, sensitivity_of, valid_time
from day1.model.rows.kind import Cell
from day1.model.values.space import EVERY, SHARED
from day1.toolsets.shared.given import refuse_marks


class Corrected(Protocol):
    """The columns that a request sets; None: the column stays as it is."""

    @property
    def fact_text(self) -> str | None:
        """The new text."""

    @property
    def category(self) -> str | None:
        """The new category."""

    @property
    def confidence(self) -> float | None:
        """The new confidence, from 0 to 1."""

    @property
    def happened_at(self) -> str | None:
        """The new time at which it was true, or became so (ISO 8601)."""

    @property
    def valid_until(self) -> str | None:
        """When it ceased to be true (ISO 8601), or `never`."""

    @property
    def expires_at(self) -> str | None:
        """When answers stop showing it (ISO 8601), or `never`."""

    @property
    def space(self) -> str | None:
        """The space to move it to; `shared`: none."""

    @property
    def sensitivity(self) -> str | None:
        """The new sensitivity: `secret` or `public`."""


_TIMES: Final = ("happened_at", "valid_until", "expires_at")
_COLUMNS: Final = ("fact_text", "category", "confidence", *_TIMES, "space", "sensitivity")


def corrected_columns(request: Corrected) -> dict[str, Cell]:
    """Return the columns that a request sets.

    Raises:
        InvalidRequest: it sets none, the valid time ends before it begins, the space is `*`, or a
            text is the placeholder of hidden words.
    """
    value_by_column: dict[str, Cell] = {
        column: value
        for column in ("fact_text", "category", "confidence")
        if (value := getattr(request, column)) is not None
    }
    value_by_column |= _retention_columns(request)
    if not value_by_column:
        raise InvalidRequest(
            f"No column to change is given: give at least one of {', '.join(_COLUMNS)}."
        )
    refuse_marks(value_by_column)
    return value_by_column


def _retention_columns(request: Corrected) -> dict[str, Cell]:
    """Return the times, the space and the sensitivity that a request sets.

    Raises:
        InvalidRequest: the valid time ends before it begins, or the space is `*`.
    """
    valid_time(request.happened_at, request.valid_until)
    value_by_column: dict[str, Cell] = {
        column: parse_optional(getattr(request, column))
        for column in _TIMES
        if getattr(request, column) is not None
    }
    if request.space == EVERY:
        raise InvalidRequest(
            "A memory has one space or none, not all spaces: name one, or `shared` for none."
        )
    if request.space is not None:
        value_by_column["space"] = None if request.space == SHARED else request.space
    if request.sensitivity is not None:
        value_by_column["sensitivity"] = sensitivity_of(request.sensitivity)
    return value_by_column
