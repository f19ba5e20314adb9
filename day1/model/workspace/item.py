"""Items of a workspace: facts and observations under the four memory types of the contract."""

from collections.abc import Mapping
from typing import Any, Final, Literal, get_args

from day1.model.rows.kind import FACT, OBSERVATION, Kind, Row, canonical

MemoryType = Literal["semantic", "episodic", "procedural", "working"]
MEMORY_TYPES: Final[tuple[str, ...]] = get_args(MemoryType)

VIA: Final = "gwt"
"""The value of `via` in the detail of rows that the tools of gwt wrote."""
LINKED: Final = "linked"
"""The type of the relations between items."""
_PROCEDURAL: Final = "procedural"
"""The category of procedural facts; any other fact is semantic."""
_WORKING: Final = "working"
"""The type of working observations; any other observation is episodic."""
_EPISODE: Final = "episode"


def kind_of_type(memory_type: str) -> Kind:
    """Return the kind of the rows of a memory type."""
    return FACT if memory_type in {"semantic", "procedural"} else OBSERVATION


def label_of_type(memory_type: str) -> str | None:
    """Return the category of a new fact, or the type of a new observation, of a memory type."""
    labels = {"procedural": _PROCEDURAL, "working": _WORKING, "episodic": _EPISODE}
    return labels.get(memory_type)


def type_of(kind: Kind, row: Row) -> MemoryType:
    """Tell the memory type of a fact or observation, whoever wrote it."""
    if kind is FACT:
        return "procedural" if row.get("category") == _PROCEDURAL else "semantic"
    return "working" if row.get("observation_type") == _WORKING else "episodic"


def detail_of(**more: Any) -> str:
    """Write the detail of a row that a tool of gwt writes: `more` without None, as JSON."""
    values: Mapping[str, Any] = {"via": VIA, **more}
    return canonical({name: value for name, value in values.items() if value is not None})
