"""Remembering a fact of a space: a conflict with a known fact is decided in the same unit of work.

A conflict is a fact of the same space with the same key, or one that says the same in other words.
A fact that is only near stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

from day1.errors import InvalidRequest, Refused
from day1.model.branches.branch import Branch
from day1.model.lessons.rewording import rewording_of, same_text_in_words
from day1.model.rows.change import CommitId, Message, Query
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import FACT, Cell, Row, canonical
from day1.model.rows.origin import Origin
from day1.model.values.ids import content_hash
from day1.model.values.parts import MAX_TEXT
from day1.ports.additions import Additions
from day1.services.repository.repository import Repository
from day1.services.rows.editing import Editor, end_of
from day1.services.rows.recording import BranchAfter, NewFact, fact_row

Policy = Literal["supersede", "keep", "merge"]
POLICIES: Final[tuple[Policy, ...]] = get_args(Policy)
"""The ways to treat a fact that conflicts with a new one."""

TextAndKey = tuple[str, str | None]
"""The text of a fact, and the key under which its caller keeps it."""
Outcome = Literal["written", "known", "kept"]
"""A row was added or changed; the content was known; or a conflicting fact was kept instead."""


@dataclass(frozen=True, slots=True)
class ToRemember:
    """A fact to remember."""

    fact: NewFact
    detail: str
    """Its detail as canonical JSON: owner, metadata, retention."""
    given: frozenset[str] = frozenset()
    """Names of the arguments that the caller set: a known fact changes only in these."""
    policy: Policy = "supersede"

    @property
    def key(self) -> str | None:
        """The caller's key of the fact."""
        return key_of(self.detail)

    def row(self, repo: Repository, origin: Origin, work: Additions) -> Row:
        """Build the row of a new fact.

        Raises:
            Refused: its text was redacted, so that nobody could read the row.
        """
        refuse_redacted(work, self.fact.text)
        row = fact_row(repo.new_id(FACT.prefix, work.now), self.fact, origin, work.now)
        return {**row, "detail": self.detail}


@dataclass(frozen=True, slots=True)
class Remembered:
    """The result of remembering: the fact that holds the content, and the state of the branch."""

    row: Row
    commit: CommitId
    pending: int = 0
    outcome: Outcome = "written"
    superseded: tuple[str, ...] = ()
    """Ids of the facts that `row` replaced."""


def refuse_redacted(work: Additions, text: str) -> None:
    """Refuse a text that was redacted: nobody could read a row that has it.

    Raises:
        Refused: it was redacted.
    """
    if content_hash(text) in work.mask.hashes:
        raise Refused(
            "This text was redacted for good and cannot be stored again: use other words."
        )


def key_of(cell: Cell) -> str | None:
    """Read the key under which a caller keeps a fact, from the fact's detail."""
    if '"key"' not in str(cell):  # as nearly always; parsing costs ten times as much
        return None
    detail = read_detail(cell)
    metadata = detail.get("metadata")
    candidate_keys = (
        detail.get("key"),
        metadata.get("key") if isinstance(metadata, Mapping) else None,
    )
    return next((key for key in candidate_keys if isinstance(key, str) and key), None)


def remember(repo: Repository, branch: Branch, new: ToRemember, origin: Origin) -> Remembered:
    """Store a fact, and decide its conflicts by its policy; the same content again is not written.

    Raises:
        InvalidRequest: the merged text would be too long.
        Refused: the text was redacted.
    """
    with repo.store.adding(branch.name) as adding_unit:
        refuse_redacted(adding_unit, new.fact.text)
        same_fact, conflicting_facts = _same_and_conflicting(adding_unit, new)
        if same_fact is None and not conflicting_facts:
            row = new.row(repo, origin, adding_unit)
            adding_unit.add(FACT, [row])
            return Remembered(row, adding_unit.tip, adding_unit.pending.count + 1)
        if same_fact is None and new.policy == "supersede":
            return _supersede(Editor(repo, adding_unit.to_change(), origin), new, conflicting_facts)
        existing_fact = conflicting_facts[0] if same_fact is None else same_fact
        columns: Row = {}
        if new.policy != "keep":
            columns = (
                _merged(existing_fact, new)
                if same_fact is None
                else new_columns(new, existing_fact)
            )
        if any(existing_fact[column] != cell for column, cell in columns.items()):
            return _change(Editor(repo, adding_unit.to_change(), origin), existing_fact, columns)
        outcome: Outcome = "kept" if same_fact is None and new.policy == "keep" else "known"
        return Remembered(existing_fact, adding_unit.tip, adding_unit.pending.count, outcome)


def remember_each(
    repo: Repository, branch: Branch, new_facts: Sequence[ToRemember], origin: Origin
) -> tuple[list[Row], BranchAfter]:
    """Add facts word for word in one unit of work; a text that its space has is not added again.

    Returns the row of each fact, and the state of the branch.
    """
    added_rows: list[Row] = []
    fact_rows: list[Row] = []
    with repo.store.adding(branch.name) as adding_unit:
        # Sorted, so that lists of facts keep the order of the request.
        new_ids = sorted(repo.new_id(FACT.prefix, adding_unit.now) for _ in new_facts)
        new_rows = [
            {**new_fact.row(repo, origin, adding_unit), "id": row_id}
            for new_fact, row_id in zip(new_facts, new_ids, strict=True)
        ]
        row_by_text_key = _known_texts(adding_unit, new_rows)
        for row in new_rows:
            if _text_key(row) not in row_by_text_key:
                row_by_text_key[_text_key(row)] = row
                added_rows.append(row)
            fact_rows.append(row_by_text_key[_text_key(row)])
        if added_rows:
            adding_unit.add(FACT, added_rows)
        return fact_rows, BranchAfter.of(adding_unit, len(added_rows))


def replace_facts(editor: Editor, old_facts: Sequence[Row], new_fact: Row) -> None:
    """Mark facts as superseded by another fact of the branch, in open work."""
    for old_fact in old_facts:
        end_columns: Row = {
            "status": "superseded",
            "superseded_by": new_fact["id"],
            "valid_until": end_of(old_fact, new_fact),
        }
        editor.change(FACT, old_fact, end_columns)


def merged_text(old: str, new: str) -> str:
    """Join two texts: the longer one of two wordings, else both, the older one first.

    Raises:
        InvalidRequest: both together are longer than one memory may be.
    """
    shorter, longer = sorted((old, new), key=len)
    if shorter in longer or same_text_in_words(old, new):
        return longer
    joined_text = f"{old}\n{new}"
    if len(joined_text) > MAX_TEXT:
        problem = (
            f"is too long to be merged: together the texts have {len(joined_text):,} characters"
        )
        raise InvalidRequest(
            f"content: {problem}.", problems=[{"argument": "content", "problem": problem}]
        )
    return joined_text


def metadata_of(detail: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata that a caller noted in a detail."""
    metadata = detail.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _same_and_conflicting(adding: Additions, new: ToRemember) -> tuple[Row | None, list[Row]]:
    """Find the fact with the same text, and those that conflict with the new one, newest first.

    A row with a structure, such as a lesson or a skill, is no plain fact: it is never
    returned.
    """
    equal_columns: Row = {
        "space": new.fact.space,
        "sensitivity": new.fact.sensitivity,
        "structure": None,
    }
    same_text_id: str | None = None
    conflicting_ids: list[str] = []
    is_conflict = conflicting((new.fact.text, new.key))
    query = present_facts(equal_columns, adding.now)
    columns = ("id", "fact_text", *(() if new.key is None else ("detail",)))
    for row_id, fact_text, *optional_detail in adding.scan(FACT, columns, query):
        # The detail is unread if the new fact has no key.
        fact_key = key_of(optional_detail[0]) if optional_detail else None
        if fact_text == new.fact.text and (new.key is None or fact_key in {None, new.key}):
            same_text_id = str(row_id)
        elif is_conflict((str(fact_text), fact_key)):
            conflicting_ids.append(str(row_id))
    row_by_id = adding.get(
        FACT, [*conflicting_ids, *([] if same_text_id is None else [same_text_id])]
    )
    conflicting_rows = sorted(
        (row_by_id[conflicting_id] for conflicting_id in conflicting_ids), key=_age, reverse=True
    )
    return None if same_text_id is None else row_by_id[same_text_id], conflicting_rows


def _age(row: Row) -> tuple[int, str]:
    return int(row["created_at"] or 0), str(row["id"])


def conflicting(one: TextAndKey) -> Callable[[TextAndKey], bool]:
    """Build the test whether another fact conflicts with the fact `one`.

    Facts that both have a key conflict if the keys are equal; others if their words say the same.
    """
    is_rewording = rewording_of(one[0])

    def conflicts(other: TextAndKey) -> bool:
        if one[1] is not None and other[1] is not None:
            return one[1] == other[1]
        return is_rewording(other[0])

    return conflicts


def present_facts(equal: Row, now: int) -> Query:
    """Build the query for facts that are active and true at an instant."""
    return Query(
        equal={**equal, "status": "active"},
        without={"verification": ("invalidated",)},
        alive_at=now,
        present_at=now,
    )


def _text_key(row: Row) -> tuple[Cell, ...]:
    return row["content_hash"], row["space"], row["sensitivity"]


def _known_texts(adding: Additions, rows: Sequence[Row]) -> dict[tuple[Cell, ...], Row]:
    """Find the facts of the branch that have the texts of new rows, by text and space."""
    hash_condition = {"content_hash": [row["content_hash"] for row in rows]}
    query = replace(present_facts({}, adding.now), among=hash_condition)
    return {_text_key(row): row for row in adding.find(FACT, query)} if rows else {}


def known_text(adding: Additions, row: Row) -> Row | None:
    """Find the fact that has the text of a new row in the same space."""
    return _known_texts(adding, [row]).get(_text_key(row))


def new_columns(new: ToRemember, old: Row) -> Row:
    """Return the new values of the columns of a known fact that the caller set."""
    columns: Row = {"category": new.fact.category, "confidence": new.fact.confidence}
    columns = {name: cell for name, cell in columns.items() if name in new.given}
    old_detail, new_detail = read_detail(old["detail"]), read_detail(new.detail)
    detail: dict[str, Any] = dict(old_detail)
    if "metadata" in new.given:
        detail["metadata"] = {**metadata_of(old_detail), **metadata_of(new_detail)}
    if "retention" in new.given and old_detail.get("retention") != new_detail.get("retention"):
        detail["retention"] = new_detail.get("retention")
        columns["expires_at"] = new.fact.expires_at
    return columns if detail == old_detail else {**columns, "detail": canonical(detail)}


def _merged(old: Row, new: ToRemember) -> Row:
    columns = new_columns(new, old)
    return {**columns, "fact_text": merged_text(str(old["fact_text"]), new.fact.text)}


def _change(editor: Editor, row: Row, columns: Row) -> Remembered:
    changed_row = editor.change(FACT, row, columns)
    commit_line = f"remember in fact {row['id']}: {', '.join(changed_row.groups)}"
    return Remembered(changed_row.row, editor.work.commit(Message("change", commit_line)))


def _supersede(editor: Editor, new: ToRemember, old_facts: Sequence[Row]) -> Remembered:
    work = editor.work
    new_row = new.row(editor.repo, editor.origin, work)
    work.add(FACT, [new_row])
    replace_facts(editor, old_facts, new_row)
    superseded_ids = tuple(str(fact["id"]) for fact in old_facts)
    commit = work.commit(
        Message("change", f"supersede fact {', '.join(superseded_ids)} by {new_row['id']}")
    )
    return Remembered(new_row, commit, superseded=superseded_ids)
