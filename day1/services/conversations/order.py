"""Reading the messages of a conversation in sequence."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from day1.model.rows.change import Commit, CommitId, Query, Ref
from day1.model.rows.kind import MESSAGE, Cell, Row
from day1.model.rows.message_order import Link, in_sequence, rivals
from day1.ports.reading import Reading
from day1.services.repository.repository import Repository

FROM_THE_END: Final = "messages_from_the_end"
"""The note of a commit that only removed the last messages of a conversation: the order of the
others is as before."""

# Reading


def order_of(repo: Repository, reading: Reading, conversation_id: str) -> list[str]:
    """Return the ids of a conversation's messages in sequence."""
    query = Query(equal={"conversation_id": conversation_id})
    rows = reading.scan(MESSAGE, ("id", "previous_id", "created_at"), query)
    return _ordered(repo, reading, [Link(*row) for row in rows])  # type: ignore[arg-type]  # of these columns


def messages_of(repo: Repository, reading: Reading, conversation_id: str) -> list[tuple[int, Row]]:
    """Return a conversation's messages in sequence, each with its place, counted from 1."""
    message_rows = reading.find(MESSAGE, Query(equal={"conversation_id": conversation_id}))
    row_by_id = {str(row["id"]): row for row in message_rows}
    links = [
        Link(message_id, message_row["previous_id"], message_row["created_at"])  # type: ignore[arg-type]  # of these columns
        for message_id, message_row in row_by_id.items()
    ]
    return [
        (place, row_by_id[message_id])
        for place, message_id in enumerate(_ordered(repo, reading, links), start=1)
    ]


def _ordered(repo: Repository, reading: Reading, links: Sequence[Link]) -> list[str]:
    return in_sequence(links, _arrivals(repo, reading.tip, rivals(links)))


def _arrivals(repo: Repository, tip: CommitId, links: Sequence[Link]) -> dict[str, int]:
    """Find when messages came to the past of `tip`: when written, or with a later merge.

    Only needed for messages that follow the same message. It is a binary search over the commits
    that may have brought messages.
    """
    if not links:
        return {}
    oldest_time = min(link.created_at for link in links)
    bringing_commits: list[Commit] = []
    for commit in repo.history.log(tip):
        if commit.ts <= oldest_time:
            break
        if may_bring_messages(commit):
            bringing_commits.append(commit)
    bringing_commits.reverse()
    message_ids = [link.id for link in links]

    @cache
    def present(commit: CommitId) -> frozenset[Cell]:
        with repo.store.reading(Ref(commit=commit)) as past_reading:
            return frozenset(
                row[0]
                for row in past_reading.scan(MESSAGE, ("id",), Query(among={"id": message_ids}))
            )

    def arrival(link: Link) -> int:
        later_commits = [commit for commit in bringing_commits if commit.ts > link.created_at]
        commit_index = bisect_left(
            later_commits, 1, key=lambda commit: link.id in present(commit.id)
        )
        was_brought = commit_index < len(later_commits) and link.id not in present(
            later_commits[commit_index].parents[0]
        )
        return later_commits[commit_index].ts if was_brought else link.created_at

    return {link.id: arrival(link) for link in links}


def may_bring_messages(commit: Commit) -> bool:
    """Whether a commit may have brought messages from elsewhere, or removed some between others."""
    if commit.meta.get(FROM_THE_END):
        return False
    count_by_table = commit.meta.get("counts")
    return commit.op != "add" and (
        not isinstance(count_by_table, Mapping) or MESSAGE.table in count_by_table
    )
