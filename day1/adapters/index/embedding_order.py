"""The order in which the passages of texts are embedded."""

from collections.abc import Iterator, Sequence

from day1.ports.index import TextId

Passage = tuple[TextId, int, str]
"""A text's number, the number of a passage in it, and the passage."""


def best_by_words(passages: Sequence[Passage], terms: Sequence[str]) -> int:
    """Return the place of the first passage with the most terms of a question."""
    lowercase_terms = [term.lower() for term in terms]
    term_counts = [
        sum(lowercase_term in passage.lower() for lowercase_term in lowercase_terms)
        for _, _, passage in passages
    ]
    return term_counts.index(max(term_counts))


def in_strides(passages: Iterator[Passage], stride: int | None) -> Iterator[list[Passage]]:
    """Group passages to at most `stride` characters (or one longer passage); None: one group."""
    passage_group: list[Passage] = []
    characters_left = stride
    for passage in passages:
        if characters_left is not None and stride is not None:
            if passage_group and len(passage[2]) > characters_left:
                yield passage_group
                passage_group, characters_left = [], stride
            characters_left -= len(passage[2])
        passage_group.append(passage)
    if passage_group:
        yield passage_group
