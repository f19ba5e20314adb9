"""Which imported edits may list the sources of a row: those whose row the same import brings.

An edit that lists sources hides its row with them (`model.redaction.basis`), and a merge takes
edits along without a look. So a file could hide any fact of the branch that it is imported to.
"""

from collections.abc import Mapping, Sequence

from day1.model.redaction.basis import VERDICT_BASIS, sources_in
from day1.model.rows.kind import CONVERSATION, FACT, OBSERVATION, Kind, Row, kind_of
from day1.ports.store import Work
from day1.services.rows.bulk_writes import edits_of, was_removed

_DERIVED = frozenset({FACT, OBSERVATION, CONVERSATION})
"""Kinds with rows that may be made of others."""


class Brought:
    """The rows that one import has brought to a branch so far."""

    def __init__(self) -> None:
        """Nothing was brought yet."""
        self._added: set[str] = set()
        self._alike: set[str] = set()
        """Rows that stood on the branch already, as the import has them."""

    def add(self, kind: Kind, added: Sequence[Row], alike: Sequence[Row]) -> None:
        """Remember rows that the import added, and rows that the branch had already."""
        if kind in _DERIVED:
            self._added.update(str(row["id"]) for row in added)
            self._alike.update(str(row["id"]) for row in alike if row["id"] not in self._added)

    def unbound(self, work: Work, edits: Sequence[Row]) -> set[str]:
        """Find the edits that would bind a row of somebody else to sources, by their ids.

        Args:
            work: the open unit of work on the branch.
            edits: new edits of the import.
        """
        listing = [edit for edit in edits if sources_in(edit)]
        listing = [edit for edit in listing if edit["row_id"] not in self._added]
        if not listing:
            return set()
        row_ids = sorted({str(edit["row_id"]) for edit in listing})
        imported: dict[str, list[Row]] = {}
        for edit in edits:
            imported.setdefault(str(edit["row_id"]), []).append(edit)
        there, standing = _standing(work, row_ids), edits_of(work, row_ids)
        return {
            str(edit["id"])
            for edit in listing
            if not self._may_bind(edit, there, standing, imported[str(edit["row_id"])])
        }

    def _may_bind(
        self,
        edit: Row,
        there: set[str],
        standing: Mapping[str, Sequence[Row]],
        imported: Sequence[Row],
    ) -> bool:
        row_id = str(edit["row_id"])
        known = standing.get(row_id, ())
        if row_id not in there:  # a removed row may have left its edits
            return was_removed([*known, *imported])
        if row_id not in self._alike:
            return False
        # An import that was interrupted may go on after the row, before its sources.
        bound = {i for one in known if _words(one) == _words(edit) for i in sources_in(one)}
        return not bound or bound.issuperset(sources_in(edit))


def _words(edit: Row) -> bool:
    """Whether an edit is about the row's own words, and not about a verdict's."""
    return edit["cell"] != VERDICT_BASIS


def _standing(work: Work, row_ids: Sequence[str]) -> set[str]:
    """The ids of those of the rows that are on the branch."""
    by_kind: dict[Kind, list[str]] = {}
    for row_id in row_ids:
        kind = kind_of(row_id)
        if kind is not None:
            by_kind.setdefault(kind, []).append(row_id)
    return {i for kind, some in by_kind.items() for i in work.get(kind, some)}
