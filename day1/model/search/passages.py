"""Long texts among hits: which part of one is quoted, and one hit for all parts of a text."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Final, NamedTuple, TypeVar

from day1.model.rows.kind import MEMORIES, Row
from day1.model.search.ranking import Candidate, Scored
from day1.model.search.wording import content_words, excerpt
from day1.model.values.parts import MARK, Part, part_of
from day1.model.values.showing import changes_the_last

LEAST: Final = 160
"""Characters that each passage may have, however many there are: a sentence or two."""
_MOST_WORDS: Final = 64
"""Words of a question that are looked for."""
_SHORTEST_STEM: Final = 3
_CUT: Final = "\u2026"
_JOINER: Final = "\u200d"

_ENDING: Final = re.compile(r"(?:ies|ied|ings?|es|ed|s|e|(?<![aeiou])y)$")
_ENDINGS: Final = re.compile(r"(?:ie[sd]|ings?|e?s|e?d|e|y|e?rs?|ly|ments?|ions?)?")
_WORD: Final = re.compile(r"[^\W_]+")
# A sentence ends in a mark and a blank, or in a mark of its own script; a line ends in a break.
_ENDS: Final = re.compile(r"[.!?\u2026][\"'\u201d\u2019)\]]*\s+|[\u3002\uff01\uff1f]\s*|\n\s*")


Order = Callable[[Iterable[Candidate], int], list[Scored]]
"""The first so many of some candidates, best first."""
Show = Callable[[Iterable[str]], dict[str, Row]]
"""The rows of these ids that may be shown."""
_TEXTS: Final = tuple(kind.text for kind in MEMORIES if kind.text)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class PassageLimits:
    """How much of long texts an answer quotes, in characters."""

    whole_characters: int = 1_000
    """A text up to this length is sent whole."""
    passage_characters: int = 800
    """The longest passage."""
    passages_characters: int = 2_000
    """The passages of an answer together, but for `LEAST` of each."""


class Span(NamedTuple):
    """A part of a text, from the character `start` to before the character `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class FoundText:
    """The whole text of a memory that was found."""

    text: str
    near: Span | None = None
    """Where its passage lies that is nearest by meaning; None: it is not known, or has only one."""


@dataclass(frozen=True, slots=True)
class QuotedText:
    """A text as an answer has it: whole, or a passage of it."""

    text: str
    span: Span | None
    """Where the passage lies; None: the text is whole."""
    length: int
    """Characters of the whole text."""
    quotation: str | None = None
    """A short quotation of the nearest passage of a text that is whole."""


def passage_at(passages: Sequence[str], text: str, number: int) -> Span | None:
    """Where a passage of a text lies, by its number from 0; None if the text has fewer."""
    if number >= len(passages):
        return None
    start = -1
    for each in passages[: number + 1]:
        start = text.index(each, start + 1)
    return Span(start, start + len(passages[number]))


class _Word(NamedTuple):
    """A word of the question in a text, where it lies, and by which stem it is known."""

    start: int
    end: int
    stem: str


def quote(
    question: str, texts: Sequence[FoundText], limits: PassageLimits | None
) -> list[QuotedText]:
    """The texts of an answer, best first; of long ones the passage that fits the question best.

    The first hit is the right one more often than all others together. So each passage may have
    `LEAST` characters, and the first ones get what is left of `passages_characters`.

    Args:
        question: What was asked.
        texts: The whole texts.
        limits: How much of long ones is quoted; None: all are whole.
    """
    most = math.inf if limits is None else limits.whole_characters
    long = [one for one in texts if len(one.text) > most]
    if limits is None or not long:
        return [_whole(question, one) for one in texts]
    stems = _stems(question)
    words = [list(_words(stems, one.text)) for one in texts]
    rarity, sizes = _rarity(words), _sizes(len(long), limits)
    shown = []
    for one, found in zip(texts, words, strict=True):
        part = passage(one, next(sizes), found, rarity) if len(one.text) > most else None
        if part is None:
            shown.append(_whole(question, one))
        else:
            shown.append(QuotedText(_with_marks(one.text, part), part, len(one.text)))
    return shown


def _whole(question: str, found: FoundText) -> QuotedText:
    said = found.text if found.near is None else excerpt(found.text[slice(*found.near)], question)
    return QuotedText(found.text, None, len(found.text), said if said != found.text else None)


def _sizes(count: int, limits: PassageLimits) -> Iterator[int]:
    """How many characters each of `count` passages may have, best first."""
    least = min(LEAST, limits.passage_characters)
    spare = max(0, limits.passages_characters - count * least)
    for _ in range(count):
        more = min(limits.passage_characters - least, spare)
        spare -= more
        yield least + more


def passage(
    found: FoundText, size: int, words: Sequence[_Word], rarity: Mapping[str, float]
) -> Span | None:
    """The passage of at most `size` characters with the most and rarest words of the question.

    It lies within the nearest passage by meaning, where that is known. It begins and ends with a
    sentence, a line or a word where that costs it no word of the question.

    Returns:
        None if the text is no longer than `size` but for blanks around it.
    """
    text = found.text
    first = len(text) - len(text.lstrip())
    ends = Span(first, max(first, len(text.rstrip())))
    if ends.end - ends.start <= size:
        return None
    within = ends if found.near is None else _widened(found.near, size, ends)
    inside = [w for w in words if within.start <= w.start and w.end <= within.end]
    core = _densest(inside, size, rarity)
    latest = within.start + size // 3
    start, core_end = within.start, within.start
    if core is not None:
        latest, core_end = core
        before = (size - (core.end - core.start)) // 2
        start = max(within.start, min(core.start - before, within.end - size))
    if start > ends.start:
        start = _begin(text, start, latest)
    end = min(within.end, start + size)
    if end < ends.end:
        end = _end(text, min(end, max(core_end, start + 2 * size // 3)), end)
    return Span(start, end)


def _stems(question: str) -> dict[str, list[str]]:
    """The words of a question without their endings, by their first two letters."""
    stems: dict[str, list[str]] = {}
    for word in content_words(question)[:_MOST_WORDS]:
        stem = _ENDING.sub("", word)
        stem = stem if len(stem) >= _SHORTEST_STEM else word
        stems.setdefault(stem[:2], []).append(stem)
    return stems


def _words(stems: Mapping[str, Sequence[str]], text: str) -> Iterator[_Word]:
    """The words of a question in a text, also with other endings."""
    for match in _WORD.finditer(text) if stems else ():
        word = match[0]
        for stem in stems.get(word[:2].lower(), ()):
            if word.lower().startswith(stem) and _ENDINGS.fullmatch(word.lower()[len(stem) :]):
                yield _Word(match.start(), match.end(), stem)
                break


def _rarity(texts: Iterable[Sequence[_Word]]) -> dict[str, float]:
    """How rare each word of the question is among the texts of the answer.

    No other text counts: a token may not see what others say.
    """
    every = [{word.stem for word in words} for words in texts]
    counts = Counter(stem for stems in every for stem in stems)
    return {
        stem: math.log(1 + (len(every) - count + 0.5) / (count + 0.5))
        for stem, count in counts.items()
    }


def _densest(words: Sequence[_Word], size: int, rarity: Mapping[str, float]) -> Span | None:
    """The shortest part of at most `size` characters with most of the words; the first such."""
    best, span = (0.0, 0), None
    held: Counter[str] = Counter()
    last = 0
    for at, word in enumerate(words):
        while last < len(words) and words[last].end - word.start <= size:
            held[words[last].stem] += 1
            last += 1
        if last == at:  # this word alone is too long
            last += 1
            continue
        if held[word.stem] == 1:  # else the part from the next word on has all that this one has
            stems = sorted(stem for stem, count in held.items() if count)
            score = sum(rarity[stem] for stem in stems)
            if score >= best[0]:
                end = _shortest(words, at, set(stems))
                if (score, word.start - end) > best:
                    best, span = (score, word.start - end), Span(word.start, end)
        held[word.stem] -= 1
    return span


def _shortest(words: Sequence[_Word], at: int, stems: set[str]) -> int:
    """Where the last of `stems` is met for the first time from `at`."""
    end = words[at].end
    for word in islice(words, at, None):
        if word.stem in stems:
            stems.discard(word.stem)
            end = word.end
            if not stems:
                break
    return end


def _widened(near: Span, size: int, ends: Span) -> Span:
    """A span of at least `size` characters around another one, within a text."""
    lacking = max(0, size - (near.end - near.start))
    start = max(ends.start, min(near.start - lacking // 2, ends.end - size))
    return Span(start, min(ends.end, max(near.end, start + size)))


def _begin(text: str, start: int, latest: int) -> int:
    """Where a passage begins: with a sentence or line up to `latest`, else a word or a letter."""
    # What stands before `start` tells whether a sentence begins just there.
    for match in _ENDS.finditer(text, max(0, start - 3), latest):
        if start <= match.end() <= latest:
            return match.end()
    for at in range(start, latest):
        if text[at - 1].isspace() and not text[at].isspace():
            return at
    at = start
    while at < latest and _within_a_letter(text, at):
        at += 1
    return at


def _end(text: str, earliest: int, end: int) -> int:
    """Where a passage ends: with a sentence or line from `earliest`, else a word or a letter."""
    sentence = None
    for match in _ENDS.finditer(text, earliest, end + 1):
        stop = match.start() + len(match[0].rstrip())
        sentence = stop if stop <= end else sentence
    if sentence is not None:
        return len(text[:sentence].rstrip())
    for at in range(end, earliest, -1):
        if text[at].isspace():
            return len(text[:at].rstrip())
    at = end
    while at > earliest and _within_a_letter(text, at):
        at -= 1
    return at if at > earliest else end


def _within_a_letter(text: str, at: int) -> bool:
    """Whether the character at a place belongs to the letter before it."""
    return changes_the_last(text[at]) or text[at - 1] == _JOINER


def _with_marks(text: str, part: Span) -> str:
    """A passage with a mark where the text goes on before or after it."""
    before, after = text[: part.start].strip(), text[part.end :].strip()
    return f"{_CUT} " * bool(before) + text[part.start : part.end] + f" {_CUT}" * bool(after)


def best_rows(
    candidates: Sequence[Candidate], limit: int, order: Order, show: Show
) -> tuple[list[Scored], dict[str, Row]]:
    """The best candidates that may be shown, and their rows; one part of each text."""
    most = limit
    while True:
        ranked = order(candidates, most)
        rows = show([scored.row_id for scored in ranked])
        if len(rows) < len(ranked):  # some were made of hidden rows: others come in their place
            visible = show([candidate.row_id for candidate in candidates])
            candidates = [one for one in candidates if one.row_id in visible]
            ranked = order(candidates, most)
            rows = show([scored.row_id for scored in ranked])
        keys = [(one, text_key(rows[one.row_id])) for one in ranked if one.row_id in rows]
        best = [one for one, _ in once_each(keys, itemgetter(1))]
        if len(best) >= limit or len(ranked) < most:
            return best[:limit], rows
        most *= 4


def once_each(found: Iterable[T], key: Callable[[T], Hashable]) -> list[T]:
    """The first item of each key, in their order."""
    first: dict[Hashable, T] = {}
    for one in found:
        first.setdefault(key(one), one)
    return list(first.values())


def text_key(row: Row) -> Hashable:
    """The key that all parts of one text share; any other row has a key of its own."""
    part = part_in(row)
    return row["id"] if part is None else (part.whole, row.get("conversation_id"))


def part_in(row: Row) -> Part | None:
    """The place of a row in a longer text; None if it is no part."""
    text = str(next((row[column] for column in _TEXTS if column in row), ""))
    return part_of(row, text) if MARK in text else None  # most texts have no mark
