"""Promoting contexts into facts: a fact for each passage that the embedding model can read.

The ids of these facts are made from the context's, and each fact notes which version of the
context it was made of. So a second run adds nothing, a killed run can be repeated, and two
branches that promote the same context agree. Whether a context waits follows from the facts that
its branch has now: after a revert, a restore or a merge they may be those of another version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from day1.model.branches.branch import Branch
from day1.model.contexts.keyed import (
    CONTEXT,
    passage_id,
    passage_ids,
    passages_noted,
    promotion_note,
    version_of,
)
from day1.model.redaction.mask import REDACTED
from day1.model.redaction.veil import is_secret
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import EDIT, FACT, OBSERVATION, Cell, Row, cell_value
from day1.model.rows.origin import Origin
from day1.model.values.ids import derived_id
from day1.ports.embedder import Embedder
from day1.ports.reading import Reading
from day1.services.contexts.keyed_rows import KeyedRow, upsert_rows
from day1.services.repository.repository import Repository
from day1.services.rows.deriving import basis_columns, basis_id
from day1.services.rows.recording import new_row

_PROMOTED = "promoted"


@dataclass(frozen=True, slots=True)
class Promoted:
    """The result of a run that made facts from the contexts of a branch."""

    processed: int
    """Number of contexts that the run promoted."""
    pending: int
    """Number of contexts that wait for the next run."""
    hashes: list[str]
    """Content hashes of the new facts."""


@dataclass(frozen=True, slots=True)
class Promotion:
    """The contexts to promote, and the writer. Units: microseconds UTC."""

    branch: Branch
    space: str | None
    origin: Origin
    now: int
    most: int = 100


def promote(repo: Repository, embedder: Embedder, promotion: Promotion) -> Promoted:
    """Promote contexts that are not promoted yet, the oldest first; a run is all or nothing.

    Secret and expired contexts are left out, and do not count as pending.

    Raises:
        EmbedderUnavailable: there is no model to cut the texts into passages.
    """
    with repo.store.reading(Ref(branch=promotion.branch.name)) as reading:
        waiting_ids = _waiting(reading, promotion)
        context_by_id = reading.get(OBSERVATION, waiting_ids[: promotion.most])
    passages_by_context = {
        row_id: embedder.passages(str(row["summary"]))
        for row_id, row in context_by_id.items()
        if row["summary"] != REDACTED
    }
    promoted_ids: list[str] = []
    if not waiting_ids:
        return Promoted(0, 0, [])

    def facts(state: Reading, _: int) -> list[KeyedRow]:
        present_context_by_id = state.get(OBSERVATION, list(passages_by_context))
        unchanged_row_by_id = {
            row_id: row
            for row_id, row in present_context_by_id.items()
            if version_of(row) == version_of(context_by_id[row_id]) and not is_secret(row)
        }
        up_to_date_ids = _up_to_date(state, list(unchanged_row_by_id.values()))
        rows_to_promote = [
            row for row_id, row in unchanged_row_by_id.items() if row_id not in up_to_date_ids
        ]
        promoted_ids[:] = [str(row["id"]) for row in rows_to_promote]
        return [
            fact
            for row in rows_to_promote
            for fact in _facts(state, row, passages_by_context[str(row["id"])])
        ]

    upserted = upsert_rows(repo, promotion.branch, facts, promotion.origin)
    fact_hashes = [
        str(upserted_row["content_hash"])
        for upserted_row in upserted.rows.values()
        if "content_hash" in upserted_row
    ]
    return Promoted(len(promoted_ids), len(waiting_ids) - len(promoted_ids), fact_hashes)


def _waiting(reading: Reading, promotion: Promotion) -> list[str]:
    query = Query(
        equal={"space": promotion.space, "observation_type": CONTEXT},
        alive_at=promotion.now,
        public=True,
    )
    columns = ("created_at", "id", "content_hash", "tags", "expires_at", "summary")
    scanned_rows = [
        dict(zip(columns, row, strict=True)) for row in _sorted(reading, columns, query)
    ]
    contexts = [row for row in scanned_rows if row["summary"] != REDACTED]
    up_to_date_ids = _up_to_date(reading, contexts)
    return [row_id for row in contexts if (row_id := str(row["id"])) not in up_to_date_ids]


def _sorted(reading: Reading, columns: Sequence[str], query: Query) -> Sequence[tuple[Cell, ...]]:
    rows = reading.scan(OBSERVATION, columns, query)
    return sorted(rows, key=lambda row: (int(row[0] or 0), str(row[1])))


def _up_to_date(reading: Reading, contexts: Sequence[Mapping[str, Cell]]) -> set[str]:
    """Find the contexts whose facts on this branch were made of the context's current version."""
    context_by_id = {str(row["id"]): row for row in contexts}
    first_fact_by_context = {
        str(row["origin_id"]): row
        for row in reading.get(FACT, [passage_id(row_id, 0) for row_id in context_by_id]).values()
    }
    passage_count_by_context = {
        context_id: passages_noted(context_by_id[context_id], row["detail"])
        for context_id, row in first_fact_by_context.items()
        if context_id in context_by_id
    }
    unnoted_fact_by_context = {
        row_id: first_fact_by_context[row_id]
        for row_id, count in passage_count_by_context.items()
        if count is None
    }
    current_count_by_context = {
        row_id: count for row_id, count in passage_count_by_context.items() if count
    }
    later_fact_ids = [
        passage_id(context_id, number)
        for context_id, count in current_count_by_context.items()
        for number in range(1, count + 1)
    ]
    later_fact_by_id = reading.get(FACT, later_fact_ids)

    def whole(row_id: str, count: int) -> bool:
        later_rows = [
            later_fact_by_id.get(passage_id(row_id, number)) for number in range(1, count + 1)
        ]
        are_noted = all(
            row and passages_noted(context_by_id[row_id], row["detail"]) for row in later_rows[:-1]
        )
        return are_noted and (later_rows[-1] is None or later_rows[-1]["status"] != "active")

    complete_ids = {
        row_id for row_id, count in current_count_by_context.items() if whole(row_id, count)
    }
    return complete_ids | _last_made_from_current(
        reading, [context_by_id[row_id] for row_id in unnoted_fact_by_context]
    )


def _last_made_from_current(reading: Reading, contexts: Sequence[Mapping[str, Cell]]) -> set[str]:
    """Find the contexts whose facts were last made from their current version, by the edits.

    Facts made by an earlier version of day1 do not note the context's version.
    """
    context_by_first_fact = {passage_id(str(row["id"]), 0): row for row in contexts}
    if not context_by_first_fact:
        return set()
    edits_by_fact: dict[str, list[Row]] = {}
    for edit in reading.find(EDIT, Query(among={"row_id": list(context_by_first_fact)})):
        edits_by_fact.setdefault(str(edit["row_id"]), []).append(edit)

    def last(fact: str) -> bool:
        reason_start = f"{_PROMOTED} from "
        fact_edits = edits_by_fact.get(fact, ())
        promotion_edit_ids = [
            edit["id"] for edit in fact_edits if str(edit["reason"]).startswith(reason_start)
        ]
        if fact in reading.mask.rows:  # a masked row hides the reasons of its edits too
            promotion_edit_ids = [
                edit["id"]
                for edit in fact_edits
                if edit["id"] == _edit_id(context_by_first_fact[fact])
            ]
        return promotion_edit_ids[-1:] == [_edit_id(context_by_first_fact[fact])]

    return {str(row["id"]) for fact, row in context_by_first_fact.items() if last(fact)}


def _edit_id(row: Mapping[str, Cell]) -> str:
    created_at = int(row["created_at"] or 0)
    return derived_id(EDIT.prefix, created_at, _PROMOTED, str(row["id"]), version_of(row))


def _facts(reading: Reading, context: Row, passages: Sequence[str]) -> list[KeyedRow]:
    """Return a context's facts, their edits, and the surplus facts of older versions, archived."""
    row_id = str(context["id"])
    columns: Mapping[str, Cell] = {
        "category": CONTEXT,
        "space": context["space"],
        "tags": context["tags"],
        "detail": promotion_note(context, len(passages)),
        "expires_at": context["expires_at"],
        "sensitivity": context["sensitivity"],
        "status": "active",
        "superseded_by": None,
        "valid_until": None,
    }
    facts = [
        KeyedRow(
            FACT,
            passage_id(row_id, passage_number),
            {"fact_text": passage, **columns},
            origin_id=row_id,
        )
        for passage_number, passage in enumerate(passages)
    ]
    surplus_fact_by_id = reading.get(FACT, passage_ids(row_id)[len(facts) :])
    first_fact_row = new_row(FACT, facts[0].id, dict(facts[0].columns), Origin(), 0)
    promotion_edit: Mapping[str, Cell] = {
        "row_id": facts[0].id,
        "row_kind": FACT.table,
        "cell": "fact_text",
        "value": cell_value(FACT, first_fact_row, "fact_text"),
        "reason": f"{_PROMOTED} from {row_id}",
    }
    basis_edits = [basis_columns(FACT, fact.id, [context]) for fact in facts]
    return [
        *facts,
        *(
            KeyedRow(EDIT, basis_id(str(basis_edit["row_id"]), basis_edit), basis_edit)
            for basis_edit in basis_edits
        ),
        *(KeyedRow(FACT, fact_id, {"status": "archived"}) for fact_id in surplus_fact_by_id),
        KeyedRow(EDIT, _edit_id(context), promotion_edit),
    ]
