"""Types of arguments that the tools of Kompanion share."""

from functools import lru_cache
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field

from day1.call.fields import Label
from day1.errors import InvalidRequest
from day1.model.rows.validation import clean
from day1.model.values.space import MAX_SPACE, space_name

_MOST_TAGS: Final = 100
SHARED: Final = "shared"
"""The namespace of rows that belong to no space."""
_NAMES: Final = 1_024
"""Number of namespaces cached with their spaces: a client names the same few in all calls."""


@lru_cache(_NAMES)
def _named(text: str) -> str:
    try:
        return SHARED if space_of(clean(text)) is None else text
    except InvalidRequest as exc:
        raise ValueError(str(exc)) from exc


@lru_cache(_NAMES)
def space_of(namespace: str) -> str | None:
    """Return the space of a namespace; None for `shared`.

    Raises:
        InvalidRequest: the namespace is not a valid name of a space.
    """
    return None if namespace.strip().casefold() == SHARED else space_name(namespace)


SpaceLabel = Annotated[str, Field(min_length=1, max_length=MAX_SPACE), AfterValidator(_named)]
"""A namespace, as the caller writes it."""


def _few(tags: list[str]) -> list[str]:
    if len(tags) > _MOST_TAGS:
        raise ValueError(f"must be at most {_MOST_TAGS} words")
    return tags


Tags = Annotated[list[Label], AfterValidator(_few)]
"""Short words; the schema states no maximum, because agents pay for each word of a schema."""
Sensitivity = Literal["normal", "secret"]
