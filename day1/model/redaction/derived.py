"""Show derived rows: a derived row is never more visible than its sources."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from day1.model.redaction.basis import (
    INSIGHT,
    VERDICT_BASIS,
    Hiding,
    Sources,
    State,
)
from day1.model.redaction.mask import REDACTED, REDACTED_HASH
from day1.model.redaction.veil import EXPIRED_MARK, SECRET, SECRET_MARK, whole_veil, without_words
from day1.model.rows.kind import CONVERSATION, EDIT, FACT, Cell, Kind, Row


@dataclass(frozen=True, slots=True)
class Shown:
    """Conditions under which rows are shown. Units: microseconds UTC."""

    at: int | None
    """The instant at which rows must not have ended; None: rows of any time."""
    public: bool
    """Whether secret rows are left out; else a mark stands for their words."""
    spaces: Collection[Cell] | None = None
    """The spaces whose rows are shown; None: all."""


def needed(kind: Kind, columns: Sequence[str]) -> tuple[str, ...] | None:
    """Return the further columns that tell whether a row's words were derived from other rows.

    None if there are no such words in `columns`, and no such rows of the kind.
    """
    if kind is FACT:
        needed_columns: tuple[str, ...] = ("id", "origin_id", "category")
    elif kind is CONVERSATION and "title" in columns:
        needed_columns = ("id", "source")
    elif kind is EDIT and "reason" in columns:
        needed_columns = ("row_id", "cell")
    else:
        return None
    return tuple(column for column in needed_columns if column not in columns)


def as_shown(
    state: State,
    kind: Kind,
    columns: Sequence[str],
    rows: Sequence[tuple[Cell, ...]],
    shown: Shown,
) -> Sequence[tuple[Cell, ...]]:
    """Show rows no more visibly than their sources; hidden rows are left out.

    Args:
        state: the state of the rows; it gives them as they were written.
        kind: the kind of the rows.
        columns: the columns of the rows, with those that `needed` names.
        rows: some rows of the state.
        shown: the conditions under which rows are shown.
    """
    derivation_marks, show_rows = _WAYS[kind]
    index_value_pairs = [
        (columns.index(column), value) for column, value in derivation_marks if column in columns
    ]
    derived_indexes: set[int] = set()
    # Column by column: a reading may have thousands of rows.
    for column_index, value in index_value_pairs:
        if value is None:
            derived_indexes.update(
                row_index for row_index, row in enumerate(rows) if row[column_index] is not None
            )
        else:
            derived_indexes.update(
                row_index for row_index, row in enumerate(rows) if row[column_index] == value
            )
    if not derived_indexes:
        return rows
    sorted_indexes = sorted(derived_indexes)
    derived_rows = [
        dict(zip(columns, rows[row_index], strict=True)) for row_index in sorted_indexes
    ]
    shown_rows: list[tuple[Cell, ...] | None] = list(rows)
    for row_index, row in zip(sorted_indexes, show_rows(state, derived_rows, shown), strict=True):
        shown_rows[row_index] = None if row is None else tuple(row.values())
    return [row for row in shown_rows if row is not None]


def _facts(state: State, rows: Sequence[Row], shown: Shown) -> list[Row | None]:
    """Show facts as visibly as their sources allow; None for hidden ones."""
    sources = Sources(state)
    sources.of({str(row["id"]): row for row in rows})
    shown_facts = []
    for row in rows:
        shown_fact = _fact(row, sources.hiding(str(row["id"])), shown)
        if shown_fact is not None and row.get("scores") is not None:
            verdict_mark = _mark(sources.hiding(str(row["id"]), VERDICT_BASIS), shown)
            shown_fact = shown_fact if verdict_mark is None else {**shown_fact, "scores": None}
        shown_facts.append(shown_fact)
    return shown_facts


def _fact(row: Row, hiding: Hiding, shown: Shown) -> Row | None:
    """Show a fact as visibly as its sources allow; None if it is hidden."""
    if not hiding:
        return row
    is_hidden = hiding.over(shown.at) or hiding.elsewhere(shown.spaces)
    if is_hidden or (hiding.secret and shown.public):
        return None
    inherited_columns: Row = {"space": hiding.space(row.get("space"))}
    if hiding.redacted:
        inherited_columns["content_hash"] = REDACTED_HASH
    if hiding.secret:
        inherited_columns["sensitivity"] = SECRET
    row = without_words(FACT, row, _mark(hiding, shown))
    return {column: inherited_columns.get(column, cell) for column, cell in row.items()}


def _titles(state: State, rows: Sequence[Row], shown: Shown) -> list[Row | None]:
    """Show conversations from hooks; a title is hidden with the message that it quotes."""
    sources = Sources(state)
    row_ids = [str(row["id"]) for row in rows]
    sources.of({row_id: {} for row_id in row_ids}, titles=row_ids)
    marks = [_mark(sources.hiding(row_id), shown) for row_id in row_ids]
    return [_marked(row, "title", mark) for row, mark in zip(rows, marks, strict=True)]


def _reasons(state: State, rows: Sequence[Row], shown: Shown) -> list[Row | None]:
    """Show edits that record verdicts; a reason is hidden if a row that the judge read is."""
    sources = Sources(state)
    sources.of({str(row["row_id"]): {} for row in rows})
    marks = [_mark(sources.hiding(str(row["row_id"]), VERDICT_BASIS), shown) for row in rows]
    return [_marked(row, "reason", mark) for row, mark in zip(rows, marks, strict=True)]


def _marked(row: Row, column: str, mark: str | None) -> Row:
    return row if mark is None or row[column] is None else {**row, column: mark}


def _mark(hiding: Hiding, shown: Shown) -> str | None:
    """Return the placeholder for words with hidden sources, or None if they may be shown."""
    if hiding.redacted:
        return REDACTED
    if hiding.secret:
        return SECRET_MARK
    return EXPIRED_MARK if hiding.over(shown.at) or hiding.elsewhere(shown.spaces) else None


def may_be_veiled(kind: Kind, rows: Iterable[Row]) -> bool:
    """Whether any of these rows, given with all columns, may have words of other rows."""
    derivation_marks = () if kind is EDIT or kind not in _WAYS else _WAYS[kind][0]
    return any(
        row[column] is not None if value is None else row[column] == value
        for column, value in derivation_marks
        for row in rows
    )


def veils(state: State, kind: Kind, rows: Iterable[Row], at: int) -> dict[str, Row]:
    """Find the placeholders for words of derived rows, for diffs and plans.

    Args:
        state: the state that has the sources of the rows.
        kind: the kind of the rows.
        rows: versions of rows; most are not derived, and cost nothing.
        at: the instant at which sources may have expired (microseconds UTC).

    Returns:
        The placeholders by column, by row id; rows without hidden words are left out.
    """
    candidate_rows = {str(row["id"]): row for row in rows if may_be_veiled(kind, [row])}
    if not candidate_rows:
        return {}
    sources, shown = Sources(state), Shown(at, public=False)
    sources.of(candidate_rows, titles=candidate_rows if kind is CONVERSATION else ())
    veil_by_row: dict[str, Row] = {}
    for row_id in candidate_rows:
        words_mark = _mark(sources.hiding(row_id), shown)
        verdict_mark = _mark(sources.hiding(row_id, VERDICT_BASIS), shown)
        veil: Row = {} if verdict_mark is None else {"scores": None}
        if kind is FACT:
            veil |= whole_veil(FACT, words_mark)
        elif words_mark is not None:
            veil = {"title": words_mark}
        if veil:
            veil_by_row[row_id] = veil
    return veil_by_row


def veiled(row: Row | None, veil: Row | None) -> Row | None:
    """Return a version of a row with the placeholders from `veils` for its words."""
    if row is None or not veil:
        return row
    return {
        column: veil[column] if column in veil and cell is not None else cell
        for column, cell in row.items()
    }


_Show = Callable[[State, Sequence[Row], Shown], list[Row | None]]
_WAYS: Final[Mapping[Kind, tuple[tuple[tuple[str, Cell], ...], _Show]]] = {
    FACT: ((("origin_id", None), ("category", INSIGHT), ("scores", None)), _facts),
    CONVERSATION: ((("source", "tool"),), _titles),
    EDIT: ((("cell", "verification"),), _reasons),
}
"""By kind: the columns and values (None: any) by which rows may be derived, and how these are
shown. Most rows are not derived, and cost nothing."""
