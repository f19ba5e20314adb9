"""Derived rows: the edits that list their sources, and finding all rows derived from a row."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from day1.model.redaction.basis import BASES, BASIS, INSIGHT, VERDICT_BASIS, sources_in
from day1.model.redaction.derived import may_be_veiled, veiled, veils
from day1.model.redaction.veil import mark_of, shown_change
from day1.model.rows.change import Changes, Query, Ref, RowChange
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import (
    BY_TABLE,
    CONVERSATION,
    EDIT,
    FACT,
    MESSAGE,
    Cell,
    Kind,
    Row,
    canonical,
    kind_of,
)
from day1.model.rows.origin import Origin
from day1.model.values.ids import derived_id, short_hash
from day1.ports.additions import Additions
from day1.ports.reading import Reading
from day1.services.repository.repository import Repository
from day1.services.rows.recording import origin_columns

_CHECKED_COLUMNS = ("id", "content_hash", "status", "verification", "happened_at", "valid_until")
"""Columns of a source; if one of them changes, a row derived from the source may be outdated."""


def basis_edit(columns: Row, origin: Origin, now: int) -> Row:
    """Build the edit that lists the sources of a derived row, from its `basis_columns`.

    The id follows from the row and the sources: two branches that derive alike get equal edits.
    """
    edit_id = basis_id(str(columns["row_id"]), columns)
    return {"id": edit_id, **columns, **origin_columns(origin, now)}


def basis_columns(
    kind: Kind, row_id: str, sources: Sequence[Mapping[str, Cell]], cell: str = BASIS
) -> Row:
    """Build the columns of an edit that lists sources, without id, author and time.

    Args:
        kind: the kind of the derived row.
        row_id: the id of the derived row.
        sources: rows whose words it has, with as many of their columns as are known.
        cell: `BASIS` for the row's own words, `VERDICT_BASIS` for those of its verdict.
    """
    source_values = sorted(
        [str(source.get(column)) for column in _CHECKED_COLUMNS] for source in sources
    )
    return {
        "row_id": row_id,
        "row_kind": kind.table,
        "cell": cell,
        "value": short_hash(canonical(source_values)),
        "reason": canonical(sorted({str(source["id"]) for source in sources})),
    }


def basis_id(row_id: str, columns: Row) -> str:
    """Build the id of an edit that lists sources, from its columns."""
    hashed_values = (str(columns[column]) for column in ("cell", "value", "reason"))
    return derived_id(EDIT.prefix, None, row_id, *hashed_values)


def add_new(work: Additions, edits: Sequence[Row]) -> None:
    """Add edits that list sources, unless the branch has them already."""
    present_edit_by_id = work.get(EDIT, [str(edit["id"]) for edit in edits]) if edits else {}
    work.add(EDIT, [edit for edit in edits if edit["id"] not in present_edit_by_id])


def shown_edits(reading: Reading, row_ids: Sequence[str], now: int) -> list[Row]:
    """Return the edits of rows, except secret and expired ones and those that list sources."""
    query = Query(among={"row_id": list(row_ids)}, alive_at=now, public=True)
    return [edit for edit in reading.find(EDIT, query) if edit["cell"] not in BASES]


def shown_changes(repo: Repository, refs: Sequence[Ref], changes: Changes) -> Changes:
    """Replace words of secret and expired rows in changes by a mark.

    Words derived from rows that are secret or expired at one of the states `refs` are marked too.
    """
    now = repo.clock()
    return {
        table: _shown(repo, refs, BY_TABLE[table], row_changes, now)
        for table, row_changes in changes.items()
    }


def _shown(
    repo: Repository, refs: Sequence[Ref], kind: Kind, changes: Sequence[RowChange], now: int
) -> list[RowChange]:
    row_versions = [
        row for change in changes for row in (change.before, change.after) if row is not None
    ]
    veil_by_row: dict[str, Row] = {}
    for ref in refs if may_be_veiled(kind, row_versions) else ():
        with repo.store.reading(ref) as reading:
            veil_by_row |= veils(reading, kind, row_versions, now)
    return [
        RowChange(
            change.id,
            veiled(change.before, veil_by_row.get(change.id)),
            veiled(change.after, veil_by_row.get(change.id)),
        )
        for change in (
            shown_change(kind, change, mark_of(now, change.before, change.after))
            for change in changes
        )
    ]


@dataclass(slots=True)
class Made:
    """The rows of a branch that were derived from given rows."""

    words: set[str] = field(default_factory=set)
    """Ids of facts whose text, or conversations whose title, was derived from the given rows."""
    verdicts: set[str] = field(default_factory=set)
    """Ids of facts whose verdict was reached by reading one of the given rows."""


def made_of(reading: Reading, ids: Collection[str]) -> Made:
    """Find all rows derived from given rows, at any depth. Reads every edit of the branch.

    For callers that hide rows: to take their words out of an index, or to count them. Readings
    hide by `model.redaction.basis` alone.
    """
    derived_rows, source_ids = Made(), set(ids)
    listing_edits = _listing_edits(reading) if source_ids else []
    sources_by_insight = _insights(reading) if source_ids else {}
    while source_ids:
        derived_ids = {
            row_id
            for row_id, cell, sources in listing_edits
            if cell == BASIS and sources & source_ids
        }
        derived_ids |= {
            row_id for row_id, sources in sources_by_insight.items() if sources & source_ids
        }
        copies_query = Query(among={"origin_id": sorted(source_ids)})
        derived_ids |= {str(row[0]) for row in reading.scan(FACT, ("id",), copies_query)}
        derived_ids |= _titled(reading, source_ids)
        derived_rows.verdicts |= {
            row_id
            for row_id, cell, sources in listing_edits
            if cell == VERDICT_BASIS and sources & source_ids
        }
        source_ids = derived_ids - derived_rows.words - set(ids)
        derived_rows.words |= source_ids
    return derived_rows


def titles_of(reading: Reading, made: Made) -> set[str]:
    """Return the titles of conversations that quote one of the given messages."""
    conversation_ids = sorted(row_id for row_id in made.words if kind_of(row_id) is CONVERSATION)
    return (
        _distinct_texts(reading, CONVERSATION, "title", Query(among={"id": conversation_ids}))
        if conversation_ids
        else set()
    )


def verdicts_of(reading: Reading, made: Made) -> set[str]:
    """Return the texts of the verdicts: whole `scores` of facts, and `reason`s of edits."""
    if not made.verdicts:
        return set()
    fact_ids = sorted(made.verdicts)
    edits_query = Query(equal={"cell": "verification"}, among={"row_id": fact_ids})
    score_texts = _distinct_texts(reading, FACT, "scores", Query(among={"id": fact_ids}))
    return score_texts | _distinct_texts(reading, EDIT, "reason", edits_query)


def _distinct_texts(reading: Reading, kind: Kind, column: str, query: Query) -> set[str]:
    return {str(text) for (text,) in reading.scan(kind, (column,), query) if text is not None}


def _listing_edits(reading: Reading) -> list[tuple[str, str, set[str]]]:
    """Find the edits that list sources; return row id, `BASIS` or `VERDICT_BASIS`, source ids."""
    edit_columns = ("row_id", "cell", "reason")
    query = Query(among={"cell": [*sorted(BASES), "fact_text"]})
    listing_edits = []
    for edit_values in reading.scan(EDIT, edit_columns, query):
        edit = dict(zip(edit_columns, edit_values, strict=True))
        source_ids = set(sources_in(edit))
        if source_ids:
            cell = VERDICT_BASIS if edit["cell"] == VERDICT_BASIS else BASIS
            listing_edits.append((str(edit["row_id"]), cell, source_ids))
    return listing_edits


def _insights(reading: Reading) -> dict[str, set[str]]:
    """Find insights from before edits listed sources; return their source ids, by insight."""
    rows = reading.scan(FACT, ("id", "detail"), Query(equal={"category": INSIGHT}))
    return {
        str(insight_id): set(map(str, read_detail(detail).get("source_ids", ())))
        for insight_id, detail in rows
    }


def _titled(reading: Reading, ids: Collection[str]) -> set[str]:
    """Find conversations by hooks that begin with one of these messages: the title quotes it."""
    message_ids = sorted(row_id for row_id in ids if kind_of(row_id) is MESSAGE)
    if not message_ids:
        return set()
    first_messages_query = Query(equal={"previous_id": None}, among={"id": message_ids})
    conversation_ids = [
        str(row[0]) for row in reading.scan(MESSAGE, ("conversation_id",), first_messages_query)
    ]
    if not conversation_ids:
        return set()
    from_hooks_query = Query(equal={"source": "tool"}, among={"id": conversation_ids})
    return {str(row[0]) for row in reading.scan(CONVERSATION, ("id",), from_hooks_query)}
