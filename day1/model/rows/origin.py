"""Who writes, for which session and task, and how the row came here."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import AfterValidator

from day1.errors import InvalidRequest

MAX_LABEL: Final = 255
"""Maximum number of characters of a short name."""
SourceName = Literal["user", "agent", "tool", "import", "merge"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Who wrote a row and how it came: columns that it gets once, when it first enters a store."""

    agent_id: str | None = None
    session_id: str | None = None
    task_id: str | None = None
    source: SourceName = "agent"


def named(value: object, what: str) -> str | None:
    """Check a name that no argument of a call passes, and return it; None if it is blank.

    Raises:
        InvalidRequest: it is no text, too long, or has characters that no name has.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if not isinstance(value, str) or len(value) > MAX_LABEL or not value.isprintable():
        raise InvalidRequest(f"{what} must be a name of at most {MAX_LABEL} printable characters.")
    return value


def _named_by_setting(value: str | None) -> str | None:
    try:
        return named(value, "it")
    except InvalidRequest as exc:
        raise ValueError(str(exc)) from exc


Name = Annotated[str | None, AfterValidator(_named_by_setting)]
"""The type of a setting that holds a name. A blank name becomes None."""
