"""The place of a memory in a text that is kept in parts, as tools show it."""

from operator import not_
from typing import Annotated

from pydantic import Field

from day1.call.fields import Response
from day1.model.values.parts import Part


class PartShown(Response):
    """The place of a memory in a longer text, and the parts around it."""

    place: str
    """Such as `part 2 of 11`."""
    before: str | None
    """The id of the part before; null for the first one."""
    after: str | None


PartOfText = Annotated[PartShown | None, Field(exclude_if=not_)]
"""The place of a memory in an answer, which leaves it out of a memory that is no part."""


def part_shown(part: Part) -> PartShown:
    """The place of a found row."""
    return PartShown(place=str(part), before=part.before, after=part.after)
