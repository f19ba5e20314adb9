"""Replacing the memory that a caller owns by the lines of a file, in one commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from day1.errors import InvalidRequest
from day1.model.files.item_lines import BadLine, ItemLine, NumberedLine
from day1.model.rows.change import Message
from day1.model.rows.kind import RELATION, Row
from day1.model.workspace.item import link_id
from day1.ports.reading import Reading
from day1.services.access.calls import Writing
from day1.services.branches.lookup import find_open_again
from day1.services.rows.editing import Editor
from day1.services.rows.recording import BranchAfter
from day1.services.workspace.storing import missing_links
from day1.services.workspace.upkeep.importing import (
    Duplicate,
    Incoming,
    add_incoming,
    ids_of,
    links_in,
    sort_lines,
)
from day1.services.workspace.upkeep.removing import (
    Backup,
    BranchIngestion,
    Owner,
    back_up,
    count_present,
    links_at,
    owned,
    snapshot_before,
)


@dataclass(frozen=True, slots=True)
class Replaced:
    """What came in and what was removed, and the state of the branch."""

    incoming: Incoming
    deleted: int
    kept: int
    """The items of the branch that others own."""
    backup: Backup
    """The items that the caller owned before."""
    snapshot_id: str | None
    """None: the caller owned nothing."""
    after: BranchAfter


def replace_memory(write: Writing, lines: Sequence[NumberedLine]) -> Replaced:
    """Replace the items that the caller owns by those of a file; a revert undoes it.

    An item that the file has as it is stays, so that the same file changes nothing.

    Raises:
        InvalidRequest: a line may not come in; then nothing is removed.
        Refused: the backup has more bytes than a call answers; then nothing is removed.
        BranchClosed, BranchProtected: the branch was closed or protected meanwhile.
    """
    repo, now = write.repo, write.repo.clock()
    snapshot_id = snapshot_before(write, "a restore") if owned(write) else None
    with repo.store.adding(find_open_again(repo, write.branch).name) as unit_of_work:
        owner = Owner.of(write)
        own_item_by_id = {item.id: item for item in owner.items(unit_of_work, now)}
        backup = back_up(unit_of_work, list(own_item_by_id.values()), owner, now)
        kept_count = count_present(unit_of_work, now) - len(own_item_by_id)
        staying_id_by_line = dict(_staying(lines, backup.lines, write))
        removed_ids = own_item_by_id.keys() - staying_id_by_line.values()
        incoming = _incoming(unit_of_work, write, lines, staying_id_by_line, removed_ids)
        outdated_links = _outdated_links(unit_of_work, incoming, set(staying_id_by_line.values()))
        branch_after = BranchAfter.of(unit_of_work, 0)
        if (
            removed_ids
            or incoming.fresh
            or outdated_links
            or missing_links(unit_of_work, incoming.links)
        ):
            changing_unit = unit_of_work.to_change()
            editor = Editor(repo, changing_unit, write.origin, "replaced by a file")
            BranchIngestion(editor).delete_items(
                [own_item_by_id[row_id] for row_id in sorted(removed_ids)]
            )
            if outdated_links:
                editor.remove([(RELATION, row) for row in outdated_links])
            add_incoming(changing_unit, write, incoming)
            repo.point("gwt.replaced")
            commit_title = f"replace {len(removed_ids)} memories by {len(incoming.fresh)}"
            branch_after = BranchAfter(
                changing_unit.commit(Message("import", commit_title)), 0, changing_unit.now
            )
    return Replaced(incoming, len(removed_ids), kept_count, backup, snapshot_id, branch_after)


def refuse_bad(bad: Sequence[BadLine]) -> None:
    """Refuse a file that has lines which cannot be used.

    Raises:
        InvalidRequest: it has some; the message names the first, the details name more.
    """
    if not bad:
        return
    first_bad = min(bad)
    count_sentence = f" {len(bad):,} lines are bad." if len(bad) > 1 else ""
    raise InvalidRequest(
        f"Line {first_bad.number} of `jsonl` cannot be used: {first_bad.error}.{count_sentence} "
        "Nothing was removed: mend the file, or restore it with `mode` merge, to skip bad lines.",
        line=first_bad.number,
        mode="replace",
        errors=[{"line": line.number, "error": line.error} for line in sorted(bad)[:100]],
        error_count=len(bad),
    )


def _staying(
    lines: Sequence[NumberedLine], own: Sequence[ItemLine], write: Writing
) -> Iterator[tuple[int, str]]:
    """Yield the number of each line that equals an owned item, and the id of the item's row."""
    unmatched_line_by_id: dict[str, ItemLine] = {str(line.id): line for line in own}
    for number, line in lines:
        for row_id in ids_of(line, write):
            if row_id in unmatched_line_by_id and _equals_line(
                line, unmatched_line_by_id[row_id], write
            ):
                del unmatched_line_by_id[row_id]
                yield number, row_id
                break


def _equals_line(line: ItemLine, own: ItemLine, write: Writing) -> bool:
    """Whether an item equals a line of a file; values that the line leaves out do not count."""
    expected = replace(
        line,
        id=own.id,
        linked_ids=own.linked_ids,
        source=line.source or write.origin.source,
        created_at=own.created_at if line.created_at is None else line.created_at,
        last_accessed=own.last_accessed if line.last_accessed is None else line.last_accessed,
    )
    return expected == own


def _incoming(
    reading: Reading,
    write: Writing,
    lines: Sequence[NumberedLine],
    staying: Mapping[int, str],
    removed_ids: set[str],
) -> Incoming:
    """Sort the lines of a file into new items and duplicates, such as lines of items that stay."""
    other_lines = [line for line in lines if line.number not in staying]
    incoming = sort_lines(reading, write, other_lines, dedupe=True, removed_ids=removed_ids)
    refuse_bad(incoming.bad)
    incoming.duplicates = sorted(
        [*incoming.duplicates, *(Duplicate(*number_and_id) for number_and_id in staying.items())]
    )
    for number, line in lines:
        if number in staying and line.id is not None:
            incoming.row_by_file_id[line.id] = staying[number]
    incoming.links = links_in(lines, incoming.row_by_file_id)
    return incoming


def _outdated_links(reading: Reading, incoming: Incoming, staying: set[str]) -> list[Row]:
    """Find the links between staying items that the file does not have."""
    incoming_links = {link_id(*id_pair) for id_pair in incoming.links}
    return [
        row
        for row in links_at(reading, sorted(staying))
        if {str(row["source_entity"]), str(row["target_entity"])} <= staying
        and str(row["id"]) not in incoming_links
    ]
