"""The words of questions and memories as search uses them: keywords, subject and dates.

Pure text analysis for English. It knows neither index nor store; folding of accents and stemming
are left to the index.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import chain, islice
from typing import Literal, NamedTuple

MAX_KEYWORDS = 64
"""Maximum number of terms of a keyword query: a pasted page must not become a query of thousands of
words."""

_FEWEST = 20
"""Fewest memories to judge common words by: among fewer, a frequent word may still matter."""
_OPENS = 3
"""Fewest sampled memories that a name opens."""

_COMPARED = 500
"""Characters of a text that are compared with its neighbours."""

_EXCERPT_LENGTH = 300
"""Maximum number of characters of an excerpt."""

YEARS = range(1970, 2101)
"""The years that a bare number can name, and that a day or month without a year stands for."""

# Letters and digits, no underscore: what the index takes for a word.
_WORD = re.compile(r"[^\W_]+")
_TERM = re.compile(r"[^\W_]+(?:[-._/:@+][^\W_]+)*")
_DROPPABLE = re.compile(r"([^\W_]+)(?:['\u2019]s\b)?")


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


STOP_WORDS = _set(
    """
    a about after all also am an and any anyone anything are aren as at be because been before
    being between both but by can cannot could couldn d did didn do does doesn doing don done
    down during each else ever every few for from further get gets getting give got had hadn has
    hasn have haven having he her here hers him his how however i if in into is isn it its itself
    just know let ll m may me might more most much must my myself no nor not of off on once one
    only or other our ours out over own please re s same shall she should shouldn so some
    someone something such t tell than that the their theirs them then there these they thing
    things this those though through to too under until up us ve very was wasn we were weren what
    when where whether which while who whom whose why will with without won would wouldn yet you
    your yours
    """
)
"""Words that say nothing about the subject, with the halves of "don't" and "it's"."""


class DateSpan(NamedTuple):
    """A day, month or year that a text names, in microseconds of UTC, without its end."""

    start_us: int
    end_us: int


def content_words(text: str) -> list[str]:
    """List the distinct words of `text` without stop words, in lower case and in order."""
    words = (word.lower() for word in _WORD.findall(unicodedata.normalize("NFC", text)))
    return [word for word in dict.fromkeys(words) if word not in STOP_WORDS]


def keyword_terms(question: str, *, all_words: bool = False) -> list[str]:
    """Find the terms of `question` to look up: words, and phrases as words separated by spaces.

    Stop words are left out unless `all_words`. `v2.3.1` and `write-ahead` become a phrase and
    their parts (without single characters).

    Returns:
        At most `MAX_KEYWORDS` terms. Empty if there are stop words only: then call again with
        `all_words`; if that is empty too, there is nothing to look up.
    """
    terms: dict[str, None] = {}
    for term in _TERM.findall(unicodedata.normalize("NFC", question)):
        parts = [part.lower() for part in _WORD.findall(term)]
        used_parts = [part for part in parts if all_words or part not in STOP_WORDS]
        if len(parts) > 1 and used_parts:
            terms[" ".join(parts)] = None
            used_parts = [part for part in used_parts if len(part) > 1]
        terms.update(dict.fromkeys(used_parts))
    return list(islice(terms, MAX_KEYWORDS))


@dataclass(frozen=True, slots=True)
class Match:
    """A condition on the words of a text: a phrase, or all or any of several conditions.

    Each index writes it in its own query language, so that no word becomes an operator.
    """

    how: Literal["phrase", "all", "any"]
    words: str = ""
    """The words of a phrase, separated by spaces, in order; empty for `all` and `any`."""
    parts: tuple[Match, ...] = ()
    """The two or more conditions of `all` and `any`."""


def phrase(words: str) -> Match:
    """Match texts in which these words follow one another."""
    return Match("phrase", words)


def all_of(*parts: Match | str) -> Match:
    """Match texts that meet every condition; a string is a phrase."""
    return _joined("all", parts)


def any_of(*parts: Match | str) -> Match:
    """Match texts that meet at least one condition; a string is a phrase."""
    return _joined("any", parts)


def _joined(how: Literal["all", "any"], parts: tuple[Match | str, ...]) -> Match:
    conditions = tuple(phrase(part) if isinstance(part, str) else part for part in parts)
    return conditions[0] if len(conditions) == 1 else Match(how, parts=conditions)


@dataclass(frozen=True, slots=True)
class Usual:
    """Common words, openers and names of the memories of a state, in lower case."""

    common: frozenset[str] = frozenset()
    """Words in more than a quarter of the memories, which do not distinguish them."""
    openers: frozenset[str] = frozenset()
    """Words that open more than a quarter of the memories, as "user" in "The user likes"."""
    names: frozenset[str] = frozenset()
    """Words that name what memories are about, such as a person or a service."""
    ordered: bool = True
    """Whether memories that were written one after the other are similar."""


def likeness_by_words(pairs: Sequence[tuple[str, str]], names: frozenset[str]) -> list[float]:
    """Compute the cosine of the words of each pair of texts, with rare words weighing more.

    Names, and all after the first `_COMPARED` characters of a text, are left out.
    """
    words_by_text = {
        text: set(content_words(text[:_COMPARED])) - names for pair in pairs for text in pair
    }
    text_count_by_word = Counter(chain.from_iterable(words_by_text.values()))
    weight_by_word = {
        word: math.log(len(words_by_text) / text_count) ** 2
        for word, text_count in text_count_by_word.items()
    }
    length_by_text = {
        counted_text: math.sqrt(sum(map(weight_by_word.__getitem__, text_words)))
        for counted_text, text_words in words_by_text.items()
    }
    return [
        sum(map(weight_by_word.__getitem__, words_by_text[one_text] & words_by_text[other_text]))
        / (length_by_text[one_text] * length_by_text[other_text])
        if length_by_text[one_text] and length_by_text[other_text]
        else 0.0
        for one_text, other_text in pairs
    ]


def usual(texts: Sequence[str]) -> Usual:
    """Find the common words, openers and names of a state by a sample of its memories.

    A name opens several memories and is written small in none. "Use" and "Deploy" open memories
    too, but occur small elsewhere. So no list of names is needed.
    """
    if len(texts) < _FEWEST:
        return Usual()
    count_by_word = Counter(word for text in texts for word in content_words(text))
    common_words = frozenset(
        word for word, count in count_by_word.items() if count * 4 > len(texts)
    )
    opener_counts = Counter(map(_opener, texts))
    openers = frozenset(
        word for word, count in opener_counts.items() if word and count * 4 > len(texts)
    )
    subject_counts = Counter(map(subject, texts))
    names = {word for word, count in subject_counts.items() if word is not None and count >= _OPENS}
    if names:
        names -= {word for text in texts for word in _WORD.findall(text)}
    return Usual(common_words, openers, frozenset(names))


def embedding_query(question: str, words: frozenset[str]) -> str:
    """Remove words from a question before it is embedded.

    Args:
        question: the question.
        words: lower-case words to leave out. Of what is embedded these are names and openers: a
            speaker's name in every line pulls the vector to filler (+5 points of recall on raw
            dialogue without it, harmless on facts), and a name that few memories have pulls it to
            each short memory about that subject. Other common words are embedded: where all
            memories are about one application, they are the subject of the question.

    Returns:
        What is left, or `question` itself when no content word would be left.
    """
    shortened_question = _DROPPABLE.sub(
        lambda word: "" if word[1].lower() in words else word[0], question
    )
    return " ".join(shortened_question.split()) if content_words(shortened_question) else question


def subject(text: str) -> str | None:
    """Return the capitalised word that `text` opens with, after a stop word, in lower case.

    None when it opens with an ordinary word. "Kestrel drops…" and "The Kestrel gateway…" are both
    about kestrel.
    """
    word = _first_word(text)
    return word.lower() if word and word != word.lower() else None


def _opener(text: str) -> str | None:
    """Return the word that `text` opens with, after a stop word, in lower case."""
    word = _first_word(text)
    return word and word.lower()


def _first_word(text: str) -> str | None:
    """Find the first word that is not a stop word, among the first two."""
    for match in islice(_WORD.finditer(text, 0, 100), 2):
        if match[0].lower() not in STOP_WORDS:
            return match[0]
    return None


def asked_about(question: str, names: frozenset[str]) -> frozenset[str]:
    """Find the words that name what `question` is about, lower-cased.

    These are the question's words that are in `names`, and its capitalised words, except its first
    word and stop words. "How do we deploy?" is not about a memory that opens with "Deploy".
    """
    words = _WORD.findall(unicodedata.normalize("NFC", question))
    capitalised_words = {word.lower() for word in words[1:] if word != word.lower()} - STOP_WORDS
    return frozenset(
        capitalised_words
        | {word for question_word in words if (word := question_word.lower()) in names}
    )


def excerpt(passage: str, question: str) -> str:
    """Quote a part of a passage that begins shortly before the first word of the question."""
    if len(passage) <= _EXCERPT_LENGTH:
        return passage
    folded_passage = passage.lower()
    word_positions = [folded_passage.find(word) for word in content_words(question)]
    first_position = min((position for position in word_positions if position >= 0), default=0)
    start = passage.rfind(" ", 0, max(0, first_position - _EXCERPT_LENGTH // 3)) + 1
    end = start + _EXCERPT_LENGTH
    quoted_text = passage[start:] if end >= len(passage) else passage[start:end].rsplit(None, 1)[0]
    return "\u2026 " * (start > 0) + quoted_text + " \u2026" * (end < len(passage))


_MONTH_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTHS = {
    name[:letters]: number
    for number, name in enumerate(_MONTH_NAMES, start=1)
    for letters in (3, len(name))
} | {"sept": 9}
_AMBIGUOUS = _set("mar march may")
# Words before a month or a year that mean a time, and words after a number that is not a year.
_LEADS = _set("in on during since until till by before after from of last this early late mid")
_YEAR_LEADS = _LEADS | _set("the our year spring summer autumn fall winter")
_UNITS = _set(
    """ms milliseconds s seconds minutes hours days kb mb gb kib mib gib bytes rows requests times
    users items lines tokens characters words files commits"""
)
# Digits keep the marks and letters between them: 14:00, 3.2024 and 2024-05-06 are one piece each.
_PIECE = re.compile(r"\d(?:[\w.:/-]*\w)?|[^\W\d_]+")
_ISO_DATE = re.compile(r"(\d{4})[-/](\d\d)(?:[-/](\d\d))?(?:[Tt.].*)?", re.ASCII)
_DAY = re.compile(r"([0-3]?\d)(?:st|nd|rd|th)?", re.ASCII | re.IGNORECASE)
_YEAR = re.compile(r"(?:19[7-9]|20\d)\d", re.ASCII)

# Year, month, day; None for a missing part.
_Named = tuple[int | None, int | None, int | None]


def dates(text: str, years: Sequence[int] = YEARS) -> list[DateSpan]:
    """Find the distinct days, months and years that `text` names, in UTC, sorted.

    Understood are 2024-05-06, 2024-05, 6 May 2024, May 6th, 2024, "in May 2024", "on 6 May",
    "in May", "in 2024". A day or month without a year means that of every one of `years`, so
    with none only dates with a year count. "may" and "march" need a year, a preposition, or a
    day and a capital letter to be a month.
    """
    text_parts = [text]
    if not years:  # only the characters around a year can be a date, and they are few
        text_parts = [
            text[max(0, year_match.start() - 25) : year_match.end() + 15]
            for year_match in _YEAR.finditer(text)
        ]
    date_spans = set()
    for year, month, day in chain.from_iterable(map(_named, text_parts)):
        for candidate_year in years if year is None else (year,):
            span = _span(candidate_year, month, day)
            if span is not None:
                date_spans.add(span)
    return sorted(date_spans)


def _named(text: str) -> Iterator[_Named]:
    """Yield the dates in `text` in order, with only the parts that it names."""
    pieces = ["", "", *_PIECE.findall(text), "", ""]
    for index, piece in enumerate(pieces):
        if piece[:1].isdigit():
            if iso_match := _ISO_DATE.fullmatch(piece):
                yield (
                    int(iso_match[1]),
                    int(iso_match[2]),
                    int(iso_match[3]) if iso_match[3] else None,
                )
            elif (
                pieces[index - 1].lower() in _YEAR_LEADS and pieces[index + 1].lower() not in _UNITS
            ):
                year = _number(_YEAR, piece)
                if year:
                    yield year, None, None
        elif len(piece) > 2 and (month := _MONTHS.get(piece.lower())):  # noqa: PLR2004 - shorter words are no months
            date = _around_month(pieces, index, month)
            if date:
                yield date


def _around_month(pieces: list[str], at: int, month: int) -> _Named | None:
    """Return the date whose month is `pieces[at]`, or None if that word is not a month here."""
    has_of = pieces[at - 1].lower() == "of"
    day_before = _number(_DAY, pieces[at - 2 if has_of else at - 1])
    day_after = None if day_before else _number(_DAY, pieces[at + 1])
    year = _number(_YEAR, pieces[at + 2 if day_after else at + 1])
    month_word, day = pieces[at], day_before or day_after
    word_before = pieces[at - 2 if day_before else at - 1].lower()
    is_certain = year or word_before in _LEADS or (day and month_word[0].isupper())
    if is_certain or (
        month_word.lower() not in _AMBIGUOUS and (day or len(month_word) > len("jan"))
    ):
        return year, month, day
    return None


def _number(pattern: re.Pattern[str], piece: str) -> int | None:
    match = pattern.fullmatch(piece)
    return int(match[match.lastindex or 0]) if match else None


def _span(year: int, month: int | None, day: int | None) -> DateSpan | None:
    """Return a day, month or year as a span; None if the calendar lacks it."""
    try:
        start = datetime(year, month or 1, day or 1, tzinfo=UTC)
        if day:
            end = start + timedelta(days=1)
        elif month:
            end = (start + timedelta(days=31)).replace(day=1)
        else:
            end = start.replace(year=year + 1)
    except (ValueError, OverflowError):
        return None
    return DateSpan(int(start.timestamp()) * 1_000_000, int(end.timestamp()) * 1_000_000)
