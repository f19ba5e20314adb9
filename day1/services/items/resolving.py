"""Resolving a conflict between two facts of one space, or one that a merge held."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from day1.errors import InvalidRequest, NotFound
from day1.model.branches.branch import Branch
from day1.model.merge.held import Resolution
from day1.model.rows.change import CommitId, Message, Ref
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import (
    CONVERSATION,
    FACT,
    HELD,
    MESSAGE,
    Cell,
    Row,
    canonical,
    kind_of,
    text_of,
)
from day1.model.rows.origin import Origin
from day1.ports.additions import Additions
from day1.ports.reading import Reading
from day1.services.items.remembering import (
    conflicting,
    key_of,
    merged_text,
    metadata_of,
    present_facts,
    replace_facts,
)
from day1.services.merges.held import HeldDecision, Offer, decide, offers
from day1.services.repository.repository import Repository
from day1.services.rows.deriving import add_new, basis_columns, basis_edit
from day1.services.rows.editing import Editor

How = Literal["supersede", "keep", "merge", "ignore"]
"""How a conflict is resolved: one fact replaces the other, both stay, or they are joined.

`supersede`: the winner replaces the other fact; `keep` and `ignore`: both stay as they are;
`merge`: the other fact is joined to the winner."""
Sees = Callable[[Cell], bool]
"""A function that says whether the caller sees the rows of a space."""
_KEPT_APART: Final = "apart"
"""The field of a fact's detail that lists conflicting facts which a caller decided to keep."""


@dataclass(frozen=True, slots=True)
class ConflictDecision:
    """How to resolve the conflict of a fact or held item."""

    item_id: str
    how: How
    winner: str | None = None
    """The id that wins: the fact, the other fact, or the held item for the withheld value."""
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    """Whether a conflict was resolved, the id of the winner, and the branch's resulting state."""

    is_resolved: bool
    memory_id: str
    commit: CommitId
    pending: int = 0


def resolve(
    repo: Repository, branch: Branch, decision: ConflictDecision, origin: Origin, sees: Sees
) -> Resolved:
    """Resolve an open conflict; nothing is done for an unknown id, or where none is open.

    Raises:
        InvalidRequest: the value that a merge held cannot be joined with the present one.
    """
    if kind_of(decision.item_id) is HELD:
        return _resolve_held(repo, branch, decision, origin, sees)
    with repo.store.adding(branch.name) as adding_unit:
        winner_and_losers = _pair(adding_unit, decision, sees)
        if winner_and_losers is None:
            return Resolved(
                is_resolved=False,
                memory_id=decision.item_id,
                commit=adding_unit.tip,
                pending=adding_unit.pending.count,
            )
        winner, losers = winner_and_losers
        editor = Editor(repo, adding_unit.to_change(), origin, decision.reason)
        if decision.how in {"keep", "ignore"}:
            _keep_apart(editor, winner, losers)
        else:
            if decision.how == "merge":
                winner = _joined(editor, winner, losers)
            replace_facts(editor, losers, winner)
        commit_line = f"resolve a conflict of fact {winner['id']}: {decision.how}"
        commit = editor.work.commit(Message("change", commit_line))
        return Resolved(is_resolved=True, memory_id=str(winner["id"]), commit=commit)


def _pair(
    adding: Additions, decision: ConflictDecision, sees: Sees
) -> tuple[Row, list[Row]] | None:
    """Find the winner and the facts that it conflicts with; None if no conflict is open."""
    fact = _active(adding, decision.item_id, sees)
    if fact is None:
        return None
    if decision.how in {"keep", "ignore"} or decision.winner == fact["id"]:
        conflicting_facts = _conflicts_of(adding, fact)
        return (fact, conflicting_facts) if conflicting_facts else None
    winner = None if decision.winner is None else _active(adding, decision.winner, sees)
    if winner is None or any(winner[column] != fact[column] for column in ("space", "sensitivity")):
        return None
    return winner, [fact]


def _active(adding: Additions, fact_id: str, sees: Sees) -> Row | None:
    query = present_facts({"id": fact_id}, adding.now)
    row = next(iter(adding.find(FACT, query)), None)
    return row if row is not None and sees(row["space"]) else None


def _conflicts_of(adding: Additions, fact: Row) -> list[Row]:
    """Find the active facts of its space that conflict with a fact, except those kept apart."""
    equal_columns: Row = {column: fact[column] for column in ("space", "sensitivity")}
    kept_apart_ids = set(read_detail(fact["detail"]).get(_KEPT_APART, ()))
    is_conflict = conflicting((str(fact["fact_text"]), key_of(fact["detail"])))
    query = present_facts({**equal_columns, "structure": None}, adding.now)
    conflicting_ids = [
        str(row_id)
        for row_id, text, detail in adding.scan(FACT, ("id", "fact_text", "detail"), query)
        if row_id not in {fact["id"], *kept_apart_ids}
        and fact["id"] not in read_detail(detail).get(_KEPT_APART, ())
        and is_conflict((str(text), key_of(detail)))
    ]
    row_by_id = adding.get(FACT, conflicting_ids)
    return [row_by_id[row_id] for row_id in conflicting_ids]


def _keep_apart(editor: Editor, fact: Row, others: Sequence[Row]) -> None:
    """Record in a fact the conflicting facts that a caller decided to keep."""
    detail = read_detail(fact["detail"])
    earlier_ids = detail.get(_KEPT_APART)
    apart_ids = {
        *(earlier_ids if isinstance(earlier_ids, list) else ()),
        *(str(row["id"]) for row in others),
    }
    editor.change(FACT, fact, {"detail": canonical({**detail, _KEPT_APART: sorted(apart_ids)})})


def _joined(editor: Editor, winner: Row, losers: Sequence[Row]) -> Row:
    """Add the texts and metadata of the losing facts to the winner, which stays.

    The losers become sources of the winner's words: if one is redacted, the winner is hidden.
    """
    joined_text, detail = str(winner["fact_text"]), read_detail(winner["detail"])
    joined_metadata: dict[str, Any] = dict(metadata_of(detail))
    for loser in losers:
        joined_text = merged_text(joined_text, str(loser["fact_text"]))
        joined_metadata = {**metadata_of(read_detail(loser["detail"])), **joined_metadata}
    columns: Row = {"fact_text": joined_text}
    if joined_metadata:
        columns["detail"] = canonical({**detail, "metadata": joined_metadata})
    changed = editor.change(FACT, winner, columns)
    if changed.groups:
        basis_values = basis_columns(FACT, str(winner["id"]), losers)
        add_new(editor.work, [basis_edit(basis_values, editor.origin, editor.work.now)])
    return changed.row


def _resolve_held(
    repo: Repository, branch: Branch, decision: ConflictDecision, origin: Origin, sees: Sees
) -> Resolved:
    offer = next(
        (
            held_offer
            for held_offer in offers(repo, branch)
            if any(held_item.id == decision.item_id for held_item in held_offer.items)
        ),
        None,
    )
    with repo.store.reading(Ref(branch=branch.name)) as reading:
        is_seen = offer is not None and _is_seen(reading, offer, sees)
        tip_and_pending = (reading.tip, reading.pending.count)
    unresolved = Resolved(
        is_resolved=False,
        memory_id=decision.item_id,
        commit=tip_and_pending[0],
        pending=tip_and_pending[1],
    )
    if offer is None or not is_seen:
        return unresolved
    held_decision = _held_decision(decision, offer)
    if held_decision is None:
        return unresolved
    try:
        decision_result = decide(repo, branch, held_decision, origin)
    except NotFound:  # decided by somebody else meanwhile
        return unresolved
    return Resolved(
        is_resolved=True, memory_id=decision_result.item.row_id, commit=decision_result.commit
    )


def _is_seen(reading: Reading, offer: Offer, sees: Sees) -> bool:
    """Whether the caller sees the space of the row that an offer is about."""
    kind = offer.item.kind
    row = reading.get(kind, [offer.item.row_id]).get(offer.item.row_id) or offer.offered or {}
    if kind is MESSAGE:
        conversation_id = str(row.get("conversation_id"))
        row = reading.get(CONVERSATION, [conversation_id]).get(conversation_id, {})
    return "space" in row and sees(row["space"])


def _held_decision(decision: ConflictDecision, offer: Offer) -> HeldDecision | None:
    """Translate a decision to one of a held item; None if the winner is neither of its sides."""
    resolution: Resolution = "dismissed"
    if decision.how in {"keep", "ignore"}:
        return HeldDecision(decision.item_id, resolution)
    if decision.winner not in {decision.item_id, offer.item.row_id}:
        return None
    if decision.how == "supersede":
        resolution = "taken" if decision.winner == decision.item_id else "dismissed"
        return HeldDecision(decision.item_id, resolution)
    side_texts = [
        text_of(side.get("fact_text"))
        for side in (offer.present, offer.offered)
        if side is not None and not offer.veil
    ]
    if offer.item.kind is not FACT or len(side_texts) < 2 or None in side_texts:  # noqa: PLR2004 - both sides
        raise InvalidRequest(
            "resolution: only two texts of a fact can be merged: use `supersede` or `keep`.",
            problems=[{"argument": "resolution", "problem": "only texts of facts can be merged"}],
        )
    joined_text = merged_text(str(side_texts[0]), str(side_texts[1]))
    return HeldDecision(decision.item_id, "edited", {"fact_text": joined_text})
