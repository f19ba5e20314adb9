"""Storing a text with a vector of the caller's, once for each text of a space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from day1.model.branches.branch import Branch
from day1.model.contexts import given_vector
from day1.model.rows.change import Message
from day1.model.rows.kind import FACT, Row
from day1.model.rows.origin import Origin
from day1.services.items.remembering import Remembered, ToRemember, known_text, new_columns
from day1.services.repository.repository import Repository
from day1.services.rows.editing import Editor


@dataclass(frozen=True, slots=True)
class ToIndex:
    """A text to store, and its vector if another model than day1's made it."""

    memory: ToRemember
    vector: Sequence[float] | None = None


def index_text(repo: Repository, branch: Branch, new: ToIndex, origin: Origin) -> Remembered:
    """Store a text with its vector; the same text of the same space is changed in place."""
    vector_text = None if new.vector is None else given_vector.as_kept(new.vector)
    with repo.store.adding(branch.name) as adding_unit:
        row = {**new.memory.row(repo, origin, adding_unit), "vector": vector_text}
        existing_row = known_text(adding_unit, row)
        if existing_row is None:
            adding_unit.add(FACT, [row])
            return Remembered(row, adding_unit.tip, adding_unit.pending.count + 1)
        columns: Row = new_columns(new.memory, existing_row)
        if vector_text is not None:
            columns["vector"] = vector_text
        if all(existing_row[column] == cell for column, cell in columns.items()):
            return Remembered(existing_row, adding_unit.tip, adding_unit.pending.count, "known")
        editor = Editor(repo, adding_unit.to_change(), origin)
        changed_row = editor.change(FACT, existing_row, columns)
        commit_line = f"index fact {existing_row['id']}: {', '.join(changed_row.groups)}"
        return Remembered(changed_row.row, editor.work.commit(Message("change", commit_line)))
