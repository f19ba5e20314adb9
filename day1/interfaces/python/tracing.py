"""Methods that read a branch as it is: its conversations, its commits, who wrote what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from day1.interfaces.python.options import MessageSearchOptions, Role
from day1.interfaces.python.reading import Reads
from day1.interfaces.python.results import Results

if TYPE_CHECKING:
    from day1.toolsets.day1.browse.browsing import CommitShown, Log
    from day1.toolsets.day1.core.conversations import (
        ConversationItem,
        Conversations,
        MessageHit,
        MessageHits,
    )
    from day1.toolsets.day1.recalling import Primed
    from day1.toolsets.day1.review.tracing import RowBlame, RowHistory


class Traces(Reads):
    """Reads a branch and the ways in which its memories came there."""

    def conversations(
        self,
        *,
        limit: int = 20,
        session_id: str | None = None,
        agent_id: str | None = None,
        task_id: str | None = None,
        space: str | None = None,
    ) -> Results[ConversationItem]:
        """List conversations, latest message first.

        Args:
            limit: how many conversations to answer, 1 to 200.
            session_id: only those begun in this session.
            agent_id: only those begun by this agent.
            task_id: only those begun for this task.
            space: only those of this space; `shared`: only those of none; `*`: all.

        Raises:
            InvalidRequest: an argument does not fit.
        """
        answer: Conversations = self._ask(
            "memory_list_conversations",
            limit=limit,
            session_id=session_id,
            agent_id=agent_id,
            task_id=task_id,
            space=space,
        )
        return Results(answer.result, answer.read)

    def search_messages(
        self,
        query: str,
        *,
        limit: int = 10,
        conversation_id: str | None = None,
        role: Role | None = None,
        **options: Unpack[MessageSearchOptions],
    ) -> Results[MessageHit]:
        """Find messages by meaning and by words, best first.

        Args:
            query: what to look for, as a question or as words.
            limit: how many messages to answer, 1 to 200.
            conversation_id: only messages of this conversation.
            role: only messages of this role.
            **options: see `MessageSearchOptions`.

        Raises:
            InvalidRequest: an argument does not fit.
        """
        answer: MessageHits = self._ask(
            "memory_search_messages",
            query=query,
            limit=limit,
            conversation_id=conversation_id,
            role=role,
            **options,
        )
        return Results(answer.result, answer.read)

    def log(self, *, limit: int = 20, before: str | None = None) -> Results[CommitShown]:
        """List the commits of the branch, newest first: what was done, by whom.

        Args:
            limit: how many commits to answer, 1 to 200.
            before: a commit: only those older than it, which is the next page.

        Raises:
            NotFound: there is no such commit.
        """
        answer: Log = self._ask("memory_log", limit=limit, before=before)
        return Results(answer.result, answer.read)

    def history(self, row_id: str, *, limit: int = 50) -> RowHistory:
        """Read all versions of a memory across merges, newest first: who made them, when, where.

        Args:
            row_id: the memory.
            limit: how many versions to answer, 1 to 1,000.

        Raises:
            NotFound: it was never on the branch.
        """
        answer: RowHistory = self._ask("memory_history", id=row_id, limit=limit)
        return answer

    def blame(self, row_id: str, *, lines: bool = False) -> RowBlame:
        """Read who wrote each part of a memory, when, on which branch, and how it came here.

        Args:
            row_id: the memory.
            lines: whether to say who wrote each line of its text, in `lines`.

        Raises:
            NotFound: it is not on the branch.
        """
        answer: RowBlame = self._ask("memory_blame", id=row_id, lines=lines)
        return answer

    def prime(self, *, space: str | None = None) -> Primed:
        """Read the text that a session begins with: the open work and the most useful facts.

        Args:
            space: the space whose facts it has beside the shared ones.

        Raises:
            UnknownBranch: the branch does not exist.
        """
        answer: Primed = self._ask("memory_prime", space=space)
        return answer
