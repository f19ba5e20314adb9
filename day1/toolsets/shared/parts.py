"""The place of a memory in a text that is kept in parts, as tools show it."""

from day1.call.fields import Response
from day1.model.values.parts import Part


class PartShown(Response):
    """The place of a memory in a longer text, and the parts around it."""

    place: str
    """Such as `part 2 of 11`."""
    before: str | None
    """The id of the part before; null for the first one."""
    after: str | None


def part_shown(part: Part | None) -> PartShown | None:
    """The place of a found row; None if it is a text of its own."""
    if part is None:
        return None
    return PartShown(place=str(part), before=part.before, after=part.after)
