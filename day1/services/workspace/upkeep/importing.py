"""Importing lines of items, in one unit of work.

A line keeps its id where that is one of day1's and free; else its id follows from its words, so
that a second import brings nothing new. A row with the same words, source and tags is a duplicate.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from day1.model.files.item_lines import BadLine, ItemLine, Key, NumberedLine
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Message, Query
from day1.model.rows.json_columns import read_tags
from day1.model.rows.kind import FACT, OBSERVATION, Kind, Row, kind_of
from day1.model.values.ids import content_hash, derived_id, is_made
from day1.model.workspace.item import VIA, kind_of_type, source_of
from day1.ports.additions import Additions
from day1.ports.reading import Reading
from day1.services.access.calls import Writing
from day1.services.branches.lookup import find_open_again
from day1.services.rows.recording import BranchAfter
from day1.services.workspace.items import KINDS, present_items
from day1.services.workspace.storing import NewItem, add_links, missing_links


class Duplicate(NamedTuple):
    """A line that memory has already: its number from 1, and the row."""

    number: int
    row_id: str


@dataclass(slots=True)
class Incoming:
    """The lines of a file, sorted into new items, duplicates and bad lines."""

    fresh: dict[str, ItemLine] = field(default_factory=dict)
    """By id of the new row, in the order of the file."""
    duplicates: list[Duplicate] = field(default_factory=list)
    bad: list[BadLine] = field(default_factory=list)
    row_by_file_id: dict[str, str] = field(default_factory=dict)
    """By id in the file, the id of the row that has the item after the import."""
    links: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of rows to link: both ends are in the file."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import, and the state of the branch."""

    incoming: Incoming
    after: BranchAfter


def import_items(write: Writing, lines: Sequence[NumberedLine], *, dedupe: bool) -> Imported:
    """Import lines as one commit; without anything new, leave none.

    Raises:
        BranchClosed, BranchProtected: the branch was closed or protected meanwhile.
    """
    repo = write.repo
    with repo.store.adding(find_open_again(repo, write.branch).name) as unit_of_work:
        incoming = sort_lines(unit_of_work, write, lines, dedupe=dedupe)
        branch_after = BranchAfter.of(unit_of_work, 0)
        if incoming.fresh or missing_links(unit_of_work, incoming.links):
            changing_unit = unit_of_work.to_change()
            add_incoming(changing_unit, write, incoming)
            repo.point("gwt.imported")
            new_item_count = len(incoming.fresh)
            commit_title = f"import {new_item_count} {'row' if new_item_count == 1 else 'rows'}"
            branch_after = BranchAfter(
                changing_unit.commit(Message("import", commit_title)), 0, changing_unit.now
            )
    return Imported(incoming, branch_after)


def sort_lines(
    reading: Reading,
    write: Writing,
    lines: Sequence[NumberedLine],
    *,
    dedupe: bool,
    removed_ids: Collection[str] = (),
) -> Incoming:
    """Sort lines into new items, duplicates of items in memory, and bad lines.

    Args:
        reading: the state of the branch, under its lock.
        write: the space of new rows, and their author.
        lines: the lines of the file.
        dedupe: whether lines that memory has are left out.
        removed_ids: ids of rows that do not count, since they are about to be removed.
    """
    now, incoming = write.repo.clock(), Incoming()
    redacted_hashes = write.repo.ledger.mask().hashes | {REDACTED_HASH}
    row_id_by_key = dict(_present(reading, write, now, removed_ids)) if dedupe else {}
    item_keys = [_key(line, write) for _, line in lines]
    possible_ids_by_line = [
        _ids(line, item_key, write) for (_, line), item_key in zip(lines, item_keys, strict=True)
    ]
    taken_ids = _taken(reading, itertools.chain.from_iterable(possible_ids_by_line))
    for (line_number, line), item_key, possible_ids in zip(
        lines, item_keys, possible_ids_by_line, strict=True
    ):
        if refusal := _refusal(line, redacted_hashes, now):
            incoming.bad.append(BadLine(line_number, refusal))
            continue
        row_id = row_id_by_key.get(item_key) if dedupe else None
        if row_id is not None:
            incoming.duplicates.append(Duplicate(line_number, row_id))
        else:
            kind = kind_of_type(line.memory_type)
            row_id = next(
                (possible_id for possible_id in possible_ids if possible_id not in taken_ids), None
            )
            row_id = row_id or write.repo.new_id(kind.prefix, now)
            row_id_by_key[item_key] = row_id
            taken_ids.add(row_id)
            incoming.fresh[row_id] = line
        if line.id is not None:
            incoming.row_by_file_id.setdefault(line.id, row_id)
    incoming.links = links_in(lines, incoming.row_by_file_id)
    return incoming


def add_incoming(work: Additions, write: Writing, incoming: Incoming) -> int:
    """Add the new rows and links of an import in open work; return how many rows."""
    rows_by_kind: dict[Kind, list[Row]] = {}
    for row_id, line in incoming.fresh.items():
        has_later_access = line.last_accessed not in {None, line.created_at}
        new_item = NewItem(
            line.content,
            line.memory_type,
            line.tags,
            source=line.source,
            happened_at=line.created_at,
            space=write.space,
            last_accessed=line.last_accessed if has_later_access else None,
            expires_at=line.expires_at,
            valid_until=line.valid_until,
        )
        kind = kind_of_type(line.memory_type)
        rows_by_kind.setdefault(kind, []).append(new_item.row(row_id, write.origin, work.now))
    for kind, rows in rows_by_kind.items():
        work.add(kind, rows)
    linked_rows = [
        [Row({"id": row_id, "space": write.space}) for row_id in id_pair]
        for id_pair in incoming.links
    ]
    add_links(
        work, [(first_row, second_row) for first_row, second_row in linked_rows], write.origin
    )
    return len(incoming.fresh)


def _key(line: ItemLine, write: Writing) -> Key:
    """Return the key that equal items share; a missing source becomes that of a new row."""
    words, source, tags = line.key
    return words, source or write.origin.source, tags


def ids_of(line: ItemLine, write: Writing) -> list[str]:
    """Return the ids that the row of a line may get: its own, then the id made of its words."""
    return _ids(line, _key(line, write), write)


def _ids(line: ItemLine, key: Key, write: Writing) -> list[str]:
    """Return the ids that the row of a line with this key may get."""
    prefix = kind_of_type(line.memory_type).prefix
    words, source, tags = key
    id_from_words = derived_id(prefix, None, VIA, write.space or "", words, source, *tags)
    has_usable_id = line.id is not None and is_made(prefix, line.id)
    return [str(line.id), id_from_words] if has_usable_id else [id_from_words]


def _present(
    reading: Reading, write: Writing, now: int, removed_ids: Collection[str]
) -> Iterator[tuple[Key, str]]:
    """Yield the keys of the items in the space of an import, each with the id of its row."""
    for kind in KINDS:
        columns = ("id", str(kind.text), "tags", "detail", "source")
        query = present_items((write.space,), now)[kind.table]
        for row_id, text, tags, detail, source in reading.scan(kind, columns, query):
            if row_id not in removed_ids:
                item = ItemLine(
                    str(text), tags=tuple(read_tags(tags)), source=source_of(detail, source)
                )
                yield item.key, str(row_id)


def _taken(reading: Reading, ids: Iterable[str]) -> set[str]:
    """Return which of these ids rows of the branch have, visible to the caller or not."""
    ids_by_kind: dict[Kind, list[str]] = {kind: [] for kind in KINDS}
    for row_id in ids:
        ids_by_kind[FACT if kind_of(row_id) is FACT else OBSERVATION].append(row_id)
    return {
        str(row_id)
        for kind, kind_ids in ids_by_kind.items()
        for (row_id,) in reading.scan(kind, ("id",), Query(among={"id": kind_ids}))
    }


def _refusal(line: ItemLine, redacted: Collection[str], now: int) -> str | None:
    """Return the reason why a line cannot be imported; None if it can."""
    if content_hash(line.content) in redacted:
        return "its text was redacted in this store"
    end_times = [
        end_time for end_time in (line.expires_at, line.valid_until) if end_time is not None
    ]
    return (
        "it has expired, or its valid time has ended"
        if end_times and min(end_times) <= now
        else None
    )


def links_in(
    lines: Sequence[NumberedLine], row_by_file_id: Mapping[str, str]
) -> list[tuple[str, str]]:
    """Return the pairs of rows that a file links, each once; both ends are in the file."""
    linked_pairs: dict[tuple[str, str], None] = {}
    for _, line in lines:
        row_id = None if line.id is None else row_by_file_id.get(line.id)
        for linked_file_id in line.linked_ids if row_id is not None else ():
            linked_row_id = row_by_file_id.get(linked_file_id)
            if linked_row_id is not None and linked_row_id != row_id:
                linked_pairs[min(str(row_id), linked_row_id), max(str(row_id), linked_row_id)] = (
                    None
                )
    return list(linked_pairs)
