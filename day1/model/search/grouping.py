"""Grouping of texts with nearly the same meaning, and choice of the best worded one. Pure.

Similarity is taken from vectors where there are any (`ALIKE`), else from words (`word_pairs`).
Neither tells a claim from its denial, so denials are looked for here. A chat model may also word
one sentence for several texts (`SENTENCE`); `sentence_of` takes it if it adds nothing to them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any, Final, TypeVar

from day1.errors import Json
from day1.model.search.wording import content_words, subject
from day1.model.values.parts import mark_in

T = TypeVar("T")
Pair = tuple[T, T, float]
"""Two different things and their similarity, 0..1."""

ALIKE = 0.85
"""Cosine from which two texts may have the same meaning."""
ALIKE_WORDS = 0.8
"""Jaccard similarity of content words from which two texts may have the same meaning."""

LONGEST = 300
"""Maximum number of characters of a text that counts as one statement."""
_FEWEST_WORDS = 4
_MOST_SPECIFICS = 3

_DENIAL = re.compile(r"\b(?:no|not|never|none|nor|cannot|without|\w+n['\u2019]t)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.:,]\d+)*")
# What names one particular thing: a number, a path or dotted name, camelCase, snake_case, a name
# in the middle of a sentence.
_SPECIFIC = re.compile(
    r"\b\w*\d[\w.:-]*|\b\w+[._/:@]\w[\w./:@-]*|(?<![a-z])[a-z]++[A-Z]\w*|(?<=[a-z,;] )[A-Z]\w+"
)
_POINTER = re.compile(
    r"(?:it|its|this|that|these|those|they|he|she|we|i|there|here|then|also|again|and|but|so)\b",
    re.IGNORECASE,
)
_END = re.compile(r"[.!?][\"')\]]*$")


def plain(text: str) -> str:
    """Normalize a text: without case, repeated spaces and a final stop, which carry no meaning."""
    return " ".join(text.split()).rstrip(".!").casefold()


def at_odds(one: str, other: str) -> bool:
    """Whether two similar texts contradict each other or differ in a number.

    That is so if one denies and the other does not, or if each has a number that the other lacks:
    "12 tests passed" is not a duplicate of "13 tests passed". Parts of a longer text are never
    duplicates of each other.
    """
    if mark_in(one) != mark_in(other):
        return True
    if bool(_DENIAL.search(one)) != bool(_DENIAL.search(other)):
        return True
    one_numbers, other_numbers = set(_NUMBER.findall(one)), set(_NUMBER.findall(other))
    return not (one_numbers <= other_numbers or other_numbers <= one_numbers)


def complete_links(things: Sequence[T], pairs: Iterable[Pair[T]]) -> list[list[T]]:
    """Group things so that within a group each is similar to every other.

    Groups are joined if all their pairs are similar, the most similar first, so that a chain of
    neighbours does not become one group. Groups and their members are in the order of `things`.

    Args:
        things: distinct things.
        pairs: the similar pairs; all others are not similar.
    """
    place_by_thing = {thing: place for place, thing in enumerate(things)}
    places_by_group = dict(enumerate([place] for place in place_by_thing.values()))
    link_counts: list[Counter[int]] = [Counter() for _ in place_by_thing]
    group_by_place = list(place_by_thing.values())
    ranked_pairs = sorted(
        (-similarity, place_by_thing[left], place_by_thing[right])
        for left, right, similarity in pairs
        if left != right
    )
    for one_place, other_place in dict.fromkeys(
        (min(left, right), max(left, right)) for _, left, right in ranked_pairs
    ):
        kept_group, joined_group = sorted((group_by_place[one_place], group_by_place[other_place]))
        if kept_group == joined_group:
            continue
        link_counts[kept_group][joined_group] += 1
        link_counts[joined_group][kept_group] += 1
        if link_counts[kept_group][joined_group] < len(places_by_group[kept_group]) * len(
            places_by_group[joined_group]
        ):
            continue
        for third_group, link_count in link_counts[joined_group].items():
            link_counts[third_group][kept_group] += link_count
            del link_counts[third_group][joined_group]
        link_counts[kept_group].update(link_counts[joined_group])
        del link_counts[kept_group][kept_group], link_counts[kept_group][joined_group]
        for place in places_by_group[joined_group]:
            group_by_place[place] = kept_group
        places_by_group[kept_group] += places_by_group.pop(joined_group)
    return [
        [things[place] for place in sorted(group_places)]
        for group_places in places_by_group.values()
    ]


def word_pairs(texts: Mapping[T, str]) -> list[Pair[T]]:
    """Find the pairs of texts that have most of their content words in common."""
    return pairs_in_common({key: frozenset(content_words(text)) for key, text in texts.items()})


def pairs_in_common(words_by_key: Mapping[T, frozenset[str]]) -> list[Pair[T]]:
    """Find the pairs of sets of words that have most of their words in common.

    Only sets that share one of their rarest words are compared: with 0.8 in common, at least one
    of the rarest fifth must be.
    """
    count_by_word = Counter(word for words in words_by_key.values() for word in words)
    words_by_rarity = sorted(count_by_word, key=lambda word: (count_by_word[word], word))
    rank_by_word = {word: rank for rank, word in enumerate(words_by_rarity)}
    keys_by_word: dict[str, list[T]] = {}
    common_pairs: list[Pair[T]] = []
    for key, words in words_by_key.items():
        rarest_words = sorted(words, key=rank_by_word.__getitem__)
        rarest_words = rarest_words[: len(words) - ceil(ALIKE_WORDS * len(words)) + 1]
        candidate_keys = dict.fromkeys(
            other_key for word in rarest_words for other_key in keys_by_word.get(word, ())
        )
        similarities = (
            (other_key, shared_words(words, words_by_key[other_key]))
            for other_key in candidate_keys
        )
        common_pairs += [
            (other_key, key, similarity)
            for other_key, similarity in similarities
            if similarity >= ALIKE_WORDS
        ]
        for word in rarest_words:
            keys_by_word.setdefault(word, []).append(key)
    return common_pairs


def shared_words(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard similarity of two sets of words, 0 to 1."""
    common_count = len(one & other)
    return common_count / (len(one) + len(other) - common_count) if common_count else 0.0


def worded(text: str) -> int:
    """Rate how well a text states one fact without its context.

    It names its subject, is a whole sentence, has specifics (numbers, names, paths), and is
    neither a few words nor a page.
    """
    stripped_text = text.strip()
    rating = min(len(_SPECIFIC.findall(stripped_text)), _MOST_SPECIFICS)
    if not _POINTER.match(stripped_text):
        rating += 2 + (subject(stripped_text) is not None)
    rating += 2 * (_END.search(stripped_text) is not None)
    rating -= 2 * (len(stripped_text.split()) < _FEWEST_WORDS)
    rating -= 4 * (len(stripped_text) > LONGEST)
    return rating


def faithful(sentence: str, sources: Sequence[str]) -> bool:
    """Whether a sentence adds nothing to its sources, as far as words can tell.

    Most of its content words and all of its numbers are in the sources, and it denies if one does.
    """
    source_words = {word for source in sources for word in content_words(source)}
    sentence_words = content_words(sentence)
    source_numbers = {number for source in sources for number in _NUMBER.findall(source)}
    source_denials = {bool(_DENIAL.search(source)) for source in sources}
    return (
        2 * sum(word in source_words for word in sentence_words) > len(sentence_words)
        and source_numbers.issuperset(_NUMBER.findall(sentence))
        and bool(_DENIAL.search(sentence)) in source_denials
    )


SENTENCE: Final[dict[str, Json]] = {
    "type": "object",
    "properties": {"sentence": {"type": "string"}},
    "required": ["sentence"],
    "additionalProperties": False,
}
"""The JSON Schema of the chat model's answer."""


def sentence_of(answer: Mapping[str, Any], texts: Sequence[str], longest: int) -> str | None:
    """Return the model's sentence for several texts; None if it is missing or adds to them."""
    sentence = answer.get("sentence")
    if not isinstance(sentence, str) or not 0 < len(sentence.strip()) <= longest:
        return None
    sentence = " ".join(sentence.split())
    return sentence if sentence.isprintable() and faithful(sentence, texts) else None
