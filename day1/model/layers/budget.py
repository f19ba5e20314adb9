"""How long a prompt may be: its characters, its items and the characters of an item."""

from dataclasses import dataclass
from typing import Final, Literal

Mode = Literal["compact", "balanced", "recall"]


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of a prompt. Characters are code points."""

    characters: int
    """Maximum number of characters of the whole prompt, with its frame."""
    items: int
    item_characters: int
    """Maximum number of characters of one item's text."""


_MODES: Final[dict[Mode, Budget]] = {
    "compact": Budget(900, 6, 300),
    "balanced": Budget(2_000, 12, 400),
    "recall": Budget(6_000, 24, 600),
}


def budget_of(
    mode: Mode | None,
    characters: int | None = None,
    items: int | None = None,
    item_characters: int | None = None,
) -> Budget:
    """Return the limits of a mode (default: balanced), each replaced by the given one, if any."""
    mode_budget = _MODES[mode or "balanced"]
    return Budget(
        characters or mode_budget.characters,
        items or mode_budget.items,
        item_characters or mode_budget.item_characters,
    )
