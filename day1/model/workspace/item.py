"""Items of a workspace: facts and observations under the four memory types of the contract."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from day1.model.rows.json_columns import read_detail, read_tags
from day1.model.rows.kind import FACT, OBSERVATION, RELATION, Cell, Kind, Row, canonical, text_of
from day1.model.values.ids import derived_id

MemoryType = Literal["semantic", "episodic", "procedural", "working"]
MEMORY_TYPES: Final[tuple[str, ...]] = get_args(MemoryType)

VIA: Final = "gwt"
"""The value of `via` in the detail of rows that the tools of gwt wrote."""
LINKED: Final = "linked"
"""The `relation_type` of the relations between items."""
_PROCEDURAL: Final = "procedural"
"""The category of procedural facts; any other fact is semantic."""
_WORKING: Final = "working"
"""The type of working observations; any other observation is episodic."""
_EPISODE: Final = "episode"
_UNKNOWN: Final = "unknown"
"""The source shown for a row without one."""


def kind_of_type(memory_type: str) -> Kind:
    """Return the kind of the rows of a memory type."""
    return FACT if memory_type in {"semantic", "procedural"} else OBSERVATION


def label_of_type(memory_type: str) -> str | None:
    """Return the category of a new fact, or the type of a new observation, of a memory type."""
    label_by_type = {"procedural": _PROCEDURAL, "working": _WORKING, "episodic": _EPISODE}
    return label_by_type.get(memory_type)


def type_of(kind: Kind, row: Row) -> MemoryType:
    """Return the memory type of a fact or observation, also of one that gwt did not write."""
    if kind is FACT:
        return "procedural" if row.get("category") == _PROCEDURAL else "semantic"
    return "working" if row.get("observation_type") == _WORKING else "episodic"


def detail_of(**more: Any) -> str:
    """Write the detail of a row that a tool of gwt writes: `more` without None, as JSON."""
    value_by_name: Mapping[str, Any] = {"via": VIA, **more}
    return canonical({name: value for name, value in value_by_name.items() if value is not None})


@dataclass(frozen=True, slots=True)
class Item:
    """A fact or observation as gwt shows it."""

    kind: Kind
    row: Row

    @property
    def id(self) -> str:
        """The id of the row."""
        return str(self.row["id"])

    @property
    def text(self) -> str:
        """The whole text of the row."""
        return str(self.row[str(self.kind.text)])

    @property
    def memory_type(self) -> MemoryType:
        """The memory type of the row."""
        return type_of(self.kind, self.row)

    @property
    def tags(self) -> list[str]:
        """The tags of the row."""
        return read_tags(self.row["tags"])

    @property
    def created_at(self) -> int:
        """When the store learned the row (microseconds UTC)."""
        return int(self.row["created_at"] or 0)

    @property
    def is_own(self) -> bool:
        """Whether a tool of gwt wrote the row."""
        return read_detail(self.row["detail"]).get("via") == VIA

    @property
    def source(self) -> str:
        """The source of the item: the one in an imported line, else the row's column `source`."""
        return source_of(self.row["detail"], self.row["source"])


def source_of(detail: Cell, source: Cell) -> str:
    """Return the source of an item from the columns `detail` and `source` of its row."""
    detail_values = read_detail(detail)
    stored_source = detail_values.get("source") if detail_values.get("via") == VIA else None
    return (
        stored_source
        if isinstance(stored_source, str) and stored_source
        else text_of(source) or _UNKNOWN
    )


def link_id(one: str, other: str) -> str:
    """Return the id of the relation that links two rows, whichever is named first.

    So a pair that is linked twice, or on two branches, has one row.
    """
    return derived_id(RELATION.prefix, None, VIA, LINKED, *sorted((one, other)))


def link_space(one: Row, other: Row) -> Cell:
    """Return the space of the link between two rows: that of the row that has one.

    It follows from the pair alone, as the id of the link does.
    """
    spaces = sorted(str(row["space"]) for row in (one, other) if row["space"] is not None)
    return spaces[0] if spaces else None
