"""The order in which the passages of texts are embedded."""

from collections.abc import Iterator, Sequence

from day1.ports.index import TextId

Passage = tuple[TextId, int, str]
"""A text's number, the number of a passage in it, and the passage."""


def best_by_words(passages: Sequence[Passage], terms: Sequence[str]) -> int:
    """Return the place of the first passage with the most terms of a question."""
    words = [term.lower() for term in terms]
    counts = [sum(word in passage.lower() for word in words) for _, _, passage in passages]
    return counts.index(max(counts))


def in_strides(passages: Iterator[Passage], stride: int | None) -> Iterator[list[Passage]]:
    """Group passages to at most `stride` characters (or one longer passage); None: one group."""
    group: list[Passage] = []
    characters_left = stride
    for passage in passages:
        if characters_left is not None and stride is not None:
            if group and len(passage[2]) > characters_left:
                yield group
                group, characters_left = [], stride
            characters_left -= len(passage[2])
        group.append(passage)
    if group:
        yield group
