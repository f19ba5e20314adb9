"""Imported edits may list the sources of a row only if the row was imported too.

An edit that lists sources hides its row when they are hidden (`model.redaction.basis`), and a
merge takes edits without an approval. Without this rule a file could hide any fact of a branch.
"""

from collections.abc import Mapping, Sequence

from day1.model.redaction.basis import VERDICT_BASIS, sources_in
from day1.model.rows.kind import CONVERSATION, FACT, OBSERVATION, Kind, Row, kind_of
from day1.ports.store import Work
from day1.services.rows.bulk_writes import edits_of, was_removed

_DERIVED = frozenset({FACT, OBSERVATION, CONVERSATION})
"""Kinds whose rows can be derived from other rows."""


class Brought:
    """The rows that one import has added to a branch, or found equal there, so far."""

    def __init__(self) -> None:
        """Begin with no rows."""
        self._added: set[str] = set()
        self._alike: set[str] = set()
        """Ids of rows that the branch had already, equal to the imported ones."""

    def add(self, kind: Kind, added: Sequence[Row], alike: Sequence[Row]) -> None:
        """Remember rows that the import added and equal rows that the branch had already."""
        if kind in _DERIVED:
            self._added.update(str(row["id"]) for row in added)
            self._alike.update(str(row["id"]) for row in alike if row["id"] not in self._added)

    def unbound(self, work: Work, edits: Sequence[Row]) -> set[str]:
        """Return the ids of edits that would list sources of a row that was not imported.

        Args:
            work: the open unit of work on the branch.
            edits: new edits of the import.
        """
        listing_edits = [edit for edit in edits if sources_in(edit)]
        listing_edits = [edit for edit in listing_edits if edit["row_id"] not in self._added]
        if not listing_edits:
            return set()
        row_ids = sorted({str(edit["row_id"]) for edit in listing_edits})
        imported_edits_by_row: dict[str, list[Row]] = {}
        for edit in edits:
            imported_edits_by_row.setdefault(str(edit["row_id"]), []).append(edit)
        present_ids, present_edits_by_row = _present_rows(work, row_ids), edits_of(work, row_ids)
        return {
            str(edit["id"])
            for edit in listing_edits
            if not self._may_bind(
                edit, present_ids, present_edits_by_row, imported_edits_by_row[str(edit["row_id"])]
            )
        }

    def _may_bind(
        self,
        edit: Row,
        present_ids: set[str],
        present_edits: Mapping[str, Sequence[Row]],
        imported: Sequence[Row],
    ) -> bool:
        row_id = str(edit["row_id"])
        present_row_edits = present_edits.get(row_id, ())
        if row_id not in present_ids:  # edits of a removed row may still be there
            return was_removed([*present_row_edits, *imported])
        if row_id not in self._alike:
            return False
        # An interrupted import may have added the row, and not yet the edit with its sources.
        bound_source_ids = {
            source_id
            for listing_edit in present_row_edits
            if _is_about_text(listing_edit) == _is_about_text(edit)
            for source_id in sources_in(listing_edit)
        }
        return not bound_source_ids or bound_source_ids.issuperset(sources_in(edit))


def _is_about_text(edit: Row) -> bool:
    """Whether an edit lists the sources of the row's own words, not of its verdict."""
    return edit["cell"] != VERDICT_BASIS


def _present_rows(work: Work, row_ids: Sequence[str]) -> set[str]:
    """Return which of these ids are rows of the branch."""
    ids_by_kind: dict[Kind, list[str]] = {}
    for row_id in row_ids:
        kind = kind_of(row_id)
        if kind is not None:
            ids_by_kind.setdefault(kind, []).append(row_id)
    return {present_id for kind, ids in ids_by_kind.items() for present_id in work.get(kind, ids)}
