"""The order of the messages of a conversation: a pure rule.

A message knows only the message that it followed when it was logged. Its position, from 1 to n
without gaps, is computed on the branch that is read. So two continuations of one conversation merge
without a conflict: both stay whole, and the one that was on the branch first comes first.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Link(NamedTuple):
    """A message in its chain."""

    id: str
    previous_id: str | None
    """The message that this one followed; it may exist on another branch only."""
    created_at: int


def rivals(links: Sequence[Link]) -> list[Link]:
    """Find messages that follow the same message; their order is that of their arrival."""
    follower_counts = Counter(link.previous_id for link in links)
    return [link for link in links if follower_counts[link.previous_id] > 1]


def in_sequence(links: Sequence[Link], arrived: Mapping[str, int]) -> list[str]:
    """Return the ids of all messages of a conversation, in their order.

    A message whose predecessor is not there begins a run of its own: the run that was said first
    comes first.

    Args:
        links: of every message there is.
        arrived: when rivals came to the branch; for one that is left out, when it was written.
    """
    # By when it was learned: what a message follows is always older.
    key_by_id = {link.id: (link.created_at, link.id) for link in links}
    run_starts_by_previous: dict[str | None, list[Link]] = {}
    followers_by_previous: dict[str | None, list[Link]] = {}
    for link in links:
        previous_key = key_by_id.get(link.previous_id or "")
        # The circles that a damaged file may hold are cut open.
        is_follower = previous_key is not None and previous_key < key_by_id[link.id]
        (followers_by_previous if is_follower else run_starts_by_previous).setdefault(
            link.previous_id, []
        ).append(link)

    def turn(link: Link) -> tuple[int, int, str]:
        return arrived.get(link.id, link.created_at), *key_by_id[link.id]

    start_groups = sorted(
        run_starts_by_previous.values(),
        key=lambda run_links: min(key_by_id[link.id] for link in run_links),
    )
    link_stack = [
        link
        for start_group in reversed(start_groups)
        for link in sorted(start_group, key=turn, reverse=True)
    ]
    ordered_ids = []
    while link_stack:
        link = link_stack.pop()
        ordered_ids.append(link.id)
        link_stack += sorted(followers_by_previous.get(link.id, ()), key=turn, reverse=True)
    return ordered_ids
