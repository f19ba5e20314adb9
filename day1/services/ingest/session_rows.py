"""The rows of what was heard: messages, their conversation, a handoff, and the end of a session."""

import json
from dataclasses import dataclass
from typing import Final

from day1.errors import InvalidRequest
from day1.formats.prime_file import FRAME
from day1.model.branches.branch import Branch
from day1.model.files.client_event import AGAIN, ClientEvent
from day1.model.records.sharing import Handoff
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import CONVERSATION, EDIT, MESSAGE, Row, canonical, complete
from day1.model.rows.origin import Origin
from day1.model.values.ids import content_hash, derived_id
from day1.model.values.instant import show
from day1.model.values.parts import parts_of, piece_of
from day1.model.values.space import EVERY, SHARED, asked_space
from day1.ports.additions import Additions
from day1.services.conversations.messages import last_message
from day1.services.repository.repository import Repository
from day1.services.rows.bulk_writes import was_removed
from day1.services.rows.deriving import add_new, basis_columns, basis_edit
from day1.services.rows.recording import EditedCells, edit_rows, new_row
from day1.services.tasks.sessions import note

COMPACTED: Final = "session_handoff"
"""The type of a handoff that a session gives itself when its context is compacted."""
_TITLE: Final = 80
_BEGINS, _ENDS = f"<{FRAME}", f"</{FRAME}>"
"""The marks around what day1 itself brought into a text."""
SAYS: Final = {
    "prompt": "user",
    "turn-end": "assistant",
    "subagent-start": "user",
    "subagent-stop": "assistant",
}
"""The events with messages, and whose these are."""


@dataclass(frozen=True, slots=True)
class Said:
    """A text of an event that becomes a message."""

    event: ClientEvent
    role: str
    text: str

    @property
    def id(self) -> str:
        """The message's id."""
        return self.event.id(MESSAGE.prefix, self.role, self.text)


def said_in(event: ClientEvent) -> Said | None:
    """The message of an event, without what day1 itself brought into its text."""
    role = SAYS.get(event.event)
    if role is None or event.text is None:
        return None
    text = _own(event.text)
    return Said(event, role, text) if text.strip() else None


def _own(text: str) -> str:
    parts, start = [], 0
    while (begin := text.find(_BEGINS, start)) >= 0 and (end := text.find(_ENDS, begin)) >= 0:
        parts.append(text[start:begin])
        start = end + len(_ENDS)
    return "".join([*parts, text[start:]])


def add_message(repo: Repository, branch: Branch, said: Said) -> None:
    """Add a message at the end of its conversation, which begins with its first one.

    A long one is added in parts. Each message has a unit of its own, and so a time of its own: by
    that messages are in order.
    """
    note(repo, branch, _origin(said.event), repo.clock())
    for row_id, text in parts_of(said.id, said.text):
        with repo.store.adding(branch.name) as work:
            if work.get(MESSAGE, [row_id]):
                continue
            if row_id == said.id and _is_again(work, said, text):
                return
            _add(repo, work, said, (row_id, text))
        repo.point("taking.after_part")


def _add(repo: Repository, work: Additions, said: Said, part: tuple[str, str]) -> None:
    """Add a message, or a part of one, of this id and text; not if somebody removed it."""
    row_id, text = part
    talk = said.event.conversation_id
    begun = bool(work.get(CONVERSATION, [talk]))
    if _removed(work, row_id) or (not begun and _removed(work, talk)):
        return
    last = None
    if not begun:
        work.add(CONVERSATION, [_conversation(said, work.now)])
        sources = [{"id": row_id, "content_hash": content_hash(text)}]
        basis = basis_columns(CONVERSATION, talk, sources)
        add_new(work, [basis_edit(basis, _origin(said.event), work.now)])
    elif work.count(MESSAGE, {"conversation_id": talk}):
        last = last_message(repo, work, talk)
    work.add(MESSAGE, [_message(said, part, last, work.now)])


def hand_over(repo: Repository, branch: Branch, event: ClientEvent, summary: str) -> None:
    """Keep the summary of a compacted context as a handoff of the session to what follows it."""
    handoff_id = event.id("handoff", COMPACTED, summary)
    if repo.ledger.record(Handoff, handoff_id) is not None:
        return
    before = repo.ledger.records(Handoff, target_id=branch.id) if event.turn is None else ()
    if any(h.context_summary == summary and abs(h.created_at - event.at) < AGAIN for h in before):
        return
    commit = repo.store.commit_pending(branch.name)
    with repo.store.reading(Ref(commit=commit)) as reading:
        talks = tuple(reading.get(CONVERSATION, [event.conversation_id]))
    ends = {"source_id": branch.id, "target_id": branch.id}
    repo.ledger.put(
        Handoff(
            id=handoff_id, handoff_type=COMPACTED, **ends, commit=commit, facts=(),
            conversations=talks, context_summary=summary, left_out=0, created_by=event.writer,
            created_at=event.at,
        )
    )  # fmt: skip


def close(repo: Repository, branch: Branch, event: ClientEvent) -> None:
    """Note in the conversation of a session that it ended, and commit all that it brought."""
    talk = event.conversation_id
    with repo.store.changing(branch.name) as work:
        row = work.get(CONVERSATION, [talk]).get(talk)
        if row is None:
            return
        detail = _detail(row)
        ended = detail.get("ended")
        if isinstance(ended, int) and ended > event.at - AGAIN:
            return
        detail |= {"ended": event.at, "ended_at": show(event.at)}
        detail |= {} if event.source is None else {"reason": event.source}
        values: Row = {"detail": canonical(detail)}
        edited = EditedCells(CONVERSATION, {**row, **values}, ["detail"], "the session ended")
        work.change(CONVERSATION, talk, values)
        work.add(
            EDIT,
            edit_rows(
                edited,
                _origin(event),
                work.now,
                lambda prefix, _: derived_id(prefix, None, "hook", talk, "ended", str(event.at)),
            ),
        )
        work.commit(Message("change", "close a session", talk))


def _detail(row: Row) -> dict[str, object]:
    try:
        detail = json.loads(str(row["detail"] or "{}"))
    except ValueError:
        return {}
    return dict(detail) if isinstance(detail, dict) else {}


def _removed(work: Additions, row_id: str) -> bool:
    """Whether somebody removed a row that is not here: it does not come back."""
    return was_removed(work.find(EDIT, Query(equal={"row_id": row_id})))


def _is_again(work: Additions, said: Said, text: str) -> bool:
    """Whether the same was said just before, by a client that names no turns.

    `text` is the message, or its first part, whose mark differs each time.
    """
    event = said.event
    if event.turn is not None:
        return False
    equal: Row = {"conversation_id": event.conversation_id, "role": said.role}
    if text != said.text:
        lately = Query(equal=equal, after=event.at - AGAIN + 1, before=event.at + AGAIN - 1)
        first = piece_of(text)
        return any(piece_of(str(row["content"])) == first for row in work.find(MESSAGE, lately))
    equal["content_hash"] = content_hash(said.text)
    return any(
        abs(int(row["happened_at"] or 0) - said.event.at) < AGAIN
        for row in work.find(MESSAGE, Query(equal=equal))
    )


def _origin(event: ClientEvent) -> Origin:
    return Origin(event.writer, event.session, event.task, "tool")


def _conversation(said: Said, now: int) -> Row:
    event = said.event
    first = said.text.strip().splitlines()[0]
    title = first if len(first) <= _TITLE else f"{first[: _TITLE - 1]}…"
    if event.kind is not None:
        title = f"{event.kind}: {title}"
    values: Row = {"title": title, "happened_at": event.at, "space": _space(event.space)}
    return new_row(CONVERSATION, event.conversation_id, values, _origin(event), now)


def _space(name: str | None) -> str | None:
    try:
        space = None if name is None else asked_space(name)
    except InvalidRequest:
        return None
    return None if space in {SHARED, EVERY} else space


def _message(said: Said, part: tuple[str, str], last: str | None, now: int) -> Row:
    event, (row_id, text) = said.event, part
    columns: Row = {"role": said.role, "content": text, "happened_at": event.at}
    columns |= {"model": event.model if said.role == "assistant" else None}
    columns |= {"thinking": None, "tool_calls": None}
    columns |= {"conversation_id": event.conversation_id, "previous_id": last}
    return new_row(MESSAGE, row_id, complete(MESSAGE, columns), _origin(event), now)
