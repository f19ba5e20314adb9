"""Transcripts: storing the messages of a session, and reading them back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from day1.model.branches.branch import Branch
from day1.model.layers.row_detail import owner_in
from day1.model.layers.thread import Thread, conversation_id, transcript_message_id
from day1.model.rows.change import Query
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import CONVERSATION, MESSAGE, OBSERVATION, Row
from day1.model.rows.origin import Origin
from day1.model.values.ids import content_hash
from day1.model.values.wallet_space import Owner
from day1.ports.additions import Additions
from day1.ports.reading import Reading
from day1.services.conversations.messages import NewMessage
from day1.services.conversations.order import messages_of
from day1.services.repository.repository import Repository
from day1.services.rows.recording import BranchAfter
from day1.services.turns.recording import SessionRecord, ThreadUnit, removed_of

TranscriptId = Literal["sessionId", "threadId"]
"""Whether the id of a transcript is that of a session or of a thread."""


@dataclass(frozen=True, slots=True)
class NewTranscript:
    """A transcript to store: a session of a thread, its messages, and its description."""

    thread: Thread
    messages: Sequence[NewMessage]
    record: SessionRecord


@dataclass(frozen=True, slots=True)
class StoredTranscript:
    """A stored transcript: its rows, the branch after it, and notes."""

    message_ids: Sequence[str]
    """The ids of the messages that the thread has, in the order of the transcript. A removed or
    redacted message has no id."""
    after: BranchAfter
    notes: Sequence[str]


def store_transcript(
    repo: Repository, branch: Branch, transcript: NewTranscript, origin: Origin
) -> StoredTranscript:
    """Store the messages of a session that its thread lacks, in one unit of work.

    A message that the session has as often as the transcript, with the same role and text, is not
    stored again, whether a turn or a transcript brought it.
    """
    with repo.store.adding(branch.name) as unit_of_work:
        message_ids, new_messages = _missing(unit_of_work, transcript)
        thread_unit = ThreadUnit(repo, unit_of_work, transcript.thread, origin)
        branch_after, notes = thread_unit.put(new_messages, transcript.record)
    return StoredTranscript(message_ids, branch_after, notes)


def _missing(
    work: Additions, transcript: NewTranscript
) -> tuple[list[str], list[tuple[str, NewMessage]]]:
    """Find which messages the thread lacks; return the ids of all, and the new ones with theirs."""
    thread_conversation_id, session_id = (
        transcript.thread.conversation_id,
        transcript.thread.session,
    )
    query = Query(equal={"conversation_id": thread_conversation_id, "session_id": session_id})
    ids_by_message: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row_id, role, text_hash in work.scan(MESSAGE, ("id", "role", "content_hash"), query):
        ids_by_message[str(role), str(text_hash)].append(str(row_id))
    message_ids: list[str] = []
    new_message_by_id: dict[str, NewMessage] = {}
    for message_number, message in enumerate(transcript.messages, start=1):
        text_hash = content_hash(message.content)
        equal_ids = ids_by_message[message.role, text_hash]
        if equal_ids:
            message_ids.append(equal_ids.pop(0))
        elif text_hash not in work.mask.hashes:
            row_id = transcript_message_id(
                thread_conversation_id, session_id, message_number, text_hash
            )
            message_ids.append(row_id)
            new_message_by_id[row_id] = message
    removed_ids = removed_of(work, list(new_message_by_id))
    new_messages = [
        (row_id, message)
        for row_id, message in new_message_by_id.items()
        if row_id not in removed_ids
    ]
    return [row_id for row_id in message_ids if row_id not in removed_ids], new_messages


@dataclass(frozen=True, slots=True)
class Transcript:
    """The messages of a session or thread in order, and the record that describes it."""

    thread: Thread
    """The thread, with the session of its newest message."""
    messages: Sequence[Row]
    record: Row | None
    """The observation that describes the session; None without one, or for several sessions."""


def find_transcript(
    repo: Repository, reading: Reading, owner: Owner, name: str, kind: TranscriptId | None
) -> Transcript | None:
    """Find the transcript of a session or thread that an owner sees; None if there is none.

    Args:
        repo: the repository of the reading.
        reading: the state to read.
        owner: the owner whose visible transcripts are searched.
        name: the session or thread.
        kind: what `name` is; None: a session, and if there is none, a thread.
    """
    conversation, session = None, None
    if kind != "threadId":
        conversation = _conversation_of(reading, owner, name)
        session = None if conversation is None else name
    if conversation is None and kind != "sessionId":
        conversation = _thread(reading, owner, name)
    if conversation is None:
        return None
    message_rows = [row for _, row in messages_of(repo, reading, str(conversation["id"]))]
    message_rows = [row for row in message_rows if session is None or row["session_id"] == session]
    if not message_rows:
        return None
    session_ids = [str(row["session_id"]) for row in message_rows if row["session_id"] is not None]
    name = _thread_name(conversation)
    thread = Thread(
        owner_in(conversation["detail"]), name, session_ids[-1] if session_ids else name
    )
    record_by_id = reading.get(OBSERVATION, [thread.record_id]) if len({*session_ids}) == 1 else {}
    return Transcript(thread, message_rows, record_by_id.get(thread.record_id))


def _conversation_of(reading: Reading, owner: Owner, session: str) -> Row | None:
    """Find the conversation of a session in the nearest space: that of its newest message."""
    newest_query = Query(equal={"session_id": session}, order="created_at", descending=True)
    newest_messages = reading.scan(MESSAGE, ("conversation_id",), newest_query)
    conversation_ids = list(dict.fromkeys(str(row[0]) for row in newest_messages))
    conversation_by_id = reading.get(CONVERSATION, conversation_ids)
    visible_conversations = [
        conversation_by_id[row_id] for row_id in conversation_ids if row_id in conversation_by_id
    ]
    visible_conversations = [row for row in visible_conversations if _is_visible(row, owner)]
    return min(
        visible_conversations, key=lambda row: owner.spaces.index(row["space"]), default=None
    )


def _thread(reading: Reading, owner: Owner, name: str) -> Row | None:
    """Find the conversation of a thread, in the nearest space that has it."""
    conversation_ids = [conversation_id(space, name) for space in owner.spaces]
    conversation_by_id = reading.get(CONVERSATION, conversation_ids)
    visible_conversations = (
        conversation_by_id[row_id] for row_id in conversation_ids if row_id in conversation_by_id
    )
    return next((row for row in visible_conversations if _is_visible(row, owner)), None)


def _is_visible(conversation: Row, owner: Owner) -> bool:
    return conversation["space"] in owner.spaces and bool(_thread_name(conversation))


def _thread_name(conversation: Row) -> str:
    """Return the name of a conversation's thread; "" if the toolset `compose` did not write it."""
    is_of_compose = owner_in(conversation["detail"]).wallet is not None
    return str(read_detail(conversation["detail"]).get("threadId") or "") if is_of_compose else ""
