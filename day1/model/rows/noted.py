"""What the columns `tags` and `detail` hold, whoever wrote them."""

import json
from typing import Any

from day1.model.rows.kind import Cell


def listed(tags: Cell) -> list[str]:
    """The tags of a row."""
    found = _read(tags)
    return [tag for tag in found if isinstance(tag, str)] if isinstance(found, list) else []


def noted(detail: Cell) -> dict[str, Any]:
    """What is noted of a row: `key` or `id` as the caller named it, its `metadata`, its sources."""
    found = _read(detail)
    return found if isinstance(found, dict) else {}


def _read(cell: Cell) -> Any:
    try:
        return None if cell is None else json.loads(str(cell))
    except ValueError:  # masked, or another program's
        return None
