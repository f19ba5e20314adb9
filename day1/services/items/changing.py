"""Changing and removing items: facts in place, messages as a whole; each in one commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from day1.errors import InvalidRequest
from day1.model.branches.branch import Branch
from day1.model.contexts.keyed import sensitivity
from day1.model.rows.change import CommitId, Message, Ref
from day1.model.rows.kind import FACT, Row, canonical
from day1.model.rows.origin import Origin
from day1.services.items.finding import DELETED, Item, Narrowing, Spaces, item_of, unknown_item
from day1.services.items.remembering import refuse_redacted
from day1.services.repository.repository import Repository
from day1.services.rows.editing import Editor, Removal, remove


@dataclass(frozen=True, slots=True)
class ItemUpdate:
    """The new values of an item; None: the value is not changed."""

    text: str | None = None
    confidence: float | None = None
    metadata: Mapping[str, Any] | None = None
    """The new metadata in place of the old."""
    retention: str | None = None
    expires_at: int | None = None
    """When the item expires with this retention; None: never."""
    status: str | None = None
    """`active`, `archived` or `superseded`: the last two hide it from searches."""

    @property
    def named(self) -> list[str]:
        """The names of the values to change."""
        value_names = ("text", "confidence", "metadata", "retention", "status")
        return [name for name in value_names if getattr(self, name) is not None]


@dataclass(frozen=True, slots=True)
class ItemChanged:
    """An item after a change, and the state of the branch."""

    row: Row
    commit: CommitId
    pending: int
    is_changed: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """An item that a call names, and the spaces and conditions that it must meet."""

    item_id: str
    spaces: Spaces
    narrowing: Narrowing = field(default_factory=Narrowing)
    """Conditions that the item must meet; otherwise it is not found."""


def update_item(
    repo: Repository, branch: Branch, wanted: Wanted, update: ItemUpdate, origin: Origin
) -> ItemChanged:
    """Change a fact in place; a message keeps what it says.

    Raises:
        NotFound: the item is not in these spaces, or does not meet the conditions.
        InvalidRequest: the item is a message, and the update sets a value.
        Refused: the new text was redacted.
    """
    with repo.store.adding(branch.name) as adding_unit:
        item = item_of(adding_unit, wanted.spaces, wanted.item_id, adding_unit.now)
        if not wanted.narrowing.admits(item.detail):
            raise unknown_item(wanted.item_id)
        if item.kind is not FACT and update.named:
            raise _unchangeable(update)
        if update.text is not None:
            refuse_redacted(adding_unit, update.text)
        columns = {} if item.kind is not FACT else _columns(item, update)
        if all(item.row[column] == cell for column, cell in columns.items()):
            return ItemChanged(
                item.row, adding_unit.tip, adding_unit.pending.count, is_changed=False
            )
        editor = Editor(repo, adding_unit.to_change(), origin)
        changed_row = editor.change(FACT, item.row, columns)
        commit_line = f"change fact {wanted.item_id}: {', '.join(changed_row.groups)}"
        commit = editor.work.commit(Message("change", commit_line))
        return ItemChanged(changed_row.row, commit, 0, is_changed=True)


def _unchangeable(update: ItemUpdate) -> InvalidRequest:
    argument_names = ["content" if name == "text" else name for name in update.named]
    problem = "cannot be changed: this is a message, which stays as it was said"
    return InvalidRequest(
        f"{', '.join(argument_names)}: {problem}.",
        problems=[{"argument": name, "problem": problem} for name in argument_names],
    )


def _columns(item: Item, update: ItemUpdate) -> Row:
    """Return the columns of a fact that an update sets."""
    columns: Row = {}
    detail: dict[str, Any] = dict(item.detail)
    if update.text is not None:
        columns["fact_text"] = update.text
    if update.confidence is not None:
        columns["confidence"] = update.confidence
    if update.metadata is not None:
        detail["metadata"] = dict(update.metadata)
        columns["sensitivity"] = sensitivity(None, update.metadata) or item.row["sensitivity"]
    if update.retention is not None and update.retention != detail.get("retention"):
        detail["retention"] = update.retention
        columns["expires_at"] = update.expires_at
    if update.status == "active":
        detail.pop("status", None)
        if item.row["status"] == "superseded":  # its successor had ended its valid time
            columns |= {"superseded_by": None, "valid_until": None}
        columns["status"] = "active"
    elif update.status is not None:
        detail.pop("status", None)
        if update.status != item.row["status"]:
            columns["status"] = "archived"
            detail |= {"status": update.status} if update.status != "archived" else {}
    if detail != item.detail:
        columns["detail"] = canonical(detail) if detail else None
    return columns


def delete_item(repo: Repository, branch: Branch, wanted: Wanted, origin: Origin) -> ItemChanged:
    """Hide a fact from all readers, or remove a message from the branch; both can be reverted.

    Raises:
        NotFound: the item is not in these spaces, or was deleted already.
    """
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        item = item_of(reading, wanted.spaces, wanted.item_id, repo.clock())
    if item.kind is not FACT:
        removal_result = remove(repo, branch, Removal([wanted.item_id]), origin)
        return ItemChanged(item.row, removal_result.commit, 0, is_changed=True)
    with repo.store.changing(branch.name) as work:
        item = item_of(work, wanted.spaces, wanted.item_id, work.now)
        columns: Row = {
            "status": "archived",
            "detail": canonical({**item.detail, "status": DELETED}),
        }
        changed_row = Editor(repo, work, origin).change(FACT, item.row, columns)
        commit = work.commit(Message("change", f"delete fact {wanted.item_id}"))
        return ItemChanged(changed_row.row, commit, 0, is_changed=True)
