"""Summaries by rules: the sentences of a text with the most names and numbers, in order. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from day1.model.search.grouping import plain
from day1.model.search.passages import sentences
from day1.model.search.wording import STOP_WORDS

MOST_CHARACTERS: Final = 1_200
"""Maximum number of characters of a summary; a sentence that does not fit is left out."""
_MOST_SENTENCES: Final = 12
_MAX_SENTENCE: Final = 400
"""Maximum number of characters of a quoted sentence; a longer one is cut."""
_AROUND: Final = ".,;:!?\u2026()[]{}<>\"'`*\u201c\u201d\u2018\u2019\u00ab\u00bb"
_WITHIN: Final = frozenset("./_@\\")
"""Signs within a word that make it a path, an address or an identifier."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A sentence of a summary, and the number of the text that it stands in."""

    text: int
    sentence: str


def summarize(texts: Sequence[str], max_characters: int = MOST_CHARACTERS) -> list[Quote]:
    """Choose the sentences with the most names and numbers; they come in the order of the texts.

    Of sentences that say the same the first counts. Those without a name or number are left out,
    unless none has one.
    """
    quote_by_text: dict[str, Quote] = {}
    for text_index, text in enumerate(texts):
        for sentence in sentences(text):
            quote_by_text.setdefault(plain(sentence), Quote(text_index, sentence[:_MAX_SENTENCE]))
    quotes = [quote for folded_sentence, quote in quote_by_text.items() if folded_sentence]
    inner_names = _inner_names(quote.sentence for quote in quotes)
    scores = [_specifics(quote.sentence, inner_names) for quote in quotes]
    min_score = min(1, max(scores, default=0))
    ranked_indexes = sorted(
        (index for index, score in enumerate(scores) if score >= min_score),
        key=lambda index: (-scores[index], index),
    )
    chosen_indexes: list[int] = []
    characters_left = max_characters
    for index in ranked_indexes:
        quote_length = len(quotes[index].sentence) + 1
        if quote_length <= characters_left + 1 and len(chosen_indexes) < _MOST_SENTENCES:
            chosen_indexes.append(index)
            characters_left -= quote_length
    return [quotes[index] for index in sorted(chosen_indexes)]


def names_in(texts: Sequence[str]) -> list[str]:
    """List the names in texts, each once, in order: capitalised words, paths and identifiers.

    A capitalised word that begins a sentence is a name only if it is one within a sentence too.
    """
    all_sentences = [sentence for text in texts for sentence in sentences(text)]
    inner_names = _inner_names(all_sentences)
    return list(
        dict.fromkeys(
            name for one_sentence in all_sentences for name in _names(one_sentence, inner_names)
        )
    )


def _inner_names(listed: Sequence[str] | Iterator[str]) -> frozenset[str]:
    """Return the capitalised words that occur within sentences, not only at their beginning."""
    return frozenset(
        word
        for sentence in listed
        for index, token in enumerate(sentence.split())
        if index and _is_capitalised(word := token.strip(_AROUND))
    )


def _specifics(sentence: str, inner: frozenset[str]) -> int:
    """Count the distinct names and numbers of a sentence."""
    number_words = {
        word for token in sentence.split() if any(map(str.isdecimal, word := token.strip(_AROUND)))
    }
    return len(number_words.union(_names(sentence, inner)))


def _names(sentence: str, inner: frozenset[str]) -> Iterator[str]:
    """Yield the names of a sentence; capitalised words that follow one another are one name."""
    name_words: list[str] = []
    for index, token in enumerate(sentence.split()):
        word = token.strip(_AROUND)
        is_capitalised = _is_capitalised(word) and (index > 0 or word in inner)
        if name_words and not (is_capitalised and token.startswith(word)):
            yield " ".join(name_words)
            name_words = []
        if is_capitalised:
            name_words.append(word)
            if not token.endswith(word):  # a sign ends the name
                yield " ".join(name_words)
                name_words = []
        elif _is_identifier(word):
            yield word
    if name_words:
        yield " ".join(name_words)


def _is_capitalised(word: str) -> bool:
    return word[:1].isupper() and word.lower() not in STOP_WORDS


def _is_identifier(word: str) -> bool:
    """Whether a word is a path, an address or an identifier such as `camelCase`."""
    has_letter = any(map(str.isalpha, word))
    has_sign = not _WITHIN.isdisjoint(word)
    has_capital = word[:1].islower() and any(map(str.isupper, word))
    return has_letter and (has_sign or has_capital)
