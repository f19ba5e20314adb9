"""Types of arguments that the tools of engram share."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from day1.call.fields import Label
from day1.errors import InvalidRequest
from day1.model.rows.origin import MAX_LABEL
from day1.model.rows.validation import clean
from day1.services.lessons.portable import space_of, tags_of

_MOST_TAGS = 100


def _valid_project(project: str) -> str:
    try:
        space_of(project)
    except InvalidRequest as exc:
        raise ValueError(str(exc)) from exc
    return project


Project = Annotated[Label, AfterValidator(_valid_project)]
"""A project's name, as the caller writes it."""


def _few_short_tags(tags_argument: str | list[str] | None) -> str | list[str] | None:
    tags = tags_of(tags_argument)
    if len(tags) > _MOST_TAGS or any(len(clean(tag)) > MAX_LABEL for tag in tags):
        raise ValueError(
            f"must be at most {_MOST_TAGS} tags of at most {MAX_LABEL} characters each"
        )
    return tags_argument


def _as_text(schema: dict[str, Any]) -> None:
    """Declare the argument as text, as the contract does; a list is accepted too."""
    schema.clear()
    schema["type"] = "string"


Tags = Annotated[
    str | list[str] | None, AfterValidator(_few_short_tags), Field(json_schema_extra=_as_text)
]
"""Tags, separated by commas or as a list."""
