"""Promoting contexts into facts: each context becomes the passages that the model can read.

The ids of these facts are made from the context's, and so is the id of an edit that says which
version of a context was promoted. So a second run adds nothing, one that was killed is gone on
with, and two branches that promote the same context agree.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from day1.model.branches.branch import Branch
from day1.model.keeping.keyed import CONTEXT, passage_id, passage_ids
from day1.model.redaction.mask import REDACTED
from day1.model.redaction.veil import is_secret
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import EDIT, FACT, OBSERVATION, Cell, Row, canonical, cell_value
from day1.model.rows.origin import Origin
from day1.model.values.ids import derived_id
from day1.ports.embedder import Embedder
from day1.ports.reading import Reading
from day1.services.keeping.keyed_rows import KeyedRow, keep
from day1.services.repository.repository import Repository
from day1.services.rows.deriving import basis_columns, basis_id
from day1.services.rows.recording import new_row

_PROMOTED = "promoted"
_VERSIONED = ("content_hash", "tags", "expires_at")


@dataclass(frozen=True, slots=True)
class Promoted:
    """What a run did."""

    processed: int
    """Contexts that it promoted."""
    pending: int
    """Contexts that wait for another run."""
    hashes: list[str]
    """Of the new facts' texts."""


@dataclass(frozen=True, slots=True)
class Promotion:
    """Which contexts are to be promoted, and by whom. Units: microseconds UTC."""

    branch: Branch
    space: str | None
    origin: Origin
    now: int
    most: int = 100


def promote(repo: Repository, embedder: Embedder, wanted: Promotion) -> Promoted:
    """Promote contexts that are not yet, the oldest first: all of a run or none.

    Secret contexts and those whose time is over are left out, and are not pending either.

    Raises:
        EmbedderUnavailable: there is no model, which knows how much text it reads.
    """
    with repo.store.reading(Ref(branch=wanted.branch.name)) as reading:
        waiting = _waiting(reading, wanted)
        rows = reading.get(OBSERVATION, waiting[: wanted.most])
    passages = {
        row_id: embedder.passages(str(row["summary"]))
        for row_id, row in rows.items()
        if row["summary"] != REDACTED
    }
    done: list[str] = []
    if not waiting:
        return Promoted(0, 0, [])

    def facts(state: Reading, _: int) -> list[KeyedRow]:
        present = state.get(OBSERVATION, list(passages))
        same = {
            row_id: row
            for row_id, row in present.items()
            if _version(row) == _version(rows[row_id]) and not is_secret(row)
        }
        edits = state.get(EDIT, [_edit_id(row) for row in same.values()])
        new = [row for row in same.values() if _edit_id(row) not in edits]
        done[:] = [str(row["id"]) for row in new]
        return [kept for row in new for kept in _facts(state, row, passages[str(row["id"])])]

    kept = keep(repo, wanted.branch, facts, wanted.origin)
    hashes = [str(r["content_hash"]) for r in kept.rows.values() if "content_hash" in r]
    return Promoted(len(done), len(waiting) - len(done), hashes)


def _waiting(reading: Reading, wanted: Promotion) -> list[str]:
    query = Query(
        equal={"space": wanted.space, "observation_type": CONTEXT},
        alive_at=wanted.now,
        public=True,
    )
    columns = ("created_at", "id", *_VERSIONED, "summary")
    found = [dict(zip(columns, row, strict=True)) for row in _sorted(reading, columns, query)]
    rows = {_edit_id(row): str(row["id"]) for row in found if row["summary"] != REDACTED}
    done = reading.get(EDIT, list(rows))
    return [row_id for edit, row_id in rows.items() if edit not in done]


def _sorted(reading: Reading, columns: Sequence[str], query: Query) -> Sequence[tuple[Cell, ...]]:
    rows = reading.scan(OBSERVATION, columns, query)
    return sorted(rows, key=lambda row: (int(row[0] or 0), str(row[1])))


def _version(row: Mapping[str, Cell]) -> str:
    return canonical([row[column] for column in _VERSIONED])


def _edit_id(row: Mapping[str, Cell]) -> str:
    learned = int(row["created_at"] or 0)
    return derived_id(EDIT.prefix, learned, _PROMOTED, str(row["id"]), _version(row))


def _facts(reading: Reading, context: Row, passages: Sequence[str]) -> list[KeyedRow]:
    """The facts of a context, the edit that says so, and what it had more of before."""
    row_id = str(context["id"])
    shared: Mapping[str, Cell] = {
        "category": CONTEXT,
        "space": context["space"],
        "tags": context["tags"],
        "detail": canonical({"context": row_id}),
        "expires_at": context["expires_at"],
        "sensitivity": context["sensitivity"],
        "status": "active",
        "superseded_by": None,
        "valid_until": None,
    }
    facts = [
        KeyedRow(FACT, passage_id(row_id, number), {"fact_text": text, **shared}, origin_id=row_id)
        for number, text in enumerate(passages)
    ]
    more = reading.get(FACT, passage_ids(row_id)[len(facts) :])
    first = new_row(FACT, facts[0].id, dict(facts[0].columns), Origin(), 0)
    edit: Mapping[str, Cell] = {
        "row_id": facts[0].id,
        "row_kind": FACT.table,
        "cell": "fact_text",
        "value": cell_value(FACT, first, "fact_text"),
        "reason": f"{_PROMOTED} from {row_id}",
    }
    bases = [basis_columns(FACT, fact.id, [context]) for fact in facts]
    return [
        *facts,
        *(KeyedRow(EDIT, basis_id(str(b["row_id"]), b), b) for b in bases),
        *(KeyedRow(FACT, gone, {"status": "archived"}) for gone in more),
        KeyedRow(EDIT, _edit_id(context), edit),
    ]
