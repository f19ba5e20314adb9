"""A lesson: a situation, the approach taken in it, and its result."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Final

from day1.model.rows.kind import Cell, canonical

LABEL: Final = "Context"
"""The first words of every lesson's text."""


@dataclass(frozen=True, slots=True)
class Experience:
    """The three parts of a lesson."""

    context: str
    action: str
    result: str

    @property
    def text(self) -> str:
        """The three parts as one text, each with its name; search indexes it."""
        return f"{LABEL}: {self.context}\nAction: {self.action}\nResult: {self.result}"

    @property
    def structure(self) -> str:
        """The three parts in the form in which the row keeps them beside the text."""
        return canonical(asdict(self))

    @property
    def parts(self) -> tuple[str, str, str]:
        """The three texts."""
        return self.context, self.action, self.result


def experience_of(row: Mapping[str, Cell]) -> Experience | None:
    """Read the three parts of a row; None for a row that is not a lesson."""
    stored_json = row.get("structure")
    if stored_json is None:
        return None
    text_by_part = json.loads(str(stored_json))
    part_names = [field.name for field in fields(Experience)]
    if not isinstance(text_by_part, dict) or text_by_part.keys() != set(part_names):
        return None
    part_values = [text_by_part[name] for name in part_names]
    return (
        Experience(*part_values)
        if all(isinstance(part_value, str) for part_value in part_values)
        else None
    )
