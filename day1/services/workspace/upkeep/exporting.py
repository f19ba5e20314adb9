"""Export the items that a caller sees as lines, without secret and ended ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from day1.errors import InvalidRequest
from day1.model.files.item_lines import ItemLine, written_lines
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Query, ReadState, Ref
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import when
from day1.model.values.instant import parse
from day1.model.workspace.item import VIA, Item
from day1.ports.reading import Reading
from day1.services.access.calls import Call, spaces_of
from day1.services.workspace.desks import mind_of, seat_of
from day1.services.workspace.items import KINDS, Spaces, links_of, present_items

Uses = Mapping[str, tuple[int, int]]
"""Id of a row -> how many questions found it, and when the last one did."""
_NO_USES: Final[Uses] = {}


@dataclass(frozen=True, slots=True)
class Exported:
    """Items as lines, and the state that they were read from."""

    jsonl: str
    count: int
    branch: str
    state: ReadState


def export_items(call: Call, memory_type: str | None = None, tag: str | None = None) -> Exported:
    """Write the items that a call sees as lines: all, or those of a type and with a tag.

    Raises:
        Refused: the lines have more bytes than a call answers.
        UnknownBranch: the branch of the call is gone.
    """
    repo, seat, spaces = call.repo, seat_of(call), spaces_of(call, None)
    uses_by_row, now = mind_of(repo, seat).uses, repo.clock()
    with repo.store.reading(repo.shown(Ref(branch=seat.branch.name))) as reading:
        shown_items = [
            item
            for item in present_rows(reading, spaces, now)
            if memory_type in {None, item.memory_type} and (tag is None or tag in item.tags)
        ]
        lines = lines_of(reading, shown_items, spaces, now, uses_by_row)
        read_state = reading.state
    return Exported(written_lines(lines), len(lines), seat.branch.name, read_state)


def present_rows(
    reading: Reading, spaces: Spaces, now: int, query: Query | None = None
) -> list[Item]:
    """Read the items that may be shown at an instant, without redacted ones.

    Args:
        reading: the state.
        spaces: the spaces that the caller sees; empty: all.
        now: the instant: microseconds UTC.
        query: further conditions.
    """
    query_by_table = present_items(spaces, now, query)
    return [
        Item(kind, row)
        for kind in KINDS
        for row in map(kind.row, reading.scan(kind, kind.columns, query_by_table[kind.table]))
        if row["content_hash"] != REDACTED_HASH
    ]


def lines_of(
    reading: Reading, items: Iterable[Item], spaces: Spaces, now: int, uses: Uses = _NO_USES
) -> list[ItemLine]:
    """Build the lines of items, with the visible items that each is linked with."""
    item_by_id = {item.id: item for item in items}
    linked_ids_by_row = links_of(reading, item_by_id, spaces, now, item_by_id.keys()).ids
    return [
        _line(item, tuple(sorted(linked_ids_by_row[row_id])), uses.get(row_id))
        for row_id, item in item_by_id.items()
    ]


def _line(item: Item, linked: tuple[str, ...], use: tuple[int, int] | None) -> ItemLine:
    row, created_at = item.row, when(item.row)
    access_times = (_imported_access(item), None if use is None else use[1])
    end_by_column = {"expires_at": row["expires_at"], "valid_until": row.get("valid_until")}
    return ItemLine(
        content=item.text,
        memory_type=item.memory_type,
        tags=tuple(item.tags),
        source=item.source,
        id=item.id,
        linked_ids=linked,
        created_at=created_at,
        last_accessed=max(
            [created_at, *(access_time for access_time in access_times if access_time is not None)]
        ),
        **{
            column: None if end_time is None else int(end_time)
            for column, end_time in end_by_column.items()
        },
    )


def _imported_access(item: Item) -> int | None:
    """Return when an item was last used before its import; None if its line did not say."""
    detail = read_detail(item.row["detail"])
    access_text = detail.get("last_accessed") if detail.get("via") == VIA else None
    try:
        return parse(access_text) if isinstance(access_text, str) else None
    except InvalidRequest:  # another program wrote it
        return None
