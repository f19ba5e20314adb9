"""Copying chosen rows from a state to a branch unchanged: with the same ids and all columns.

If the same memory is on two branches, a later merge finds nothing to do; a copy under a new id
would be a duplicate. Curated branches, handoffs, bundles and imports of exports use this.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from day1.errors import Advice, NotFound
from day1.model.merge.plan import follow_supersession
from day1.model.redaction.basis import BASES
from day1.model.redaction.veil import is_expired, is_secret
from day1.model.rows.change import CommitId, Message, Query
from day1.model.rows.kind import (
    CONVERSATION,
    EDIT,
    FACT,
    MEMORIES,
    MESSAGE,
    RELATION,
    Cell,
    Kind,
    Row,
)
from day1.ports.reading import Reading
from day1.ports.store import Work
from day1.services.rows.binding import Brought
from day1.services.rows.bulk_writes import LeftReason, LeftRow, edits_of, was_removed

RowsByKind = Mapping[Kind, Sequence[Row]]

_SAME_BASIS = ("row_id", "cell", "value", "reason")
"""The columns that two edits which list the same sources have in common."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rows of a state to copy."""

    facts: Sequence[str] | None = None
    """Ids of facts; None for every active fact."""
    conversations: Sequence[str] | None = None
    """Ids of conversations; None for every conversation."""
    verified_only: bool = False
    """Without ids, whether only verified facts are copied."""
    relations: bool = False
    """Whether every relation is copied too."""
    spaces: Sequence[str | None] | None = None
    """Without ids, only rows of these spaces are copied; None for those of all."""
    after: int | None = None
    """Without ids, only facts, relations and messages that were written from this instant on."""
    before: int | None = None
    """Likewise, up to this instant."""

    @property
    def among(self) -> Mapping[str, Sequence[Cell]]:
        """The condition on the spaces of rows."""
        return {} if self.spaces is None else {"space": self.spaces}

    def of_its_time(self, rows: Sequence[Row]) -> list[Row]:
        """Return the rows written from the selection's `after` to its `before`, both included."""
        return [
            row
            for row in rows
            if (self.after is None or int(row["created_at"] or 0) >= self.after)
            and (self.before is None or int(row["created_at"] or 0) <= self.before)
        ]


@dataclass(slots=True)
class CopiedRows:
    """The result of a copy, in rows."""

    added: Counter[str] = field(default_factory=Counter)
    """Rows that the copy added, by table."""
    present: Counter[str] = field(default_factory=Counter)
    """Rows that the branch had already, by table."""
    left: list[LeftRow] = field(default_factory=list)

    @property
    def total(self) -> int:
        """The number of rows that the copy added."""
        return self.added.total()


def select_rows(reading: Reading, choice: Selection) -> dict[Kind, list[Row]]:
    """Read the chosen rows of a state with their messages and edits, ordered by id in each kind.

    A chosen fact that is superseded brings the facts that supersede it.

    Raises:
        NotFound: the state lacks some of the ids; the error names them.
    """
    facts = _facts(reading, choice)
    conversation_rows = _conversations(reading, choice)
    messages = _messages(
        reading, choice, [str(conversation["id"]) for conversation in conversation_rows]
    )
    if choice.after is not None or choice.before is not None:
        nonempty_conversation_ids = {message["conversation_id"] for message in messages}
        conversation_rows = [
            conversation
            for conversation in conversation_rows
            if conversation["id"] in nonempty_conversation_ids
        ]
    relations: list[Row] = []
    if choice.relations:
        relations = choice.of_its_time(reading.find(RELATION, Query(among=choice.among)))
    memory_rows = [*facts, *conversation_rows, *messages, *relations]
    edits = _among(reading, EDIT, "row_id", [str(row["id"]) for row in memory_rows])
    rows_by_kind = {
        FACT: facts,
        RELATION: relations,
        CONVERSATION: conversation_rows,
        MESSAGE: messages,
        EDIT: edits,
    }
    return {kind: sorted(kind_rows, key=_by_id) for kind, kind_rows in rows_by_kind.items()}


def _facts(reading: Reading, choice: Selection) -> list[Row]:
    if choice.facts is None:
        required_values: Row = {"status": "active"}
        if choice.verified_only:
            required_values["verification"] = "verified"
        return choice.of_its_time(
            reading.find(FACT, Query(equal=required_values, among=choice.among))
        )
    fact_by_id = reading.get(FACT, choice.facts)
    _refuse_unknown(choice.facts, fact_by_id)
    ids_of_last_round: list[str] = []
    while len(ids_of_last_round) != len(fact_by_id):
        ids_of_last_round = list(fact_by_id)
        successor_ids = [
            str(row["superseded_by"]) for row in fact_by_id.values() if row["superseded_by"]
        ]
        fact_by_id |= reading.get(
            FACT, [fact_id for fact_id in successor_ids if fact_id not in fact_by_id]
        )
    return [
        fact_by_id[fact_id]
        for fact_id in follow_supersession(choice.facts, fact_by_id)
        if fact_id in fact_by_id
    ]


def _conversations(reading: Reading, choice: Selection) -> list[Row]:
    conversation_ids = choice.conversations
    if conversation_ids is None:
        return reading.find(CONVERSATION, Query(among=choice.among))
    row_by_id = reading.get(CONVERSATION, conversation_ids)
    _refuse_unknown(conversation_ids, row_by_id)
    return list(row_by_id.values())


def _messages(reading: Reading, choice: Selection, conversation_ids: Sequence[str]) -> list[Row]:
    return choice.of_its_time(_among(reading, MESSAGE, "conversation_id", conversation_ids))


def _refuse_unknown(ids: Iterable[str], row_by_id: Mapping[str, Row]) -> None:
    unknown_ids = [row_id for row_id in ids if row_id not in row_by_id]
    if unknown_ids:
        raise NotFound(
            f"These rows are not on this branch: {', '.join(unknown_ids[:10])}.",
            Advice("{memory_search} finds what a branch has."),
            ids=unknown_ids,
        )


def _among(reading: Reading, kind: Kind, column: str, ids: Sequence[str]) -> list[Row]:
    return reading.find(kind, Query(among={column: ids})) if ids else []


def _by_id(row: Row) -> str:
    return str(row["id"])


def put(
    work: Work,
    branch: str,
    rows: RowsByKind,
    *,
    back: bool = False,
    brought: Brought | None = None,
) -> CopiedRows:
    """Add the rows that a branch lacks, in an open unit of work.

    `work.now` moves past the times of all of them. A row that the branch has with other content
    is left and listed, never overwritten; so is a removed row, unless `back`.
    With `brought` the rows come from outside of the store. Edits that list sources of a row are
    then left, unless the same import has added the row.
    """
    copied_rows = CopiedRows()
    for kind, kind_rows in rows.items():
        present_row_by_id = work.get(kind, [_by_id(row) for row in kind_rows])
        edits_by_missing_row = (
            {}
            if back
            else edits_of(
                work,
                [
                    kind_row_id
                    for kind_row in kind_rows
                    if (kind_row_id := _by_id(kind_row)) not in present_row_by_id
                ],
            )
        )
        new_rows, equal_rows = list[Row](), list[Row]()
        missing_rows = [row for row in kind_rows if _by_id(row) not in present_row_by_id]
        unbound_ids = (
            brought.unbound(work, missing_rows) if brought is not None and kind is EDIT else ()
        )
        for row in kind_rows:
            row_id = _by_id(row)
            present_row = present_row_by_id.get(row_id)
            if row_id in unbound_ids:
                copied_rows.left.append(LeftRow(row_id, branch, "foreign"))
            elif present_row is None and not was_removed(edits_by_missing_row.get(row_id, ())):
                new_rows.append(row)
                present_row_by_id[row_id] = row
            elif present_row is not None and _same(kind, present_row, row):
                copied_rows.present[kind.table] += 1
                equal_rows.append(row)
            else:
                reason: LeftReason = "removed" if present_row is None else "conflict"
                copied_rows.left.append(LeftRow(row_id, branch, reason))
        work.add(kind, new_rows)
        if brought is not None:
            brought.add(kind, new_rows, equal_rows)
        copied_rows.added[kind.table] += len(new_rows)
        work.not_before(max((int(row["created_at"] or 0) for row in new_rows), default=0))
    return copied_rows


def _same(kind: Kind, present_row: Row, row: Row) -> bool:
    """Whether two rows are equal, apart from private columns that the copy does not carry.

    Edits that list sources have their ids from these (`deriving.basis_id`): if two branches derive
    a row alike, only the writers and times of the edits differ.
    """
    if kind is EDIT and row["cell"] in BASES:
        return all(present_row[column] == row[column] for column in _SAME_BASIS)
    uncopied_values: Row = {column: None for column in kind.private if row[column] is None}
    return {**present_row, **uncopied_values} == row


def commit_copy(work: Work, copied: CopiedRows, op: str, line: str) -> CommitId | None:
    """Commit copied rows; None if the copy added nothing."""
    return work.commit(Message(op, line)) if copied.total else None


def without_secrets(rows: RowsByKind) -> dict[Kind, list[Row]]:
    """Leave out secret rows and their edits: they may not go to other branches and stores."""
    return _without(rows, is_secret)


def without_expired(rows: RowsByKind, at: int) -> dict[Kind, list[Row]]:
    """Leave out rows that have expired at an instant, and their edits."""
    return _without(rows, lambda row: is_expired(row, at))


def _without(rows: RowsByKind, hidden: Callable[[Row], bool]) -> dict[Kind, list[Row]]:
    hidden_ids = {row["id"] for kind_rows in rows.values() for row in kind_rows if hidden(row)}
    return {
        kind: [
            row
            for row in kind_rows
            if row["id"] not in hidden_ids and row.get("row_id") not in hidden_ids
        ]
        for kind, kind_rows in rows.items()
    }


def without_private(rows: RowsByKind) -> dict[Kind, list[Row]]:
    """Empty the private columns of rows that leave a store, such as a message's thinking."""
    return {
        kind: [{**row, **dict.fromkeys(kind.private)} for row in kind_rows]
        for kind, kind_rows in rows.items()
    }


def memories(by_table: Mapping[str, int]) -> int:
    """Count the rows that are memories, not edits, from counts by table."""
    return sum(by_table.get(kind.table, 0) for kind in MEMORIES)


def counts(rows: RowsByKind) -> dict[str, int]:
    """Count the memories among rows, by table."""
    return {
        kind.table: len(kind_rows)
        for kind, kind_rows in rows.items()
        if kind in MEMORIES and kind_rows
    }
