"""Compacting working memory: the oldest items become one fact that names them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from day1.model.prime.framing import one_line
from day1.model.redaction.basis import COMPACTED
from day1.model.rows.change import Message
from day1.model.rows.kind import FACT, Row, canonical, when
from day1.model.values.instant import show
from day1.model.workspace.item import Item, detail_of
from day1.ports.reading import Reading
from day1.services.access.calls import Writing
from day1.services.branches.lookup import find_open_again
from day1.services.rows.bulk_writes import edits_of, was_removed
from day1.services.rows.deriving import add_new, basis_columns, basis_edit
from day1.services.rows.editing import Editor
from day1.services.rows.recording import BranchAfter, NewFact, fact_row
from day1.services.workspace.upkeep.removing import Backup, BranchIngestion, Owner, back_up

TAG: Final = "compaction:working"
"""The tag of a summary."""
_SOURCE: Final = "compaction"
_MAX_COMPACTED: Final = 1_000
"""Maximum number of items that become one fact: the oldest. Another call takes the next."""
_MAX_QUOTED: Final = 100
"""Maximum number of items that a summary quotes: the newest of them."""
_MAX_QUOTATION: Final = 160
"""Maximum number of characters of a quotation."""


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """Which working items become one fact."""

    compacted: Sequence[Item]
    """The items that become one fact, oldest first."""
    kept: int
    backup: Backup


@dataclass(frozen=True, slots=True)
class Compacted:
    """The result of compacting working memory, and the state of the branch."""

    plan: CompactionPlan
    summary_id: str | None
    """None: there was nothing to compact."""
    after: BranchAfter


def plan_compaction(reading: Reading, owner: Owner, keep: int, now: int) -> CompactionPlan:
    """Choose the oldest working items beyond the newest `keep` ones.

    An item that ends by itself is left alone: a summary that does not end may not have its words.
    So is an item that was removed before and is back: the earlier removal would hide the summary.

    Raises:
        Refused: their backup has more bytes than a call answers.
    """
    lasting_items = [
        item
        for item in owner.items(reading, now)
        if item.memory_type == "working" and item.row["expires_at"] is None
    ]
    lasting_items.sort(key=lambda item: (when(item.row), item.id))
    oldest_items = lasting_items[: max(0, len(lasting_items) - keep)]
    edits_by_id = edits_of(reading, [item.id for item in oldest_items])
    compacted_items = [
        item for item in oldest_items if not was_removed(edits_by_id.get(item.id, ()))
    ][:_MAX_COMPACTED]
    return CompactionPlan(
        compacted_items,
        len(lasting_items) - len(compacted_items),
        back_up(reading, compacted_items, owner, now),
    )


def compact_working(write: Writing, keep: int) -> Compacted:
    """Turn the oldest working items into one fact and remove them, in one commit.

    Raises:
        Refused: their backup has more bytes than a call answers.
        BranchClosed, BranchProtected: the branch was closed or protected meanwhile.
    """
    repo, now = write.repo, write.repo.clock()
    with repo.store.adding(find_open_again(repo, write.branch).name) as unit_of_work:
        plan = plan_compaction(unit_of_work, Owner.of(write), keep, now)
        if not plan.compacted:
            return Compacted(plan, None, BranchAfter.of(unit_of_work, 0))
        changing_unit = unit_of_work.to_change()
        source_rows = [item.row for item in plan.compacted]
        summary = _summary(write, plan.compacted, changing_unit.now)
        changing_unit.add(FACT, [summary])
        basis_values = basis_columns(FACT, str(summary["id"]), source_rows)
        add_new(changing_unit, [basis_edit(basis_values, write.origin, changing_unit.now)])
        # By this reason the removal of its sources does not hide the summary.
        editor = Editor(repo, changing_unit, write.origin, f"{COMPACTED}{summary['id']}")
        removed_count = BranchIngestion(editor).delete_items(plan.compacted)
        repo.point("gwt.compacted")
        commit_id = changing_unit.commit(
            Message("change", f"compact {removed_count} working memories")
        )
        return Compacted(plan, str(summary["id"]), BranchAfter(commit_id, 0, changing_unit.now))


def _summary(write: Writing, items: Sequence[Item], now: int) -> Row:
    """Build the fact that replaces items; it lists the ids of all and quotes the newest."""
    quoted_items = items[-_MAX_QUOTED:]
    first_date, last_date = (show(when(item.row))[:10] for item in (items[0], items[-1]))
    lines = [f"Summary of {len(items)} working memories, from {first_date} to {last_date}:"]
    if len(items) > len(quoted_items):
        lines.append(f"- {len(items) - len(quoted_items)} older ones")
    lines += [f"- {one_line(item.text, _MAX_QUOTATION)}" for item in quoted_items]
    row_id = write.repo.new_id(FACT.prefix, now)
    item_ids = [item.id for item in items]
    return fact_row(row_id, NewFact("\n".join(lines), space=write.space), write.origin, now) | {
        "tags": canonical([TAG]),
        "detail": detail_of(source=_SOURCE, sources=item_ids),
        "origin_id": item_ids[0],
    }
