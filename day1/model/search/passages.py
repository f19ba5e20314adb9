"""Long texts among hits: the passage of one to quote, and one hit for all parts of a text."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from operator import itemgetter
from typing import Final, NamedTuple, TypeVar

from day1.model.rows.kind import MEMORIES, Row
from day1.model.search.ranking import Candidate, Scored
from day1.model.search.wording import content_words, excerpt
from day1.model.values.parts import MARK, Part, part_of
from day1.model.values.showing import changes_the_last

LEAST: Final = 160
"""Characters that each passage may always have: a sentence or two."""
_MOST_WORDS: Final = 64
"""Maximum number of words of a question that passages are searched for."""
_SHORTEST_STEM: Final = 3
_CUT: Final = "\u2026"
_JOINER: Final = "\u200d"

_ENDING: Final = re.compile(r"(?:ies|ied|ings?|es|ed|s|e|(?<![aeiou])y)$")
_ENDINGS: Final = re.compile(r"(?:ie[sd]|ings?|e?s|e?d|e|y|e?rs?|ly|ments?|ions?)?")
_WORD: Final = re.compile(r"[^\W_]+")
# A sentence ends in a mark and a blank, or in a mark of its own script; a line ends in a break.
_ENDS: Final = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]]*\s+|[\u3002\uff01\uff1f]\s*|\n\s*")


Order = Callable[[Iterable[Candidate], int], list[Scored]]
"""A function that ranks candidates and returns at most the given number, best first."""
Show = Callable[[Iterable[str]], dict[str, Row]]
"""A function that returns those of some rows that may be shown, by id."""
_TEXTS: Final = tuple(kind.text for kind in MEMORIES if kind.text)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PassageLimits:
    """How much of long texts an answer quotes, in characters."""

    whole_characters: int = 1_000
    """A text up to this length is sent whole."""
    passage_characters: int = 800
    """Maximum number of characters of one passage."""
    passages_characters: int = 2_000
    """Maximum number of characters of all passages together; each may have `LEAST` all the same."""


class Span(NamedTuple):
    """A part of a text, from the character `start` to before the character `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FoundText:
    """The whole text of a memory that was found."""

    text: str
    near: Span | None = None
    """The place of the passage that is nearest by meaning; None if unknown or the only one."""


@dataclass(frozen=True, slots=True)
class QuotedText:
    """A text in an answer: whole, or one passage of it."""

    text: str
    span: Span | None
    """The place of the passage; None if the text is whole."""
    length: int
    """Characters of the whole text."""
    quotation: str | None = None
    """A short quotation of the nearest passage of a text that is whole."""


def sentences(text: str) -> list[str]:
    """Split a text into its sentences and lines, without blanks around or repeated in them."""
    end_positions = [*(match.end() for match in _ENDS.finditer(text)), len(text)]
    pieces = (text[start:end] for start, end in pairwise([0, *end_positions]))
    return [" ".join(piece.split()) for piece in pieces if piece.strip()]


def passage_at(passages: Sequence[str], text: str, number: int) -> Span | None:
    """Find the place of a text's passage by its number from 0; None if the text has fewer."""
    if number >= len(passages):
        return None
    start = -1
    for passage_text in passages[: number + 1]:
        start = text.index(passage_text, start + 1)
    return Span(start, start + len(passages[number]))


class _Word(NamedTuple):
    """A word of the question in a text: its place, and the stem that it matches."""

    start: int
    end: int
    stem: str


def quote(
    question: str, texts: Sequence[FoundText], limits: PassageLimits | None
) -> list[QuotedText]:
    """Quote the texts of an answer, best first: long ones by their best passage for the question.

    The first hit is the right one more often than all others together. So each passage may have
    `LEAST` characters, and the first ones share the rest of `passages_characters`.

    Args:
        question: the question.
        texts: the whole texts.
        limits: how much of long texts is quoted; None: every text is whole.
    """
    max_whole_length = math.inf if limits is None else limits.whole_characters
    long_texts = [hit for hit in texts if len(hit.text) > max_whole_length]
    if limits is None or not long_texts:
        return [_whole(question, hit) for hit in texts]
    stems_by_start = _stems(question)
    words_of_texts = [list(_words(stems_by_start, hit.text)) for hit in texts]
    rarity_by_stem, passage_sizes = _rarity(words_of_texts), _sizes(len(long_texts), limits)
    quoted_texts = []
    for hit, hit_words in zip(texts, words_of_texts, strict=True):
        passage_span = (
            passage(hit, next(passage_sizes), hit_words, rarity_by_stem)
            if len(hit.text) > max_whole_length
            else None
        )
        if passage_span is None:
            quoted_texts.append(_whole(question, hit))
        else:
            quoted_texts.append(
                QuotedText(_with_marks(hit.text, passage_span), passage_span, len(hit.text))
            )
    return quoted_texts


def _whole(question: str, hit: FoundText) -> QuotedText:
    quotation = hit.text if hit.near is None else excerpt(hit.text[slice(*hit.near)], question)
    return QuotedText(hit.text, None, len(hit.text), quotation if quotation != hit.text else None)


def _sizes(count: int, limits: PassageLimits) -> Iterator[int]:
    """Yield the maximum number of characters of each of `count` passages, best first."""
    least_size = min(LEAST, limits.passage_characters)
    spare_characters = max(0, limits.passages_characters - count * least_size)
    for _ in range(count):
        extra_size = min(limits.passage_characters - least_size, spare_characters)
        spare_characters -= extra_size
        yield least_size + extra_size


def passage(
    hit: FoundText, size: int, words: Sequence[_Word], rarity: Mapping[str, float]
) -> Span | None:
    """Choose the passage of at most `size` characters with the most and rarest question words.

    It lies within the nearest passage by meaning, if that is known. It begins and ends with a
    sentence, a line or a word if that costs no word of the question.

    Returns:
        None if the text, without blanks around it, has at most `size` characters.
    """
    text = hit.text
    text_start = len(text) - len(text.lstrip())
    text_span = Span(text_start, max(text_start, len(text.rstrip())))
    if text_span.end - text_span.start <= size:
        return None
    search_span = text_span if hit.near is None else _widened(hit.near, size, text_span)
    words_within = [
        word for word in words if search_span.start <= word.start and word.end <= search_span.end
    ]
    densest_span = _densest(words_within, size, rarity)
    latest_start = search_span.start + size // 3
    start, words_end = search_span.start, search_span.start
    if densest_span is not None:
        latest_start, words_end = densest_span
        lead_size = (size - (densest_span.end - densest_span.start)) // 2
        start = max(search_span.start, min(densest_span.start - lead_size, search_span.end - size))
    if start > text_span.start:
        start = _begin(text, start, latest_start)
    latest_end = min(search_span.end, start + size)
    if latest_end == text_span.end:
        return Span(start, latest_end)
    earliest_end = min(latest_end, max(words_end, start + 2 * size // 3))
    end = _end(text, earliest_end, latest_end)
    return Span(start, end if end > start else latest_end)  # a passage of blanks only stays


def _stems(question: str) -> dict[str, list[str]]:
    """Group the stems of a question's words by their first two letters."""
    stems_by_start: dict[str, list[str]] = {}
    for word in content_words(question)[:_MOST_WORDS]:
        stem = _ENDING.sub("", word)
        stem = stem if len(stem) >= _SHORTEST_STEM else word
        stems_by_start.setdefault(stem[:2], []).append(stem)
    return stems_by_start


def _words(stems_by_start: Mapping[str, Sequence[str]], text: str) -> Iterator[_Word]:
    """Find the words of a question in a text, by their stems: other endings count too."""
    for match in _WORD.finditer(text) if stems_by_start else ():
        word = match[0]
        for stem in stems_by_start.get(word[:2].lower(), ()):
            if word.lower().startswith(stem) and _ENDINGS.fullmatch(word.lower()[len(stem) :]):
                yield _Word(match.start(), match.end(), stem)
                break


def _rarity(texts: Iterable[Sequence[_Word]]) -> dict[str, float]:
    """Weigh each word of the question by how rare it is among the texts of the answer.

    No other text counts, since the token may not see others.
    """
    stem_sets = [{word.stem for word in words} for words in texts]
    count_by_stem = Counter(stem for stems in stem_sets for stem in stems)
    return {
        stem: math.log(1 + (len(stem_sets) - text_count + 0.5) / (text_count + 0.5))
        for stem, text_count in count_by_stem.items()
    }


def _densest(words: Sequence[_Word], size: int, rarity: Mapping[str, float]) -> Span | None:
    """Find the first shortest part of at most `size` characters with the most weight of words."""
    best_rank, best_span = (0.0, 0), None
    count_by_stem: Counter[str] = Counter()
    end_index = 0
    for first_index, word in enumerate(words):
        while end_index < len(words) and words[end_index].end - word.start <= size:
            count_by_stem[words[end_index].stem] += 1
            end_index += 1
        if end_index == first_index:  # this word alone exceeds `size`
            end_index += 1
            continue
        if count_by_stem[word.stem] == 1:  # else the part from the next word on has the same words
            stems = sorted(stem for stem, count in count_by_stem.items() if count)
            score = sum(rarity[stem] for stem in stems)
            if score >= best_rank[0]:
                span_end = _shortest(words, first_index, set(stems))
                if (score, word.start - span_end) > best_rank:
                    best_rank, best_span = (
                        (score, word.start - span_end),
                        Span(word.start, span_end),
                    )
        count_by_stem[word.stem] -= 1
    return best_span


def _shortest(words: Sequence[_Word], at: int, stems: set[str]) -> int:
    """Return the end of the first stretch from `words[at]` with all of `stems`; remove them."""
    end = words[at].end
    for word in islice(words, at, None):
        if word.stem in stems:
            stems.discard(word.stem)
            end = word.end
            if not stems:
                break
    return end


def _widened(near: Span, size: int, ends: Span) -> Span:
    """Widen a span to at least `size` characters within a text."""
    missing_size = max(0, size - (near.end - near.start))
    start = max(ends.start, min(near.start - missing_size // 2, ends.end - size))
    return Span(start, min(ends.end, max(near.end, start + size)))


def _begin(text: str, start: int, latest: int) -> int:
    """Choose the begin of a passage: at a sentence or line by `latest`, else a word or letter."""
    # The characters before `start` show whether a sentence begins just there.
    for match in _ENDS.finditer(text, max(0, start - 3), latest):
        if start <= match.end() <= latest:
            return match.end()
    for index in range(start, latest + 1):
        if text[index - 1].isspace() and not text[index].isspace():
            return index
    index = start
    while index < latest and _within_a_letter(text, index):
        index += 1
    return index


def _end(text: str, earliest: int, end: int) -> int:
    """Choose the end of a passage: at a sentence or line from `earliest`, else a word or letter."""
    sentence_end = None
    for match in _ENDS.finditer(text, earliest, end + 1):
        match_end = match.start() + len(match[0].rstrip())
        sentence_end = match_end if match_end <= end else sentence_end
    if sentence_end is not None:
        return len(text[:sentence_end].rstrip())
    for index in range(end, earliest - 1, -1):
        if text[index].isspace():
            return len(text[:index].rstrip())
    index = end
    while index > earliest and _within_a_letter(text, index):
        index -= 1
    return index if index > earliest else end


def _within_a_letter(text: str, at: int) -> bool:
    """Whether the character at a place is part of the letter before it, such as an accent."""
    return changes_the_last(text[at]) or text[at - 1] == _JOINER


def _with_marks(text: str, part: Span) -> str:
    """Return a passage with an ellipsis where the text goes on before or after it."""
    text_before, text_after = text[: part.start].strip(), text[part.end :].strip()
    return (
        f"{_CUT} " * bool(text_before) + text[part.start : part.end] + f" {_CUT}" * bool(text_after)
    )


def best_rows(
    candidates: Sequence[Candidate], limit: int, order: Order, show: Show
) -> tuple[list[Scored], dict[str, Row]]:
    """Return the best candidates that may be shown, one part of each text, and their rows."""
    rank_limit = limit
    while True:
        scored_rows = order(candidates, rank_limit)
        row_by_id = show([scored.row_id for scored in scored_rows])
        if len(row_by_id) < len(scored_rows):  # hidden rows are replaced by other candidates
            visible_rows = show([candidate.row_id for candidate in candidates])
            candidates = [hit for hit in candidates if hit.row_id in visible_rows]
            scored_rows = order(candidates, rank_limit)
            row_by_id = show([scored.row_id for scored in scored_rows])
        keyed_hits = [
            (hit, text_key(row_by_id[hit.row_id])) for hit in scored_rows if hit.row_id in row_by_id
        ]
        best_hits = [hit for hit, _ in once_each(keyed_hits, itemgetter(1))]
        if len(best_hits) >= limit or len(scored_rows) < rank_limit:
            return best_hits[:limit], row_by_id
        rank_limit *= 4


def once_each(items: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """Return the first item of each key, in order."""
    first_by_key: dict[Hashable, T] = {}
    for item in items:
        first_by_key.setdefault(key(item), item)
    return list(first_by_key.values())


def text_key(row: Row) -> Hashable:
    """Return the key that all parts of one text share; other rows have their own keys."""
    part = part_in(row)
    return row["id"] if part is None else (part.whole, row.get("conversation_id"))


def part_in(row: Row) -> Part | None:
    """Return a row's place in a longer text; None if it is not a part of one."""
    text = str(next((row[column] for column in _TEXTS if column in row), ""))
    return part_of(row, text) if MARK in text else None  # most texts have no mark
