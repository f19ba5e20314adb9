"""The rows and links of a branch that a workspace has read, kept while the branch does not change.

While a branch does not change, its rows can only disappear: they expire, or stop being true. So a
row that could not be shown once is not read again, and one that could be shown has its ends in its
columns. A fact that was derived from other rows ends with these, so it is not kept. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from day1.model.redaction.basis import may_derive
from day1.model.redaction.veil import is_expired
from day1.model.rows.change import ReadState
from day1.model.rows.kind import Kind, Row
from day1.model.workspace.item import Item

if TYPE_CHECKING:
    from day1.model.redaction.mask import Mask

_ROW_SIZE: Final = 1_000
"""The size of a row beside its text, in characters."""
_SMALL_SIZE: Final = 100
"""The size of an id without a row, and of a relation."""

Link = tuple[str, str]
"""The ids of two rows that are linked."""


@dataclass(frozen=True, slots=True)
class SeenRows:
    """Rows that may be shown at an instant, and the links between rows."""

    items: dict[str, Item]
    links: set[Link]


@dataclass(slots=True)
class KnownRows:
    """The rows that were read of a branch at one state, and their links; threads may share them."""

    state: ReadState
    mask: Mask
    """The redactions in force when the rows were read."""
    size: int = 0
    """The size of what is kept, in characters, roughly."""
    _known_ids: set[str] = field(default_factory=set)
    """The ids whose rows are kept, or have no row that may be shown."""
    _items: dict[str, Item] = field(default_factory=dict)
    _linked_ids: set[str] = field(default_factory=set)
    """The ids whose relations are kept, or that have none."""
    _relations: dict[str, Sequence[Row]] = field(default_factory=dict)
    """By id of a row, the relations from or to it."""
    _newest: dict[str, Mapping[Kind, Sequence[Row]]] = field(default_factory=dict)
    """By task, its newest rows of each kind."""

    def missing(self, ids: Collection[str], *, linked: bool) -> list[str]:
        """Return the ids whose row, or if `linked` whose relations, are not kept."""
        unknown_ids = set(ids).difference(self._linked_ids if linked else self._known_ids)
        return [row_id for row_id in ids if row_id in unknown_ids] if unknown_ids else []

    def keep_items(self, items: Mapping[str, Item | None]) -> None:
        """Keep rows that were read, by id; None for an id without a row that may be shown."""
        for row_id, item in items.items():
            if item is None:
                self.size += _SMALL_SIZE
            elif may_derive(item.row):
                continue
            else:
                self.size += _ROW_SIZE + len(item.text)
                self._items[row_id] = item
            self._known_ids.add(row_id)  # last: other threads look here first

    def keep_relations(self, relations: Mapping[str, Sequence[Row]]) -> None:
        """Keep all relations from or to some rows, by id of the row."""
        self._relations |= {
            row_id: row_relations for row_id, row_relations in relations.items() if row_relations
        }
        self._linked_ids |= relations.keys()
        self.size += _SMALL_SIZE * sum(
            1 + len(row_relations) for row_relations in relations.values()
        )

    def keep_newest(self, task_id: str, rows: Mapping[Kind, Sequence[Row]]) -> None:
        """Keep the newest rows of a task, unless one was derived from others."""
        if not any(may_derive(row) for kind_rows in rows.values() for row in kind_rows):
            self._newest[task_id] = rows
            self.size += _SMALL_SIZE * sum(map(len, rows.values()))

    def items(self, ids: Collection[str], now: int) -> dict[str, Item]:
        """Return the kept rows that may be shown at an instant, by id."""
        kept_items = {row_id: self._items[row_id] for row_id in ids if row_id in self._items}
        return {row_id: item for row_id, item in kept_items.items() if not is_over(item.row, now)}

    def links(self, ids: Collection[str], now: int) -> set[Link]:
        """Return the links from or to rows by their kept relations that are true at an instant."""
        linked_ids = self._relations.keys() & set(ids)
        relations = (row for row_id in linked_ids for row in self._relations[row_id])
        return {link_of(row) for row in relations if not is_over(row, now)}

    def newest(self, task_id: str, now: int) -> Mapping[Kind, Sequence[Row]] | None:
        """Return the newest rows of a task by kind; None if they are not kept, or one has ended."""
        newest_rows = self._newest.get(task_id, {})
        has_ended = any(
            is_over(row, now) for kind_rows in newest_rows.values() for row in kind_rows
        )
        return None if has_ended or not newest_rows else newest_rows


def link_of(relation: Row) -> Link:
    """Return the ids of the two rows that a relation links."""
    return str(relation["source_entity"]), str(relation["target_entity"])


def is_over(row: Row, now: int) -> bool:
    """Whether a row has expired, or stopped being true."""
    valid_until = row.get("valid_until")
    return is_expired(row, now) or (valid_until is not None and int(valid_until) <= now)
