"""Handoffs: rows that a branch added, frozen at a commit and copied to another branch."""

from dataclasses import dataclass

from day1.errors import Advice, InvalidRequest
from day1.model.branches.branch import Branch
from day1.model.records.sharing import Handoff
from day1.model.redaction.veil import mark_of
from day1.model.rows.change import Ref
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, Kind, Row
from day1.model.values.parts import MAX_TEXT
from day1.services.branches.lookup import find_open_again, name_of, refuse_protected
from day1.services.conversations.order import messages_of
from day1.services.repository.idempotency import made_by
from day1.services.repository.repository import Repository, find_record
from day1.services.rows.transplanting import (
    CopiedRows,
    Selection,
    commit_copy,
    counts,
    put,
    select_rows,
    without_secrets,
)
from day1.services.tasks.session_context import ConversationEnd, QuotedRow, TextBudget

MOST_CHARACTERS = 128_000
"""Maximum number of characters of a packet, over all texts: about 32,000 tokens."""
_FACT_COLUMNS = (
    "fact_text",
    "category",
    "confidence",
    "verification",
    "agent_id",
    "created_at",
)
"""The columns of facts that a packet shows, besides the id."""


@dataclass(frozen=True, slots=True)
class HandoffRequest:
    """The source, target and type of a handoff, and whether to include unverified facts."""

    source: Branch
    target: Branch
    handoff_type: str
    include_unverified: bool = False
    context_summary: str | None = None
    created_by: str | None = None


@dataclass(frozen=True, slots=True)
class HandoffDone:
    """A handoff, and the rows that were copied to the target."""

    handoff: Handoff
    copied: CopiedRows


def hand_over(repo: Repository, request: HandoffRequest, now: int) -> HandoffDone:
    """Freeze the rows that a branch added since it was forked, and copy them to another branch.

    The facts are active and verified, or also not judged yet; never invalidated.

    Raises:
        UnknownBranch, BranchClosed, BranchProtected: the target accepts no rows.
        InvalidRequest: source and target are the same branch.
        RequestReused: the request handed something else over.
    """
    source, target = request.source, refuse_protected(request.target)
    if source.id == target.id:
        raise InvalidRequest("A branch cannot hand over to itself: name another target_branch.")
    handoff_id = repo.new_id("handoff", now)
    handoff_fields = {
        "source_id": source.id,
        "target_id": target.id,
        "handoff_type": request.handoff_type,
    }
    existing_handoff = made_by(repo.ledger, Handoff, handoff_id, **handoff_fields)
    if existing_handoff is not None:
        return HandoffDone(existing_handoff, CopiedRows())
    commit_id = repo.store.commit_pending(source.name)
    facts_since_fork, conversation_ids = _rows_since_fork(repo, source, commit_id)
    wanted_verdicts = {"verified", "unverified"} if request.include_unverified else {"verified"}
    fact_ids = [
        str(fact["id"]) for fact in facts_since_fork if fact["verification"] in wanted_verdicts
    ]
    with repo.store.reading(repo.shown(Ref(commit=commit_id))) as reading:
        rows_by_kind = without_secrets(select_rows(reading, Selection(fact_ids, conversation_ids)))
    handoff = Handoff(
        id=handoff_id,
        **handoff_fields,
        commit=commit_id,
        facts=tuple(str(row["id"]) for row in rows_by_kind[FACT]),
        conversations=tuple(str(row["id"]) for row in rows_by_kind[CONVERSATION]),
        context_summary=request.context_summary or _summary(rows_by_kind, source, target),
        left_out=len(facts_since_fork) - len(fact_ids),
        created_by=request.created_by,
        created_at=now,
    )
    with repo.store.changing(find_open_again(repo, target).name) as unit_of_work:
        copied_rows = put(unit_of_work, target.name, rows_by_kind, back=True)
        commit_copy(
            unit_of_work,
            copied_rows,
            "pick",
            f"take over {copied_rows.total} rows of {source.name}",
        )
    repo.ledger.put(handoff)
    return HandoffDone(handoff, copied_rows)


def _rows_since_fork(repo: Repository, source: Branch, commit: str) -> tuple[list[Row], list[str]]:
    """Find the active facts and the ids of conversations that a branch added since its fork.

    Secret and expired facts are left out.
    """
    with repo.store.reading(repo.shown(Ref(commit=commit))) as reading:
        if source.fork_commit is None:
            all_rows_by_kind = without_secrets(select_rows(reading, Selection()))
            return all_rows_by_kind[FACT], [
                str(row["id"]) for row in all_rows_by_kind[CONVERSATION]
            ]
        changes = repo.history.changes(source.fork_commit, Ref(commit=commit))
        rows_by_kind = {
            kind: [
                change.after for change in changes.get(kind.table, ()) if change.after is not None
            ]
            for kind in (FACT, CONVERSATION, MESSAGE)
        }
        now = repo.clock()
        active_facts = [
            fact
            for fact in rows_by_kind[FACT]
            if fact["status"] == "active" and mark_of(now, fact) is None
        ]
        conversation_ids = [str(row["id"]) for row in rows_by_kind[CONVERSATION]]
        conversation_ids += [str(row["conversation_id"]) for row in rows_by_kind[MESSAGE]]
        present_conversation_by_id = reading.get(
            CONVERSATION, list(dict.fromkeys(conversation_ids))
        )
        return active_facts, list(present_conversation_by_id)


def _summary(rows: dict[Kind, list[Row]], source: Branch, target: Branch) -> str:
    """Write a summary for a handoff whose request has none."""
    count_by_table = counts(rows)
    fact_count = count_by_table.get(FACT.table, 0)
    conversation_count = count_by_table.get(CONVERSATION.table, 0)
    return (
        f"{source.name} hands over to {target.name}: {fact_count} fact{'s' * (fact_count != 1)} "
        f"and {conversation_count} conversation{'s' * (conversation_count != 1)}."
    )


@dataclass(frozen=True, slots=True)
class Packet:
    """A handoff with the facts and messages to show to its receiver."""

    handoff: Handoff
    source: str
    """Name of the source branch; empty if the branch was deleted."""
    target: str
    """Name of the target branch; empty if the branch was deleted."""
    facts: list[QuotedRow]
    talks: list[ConversationEnd]
    room: TextBudget


def open_packet(repo: Repository, handoff_id: str) -> Packet:
    """Read a handoff as of its creation: all facts that fit, then the newest messages.

    Rows that do not fit can be read on the target branch.

    Raises:
        NotFound: there is no such handoff.
    """
    advice = Advice("{memory_handoff_create} returns the id to use.")
    handoff = find_record(repo, Handoff, handoff_id, advice)
    with repo.store.reading(repo.shown(Ref(commit=handoff.commit))) as reading:
        fact_by_id = reading.get(FACT, handoff.facts, _FACT_COLUMNS)
        conversation_by_id = reading.get(CONVERSATION, handoff.conversations)
        messages_by_conversation = {
            conversation_id: messages_of(repo, reading, conversation_id)
            for conversation_id in handoff.conversations
        }
    source_name, text_budget = (
        name_of(repo, handoff.source_id),
        TextBudget(MOST_CHARACTERS, MAX_TEXT),
    )
    fact_rows = [
        QuotedRow(source_name, fact_by_id[i], str(fact_by_id[i]["fact_text"]))
        for i in handoff.facts
        if i in fact_by_id
    ]
    shown_facts = list(text_budget.fitting(fact_rows))
    message_rows = [
        QuotedRow(source_name, row, str(row["content"]))
        for numbered_messages in messages_by_conversation.values()
        for _, row in numbered_messages
    ]
    message_rows.sort(
        key=lambda quoted_row: (quoted_row.row["created_at"], quoted_row.row["id"]), reverse=True
    )
    quoted_message_by_id = {
        quoted_row.row["id"]: quoted_row for quoted_row in text_budget.fitting(message_rows)
    }
    conversation_ends = [
        ConversationEnd(
            source_name,
            conversation_by_id[i],
            [
                (message_number, quoted_message_by_id[message["id"]])
                for message_number, message in numbered_messages
                if message["id"] in quoted_message_by_id
            ],
        )
        for i, numbered_messages in messages_by_conversation.items()
    ]
    return Packet(
        handoff,
        source_name,
        name_of(repo, handoff.target_id),
        shown_facts,
        conversation_ends,
        text_budget,
    )
