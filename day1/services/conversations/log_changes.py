"""Adding messages to a log and removing them, in an open unit of work: see `chains`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from day1.errors import Conflict, NotFound
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.rows.change import Query
from day1.model.rows.kind import CONVERSATION, EDIT, MESSAGE, Kind, Row, complete
from day1.model.rows.origin import Origin
from day1.ports.store import Work
from day1.services.contexts import entries
from day1.services.contexts.entries import EntryQuery
from day1.services.conversations.chains import Chains, LogKey
from day1.services.conversations.keyed import Batch, conversation_row
from day1.services.repository.repository import Repository
from day1.services.rows.editing import Editor
from day1.services.rows.recording import new_row


@dataclass(frozen=True, slots=True)
class SaidMessages:
    """Messages under keys to add to a conversation, each after the one before it."""

    batch: Batch
    keys: Sequence[LogKey]
    """The keys of the messages, in their order."""
    after: LogKey | None = None
    """The message that the first one follows, of any conversation; None: it begins a chain."""

    @property
    def row_id(self) -> str:
        """The id of the chain's last message, or of the conversation if it gets no message."""
        last_key = self.keys[-1] if self.keys else self.after
        return self.batch.at.conversation_id if last_key is None else last_key.row_id


@dataclass(frozen=True, slots=True)
class UnsaidMessages:
    """Messages of a conversation and of some chains, to remove if no entry needs them.

    An entry needs the message that it names, and all those before that one.
    """

    conversation_id: str
    ends: Sequence[LogKey]
    """The last messages of the chains; those that are not there are passed over."""
    space: str | None
    """The space that names the log; entries in it and in the spaces below it name messages."""
    named_at: Sequence[str]
    """The members of the entries that name messages: by a key, or a list of keys."""
    reason: str | None = None


def say(work: Work, said: SaidMessages, origin: Origin) -> str:
    """Add messages in open work; return `add`, or nothing if all of them are there.

    Raises:
        NotFound: the message that the first one follows is not there.
        Conflict: a key is that of another message, or of one that was removed.
    """
    if said.after is not None and not work.get(MESSAGE, [said.after.row_id], ("previous_id",)):
        raise NotFound(
            "The message to continue from is not in the log on this branch: read the log, and "
            "continue from one of its messages.",
            key=said.after.key,
        )
    row_ids = [key.row_id for key in said.keys]
    row_by_id, removed_ids = work.get(MESSAGE, row_ids), _removed_ids(work, row_ids)
    new_rows: list[Row] = []
    previous_id = None if said.after is None else said.after.row_id
    for key, row_id, message in zip(said.keys, row_ids, said.batch.messages, strict=True):
        columns = {**complete(MESSAGE, message.columns), "previous_id": previous_id}
        present_row = row_by_id.get(row_id)
        if row_id in removed_ids or (
            present_row is not None and not _is_same(present_row, columns)
        ):
            raise Conflict(
                "The key of a message belongs to another message, maybe to a removed one: give "
                "each message a key of its own.",
                key=key.key,
            )
        if present_row is None:
            columns["conversation_id"] = said.batch.at.conversation_id
            new_rows.append({"id": row_id, **columns})
        previous_id = row_id
    if new_rows:
        _add(work, said.batch, new_rows, origin)
    return "add" if new_rows else ""


def _add(work: Work, batch: Batch, rows: Sequence[Row], origin: Origin) -> None:
    if not work.get(CONVERSATION, [batch.at.conversation_id], ("title",)):
        work.add(CONVERSATION, [conversation_row(batch, origin, work.now)])
    complete_rows = []
    for row in rows:
        # Messages of one time would be read in the order of their ids, which follow from keys.
        work.not_before(work.now)
        complete_rows.append(new_row(MESSAGE, str(row["id"]), row, origin, work.now))
    work.add(MESSAGE, complete_rows)


def _removed_ids(work: Work, row_ids: Sequence[str]) -> set[str]:
    """Return the ids of messages that were there and are not there any more."""
    if not row_ids:
        return set()
    edited_rows = work.scan(EDIT, ("row_id",), Query(among={"row_id": row_ids}))
    edited_ids = list({str(row_id) for (row_id,) in edited_rows})
    return set(edited_ids) - work.get(MESSAGE, edited_ids, ("previous_id",)).keys()


def _is_same(row: Row, columns: Mapping[str, object]) -> bool:
    return row["content_hash"] == REDACTED_HASH or all(
        row[column] == columns[column] for column in columns
    )


def unsay(repo: Repository, work: Work, unsaid: UnsaidMessages, origin: Origin) -> str:
    """Remove messages that no entry needs, and conversations that this empties, in open work.

    Returns `remove`, or nothing if there are no such messages.
    """
    chains = Chains(repo, work)
    conversation_query = Query(equal={"conversation_id": unsaid.conversation_id})
    conversation_message_ids = [
        str(row_id) for (row_id,) in work.scan(MESSAGE, ("id",), conversation_query)
    ]
    candidate_ids = dict.fromkeys(
        [
            *conversation_message_ids,
            *(row_id for end_key in unsaid.ends for row_id in _before(chains, end_key.row_id)),
        ]
    )
    named_ids = _named_ids(work, chains, unsaid) if candidate_ids else set()
    removed_row_by_id = work.get(
        MESSAGE, [row_id for row_id in candidate_ids if row_id not in named_ids]
    )
    removed_count_by_conversation = Counter(
        str(row["conversation_id"]) for row in removed_row_by_id.values()
    )
    emptied_ids = [
        conversation_id
        for conversation_id, removed_count in removed_count_by_conversation.items()
        if work.count(MESSAGE, {"conversation_id": conversation_id}) == removed_count
    ]
    kinds_and_rows: list[tuple[Kind, Row]] = [(MESSAGE, row) for row in removed_row_by_id.values()]
    kinds_and_rows += [(CONVERSATION, row) for row in work.get(CONVERSATION, emptied_ids).values()]
    if kinds_and_rows:
        Editor(repo, work, origin, unsaid.reason).remove(kinds_and_rows)
    return "remove" if kinds_and_rows else ""


def _before(chains: Chains, row_id: str) -> Iterator[str]:
    """Yield the ids of a chain's present messages, from its end back to the first unknown one."""
    try:
        for link in chains.links(row_id):
            if link.is_there:
                yield link.id
    except NotFound:
        return


def _named_ids(work: Work, chains: Chains, unsaid: UnsaidMessages) -> set[str]:
    """Return the ids of the messages that entries of the log name, and of those before them."""
    query = EntryQuery(work.now, {"space": unsaid.space})
    message_ids: set[str] = set()
    for entry in entries.read(work, entries.find(work, query)):
        entry_value = entry.value if isinstance(entry.value, dict) else {}
        member_values = [entry_value.get(member) for member in unsaid.named_at]
        keys = [
            key
            for member_value in member_values
            for key in (member_value if isinstance(member_value, list) else [member_value])
        ]
        for key in keys:
            if not isinstance(key, str):
                continue
            for row_id in _before(chains, LogKey(unsaid.space, key).row_id):
                if row_id in message_ids:
                    break
                message_ids.add(row_id)
    return message_ids
