"""Patterns and skills as facts: their text, and the JSON in `structure`."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from day1.model.rows.kind import Cell, canonical
from day1.model.skills.mined import Steps

PATTERN: Final = "pattern"
"""The category of facts that are patterns."""
SKILL: Final = "skill"
"""The category of facts that are skills."""
TOOL_SEQUENCE: Final = "tool_sequence"
"""The type of the patterns that day1 mines."""
TYPES: Final = frozenset({"routine", "decision", "response", TOOL_SEQUENCE})
_TRIGGERS: Final = frozenset({"intent", "keyword", "context", "state"})
_ARROW: Final = " \u2192 "


@dataclass(frozen=True, slots=True)
class Structure:
    """The JSON in the fact of a pattern or skill."""

    type: str
    trigger: Mapping[str, Any]
    steps: Steps
    name: str | None = None
    """The name of a skill; a pattern has none."""

    @property
    def summary(self) -> str:
        """The steps as a line of text."""
        return _ARROW.join(self.steps)

    @property
    def text(self) -> str:
        """The text of the fact."""
        return self.summary if self.name is None else f"{self.name}: {self.summary}"

    @property
    def cell(self) -> str:
        """The value of the column `structure`."""
        steps = [{"action": name, "order": number} for number, name in enumerate(self.steps, 1)]
        value_by_name = {"type": self.type, "trigger": dict(self.trigger), "steps": steps}
        return canonical(
            value_by_name if self.name is None else {"name": self.name, **value_by_name}
        )


def of_tools(steps: Steps) -> Structure:
    """Describe a pattern of tools; its trigger is the first tool, never the words of a message."""
    return Structure(TOOL_SEQUENCE, {"type": "context", "value": steps[0]}, steps)


def read_structure(cell: Cell) -> Structure | None:
    """Read the structure of a pattern or skill; None if it is masked or somebody else's."""
    try:
        parsed_json = json.loads(str(cell))
        steps = tuple(str(step["action"]) for step in parsed_json["steps"])
        trigger, name = parsed_json["trigger"], parsed_json.get("name")
        is_valid = parsed_json["type"] in TYPES and trigger["type"] in _TRIGGERS
        is_valid = is_valid and isinstance(trigger["value"], str) and isinstance(name, str | None)
    except (ValueError, TypeError, KeyError):
        return None
    return Structure(parsed_json["type"], trigger, steps, name) if is_valid and steps else None
