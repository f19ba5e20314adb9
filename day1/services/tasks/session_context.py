"""The context of a session: what an agent needs to continue it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from day1.errors import NotFound
from day1.model.records.session import Session
from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE, OBSERVATION, Cell, Kind, Row
from day1.ports.reading import Reading
from day1.services.conversations.order import messages_of
from day1.services.repository.repository import Repository
from day1.services.rows.spaces import within
from day1.services.search.filters import active_rows
from day1.services.tasks.sessions import WrittenBranch, written_branches

MOST_CHARACTERS = 32_000
"""Maximum number of characters in an answer, over all texts: about 8,000 tokens."""
LONGEST = 2_000
"""Maximum number of characters of one text; a longer text is shortened."""
OBSERVATIONS = 20
"""Maximum number of observations in an answer."""


@dataclass(slots=True)
class TextBudget:
    """The characters that an answer may hold (`most`; one text: `longest`), and those used."""

    most: int
    longest: int
    characters: int = 0
    left_out: int = 0
    """Number of rows that did not fit."""

    def fitting(self, rows: Iterable["QuotedRow"]) -> Iterator["QuotedRow"]:
        """Yield the rows that fit in the budget, with long texts shortened."""
        for quoted_row in rows:
            is_long = len(quoted_row.text) > self.longest
            shown_text = quoted_row.text[: self.longest] + " \u2026" if is_long else quoted_row.text
            if self.characters + len(shown_text) > self.most:
                self.left_out += 1
                continue
            self.characters += len(shown_text)
            yield QuotedRow(quoted_row.branch, quoted_row.row, shown_text)


@dataclass(frozen=True, slots=True)
class QuotedRow:
    """A row, and the branch it was read from."""

    branch: str
    row: Row
    text: str
    """The row's text as the answer gives it; a long one is shortened."""


@dataclass(frozen=True, slots=True)
class ConversationEnd:
    """The last messages of a conversation."""

    branch: str
    conversation: Row
    messages: list[tuple[int, QuotedRow]]
    """Messages in order, each with its number in the conversation."""


@dataclass(slots=True)
class SessionRecall:
    """A session's notes and rows: facts and observations newest first."""

    notes: list[Session]
    branches: list[WrittenBranch]
    facts: list[QuotedRow] = field(default_factory=list)
    observations: list[QuotedRow] = field(default_factory=list)
    talks: list[ConversationEnd] = field(default_factory=list)
    room: TextBudget = field(default_factory=lambda: TextBudget(MOST_CHARACTERS, LONGEST))


def recall(
    repo: Repository,
    session_id: str,
    message_limit: int,
    fact_limit: int,
    space: Mapping[str, Cell],
) -> SessionRecall:
    """Return the newest rows of a session over all branches that it wrote on.

    Facts first, then messages, then observations, each newest first, up to the text budget.
    A row that is on several branches is given once. The cost grows with the
    session's own rows only. `space` is as in `services.rows.spaces.within`.

    Raises:
        NotFound: no such session wrote anything.
    """
    sessions = repo.ledger.records(Session, session_id=session_id)
    if not sessions:
        raise NotFound(
            f"No session {session_id!r} has written to this memory: pass a session_id with "
            "which something was written.",
            session_id=session_id,
        )
    session_recall = SessionRecall(sessions, written_branches(repo, session_id=session_id))
    session_rows = _Rows(repo, session_id, space)
    for written_branch in session_recall.branches:
        session_rows.read(
            written_branch, {FACT: fact_limit, OBSERVATION: OBSERVATIONS, MESSAGE: message_limit}
        )
    fitting_rows = session_recall.room.fitting
    session_recall.facts = list(fitting_rows(session_rows.newest(FACT, fact_limit)))
    newest_messages = list(fitting_rows(session_rows.newest(MESSAGE, message_limit)))
    session_recall.observations = list(fitting_rows(session_rows.newest(OBSERVATION, OBSERVATIONS)))
    session_recall.talks = list(_talks(repo, session_recall.branches, newest_messages))
    return session_recall


class _Rows:
    """The newest rows of a session by kind, each once, with the branch they were read from."""

    def __init__(self, repo: Repository, session_id: str, space: Mapping[str, Cell]) -> None:
        self._repo, self._session_id, self._space = repo, session_id, space
        self._quoted_rows: dict[Kind, dict[Cell, QuotedRow]] = {}

    def read(self, place: WrittenBranch, limits: dict[Kind, int]) -> None:
        """Read a branch; rows already read from another branch are skipped."""
        with self._repo.store.reading(self._repo.shown(place.ref)) as reading:
            for kind, limit in limits.items():
                quoted_rows = self._quoted_rows.setdefault(kind, {})
                for row in self._newest(reading, kind, limit):
                    text = str(row[kind.text or ""])
                    quoted_rows.setdefault(row["id"], QuotedRow(place.branch.name, row, text))

    def _newest(self, reading: Reading, kind: Kind, limit: int) -> list[Row]:
        active_query = active_rows(kind, inactive=False)
        required_values = {**active_query.equal, "session_id": self._session_id}
        now = self._repo.clock()
        query = replace(
            active_query, equal=required_values, present_at=now, descending=True, limit=limit
        )
        return reading.find(kind, within(reading, kind, query, self._space))

    def newest(self, kind: Kind, limit: int) -> list[QuotedRow]:
        """Return the newest rows of a kind over all branches."""
        quoted_rows = self._quoted_rows.get(kind, {}).values()
        return sorted(quoted_rows, key=_time_and_id, reverse=True)[:limit]


def _time_and_id(quoted_row: QuotedRow) -> tuple[Cell, Cell]:
    return quoted_row.row["created_at"], quoted_row.row["id"]


def _talks(
    repo: Repository, branches: list[WrittenBranch], messages: list[QuotedRow]
) -> Iterable[ConversationEnd]:
    """Group messages by conversation, the conversation with the newest message first."""
    message_by_id_by_conversation: dict[tuple[str, str], dict[str, QuotedRow]] = {}
    for message in messages:
        branch_and_conversation = (message.branch, str(message.row["conversation_id"]))
        message_by_id_by_conversation.setdefault(branch_and_conversation, {})[
            str(message.row["id"])
        ] = message
    ref_by_branch = {written_branch.branch.name: written_branch.ref for written_branch in branches}
    for (branch_name, conversation_id), message_by_id in message_by_id_by_conversation.items():
        with repo.store.reading(repo.shown(ref_by_branch[branch_name])) as reading:
            conversation_by_id = reading.get(CONVERSATION, [conversation_id])
            ordered_messages = messages_of(repo, reading, conversation_id)
        if conversation_by_id:
            numbered_messages = [
                (message_number, message_by_id[message_id])
                for message_number, row in ordered_messages
                if (message_id := str(row["id"])) in message_by_id
            ]
            yield ConversationEnd(
                branch_name, conversation_by_id[conversation_id], numbered_messages
            )
