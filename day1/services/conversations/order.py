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
    links = [Link(i, r["previous_id"], r["created_at"]) for i, r in row_by_id.items()]  # type: ignore[arg-type]  # of these columns
    return [
        (place, row_by_id[i]) for place, i in enumerate(_ordered(repo, reading, links), start=1)
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
    ids = [link.id for link in links]

    @cache
    def present(commit: CommitId) -> frozenset[Cell]:
        with repo.store.reading(Ref(commit=commit)) as past:
            return frozenset(r[0] for r in past.scan(MESSAGE, ("id",), Query(among={"id": ids})))

    def arrival(link: Link) -> int:
        later = [commit for commit in bringing_commits if commit.ts > link.created_at]
        place = bisect_left(later, 1, key=lambda commit: link.id in present(commit.id))
        was_brought = place < len(later) and link.id not in present(later[place].parents[0])
        return later[place].ts if was_brought else link.created_at

    return {link.id: arrival(link) for link in links}


def may_bring_messages(commit: Commit) -> bool:
    """Whether a commit may have brought messages from elsewhere, or removed some between others."""
    if commit.meta.get(FROM_THE_END):
        return False
    counts = commit.meta.get("counts")
    return commit.op != "add" and (not isinstance(counts, Mapping) or MESSAGE.table in counts)
