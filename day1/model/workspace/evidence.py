"""Exact answers to questions, from records: looked up or computed, never guessed. Pure.

Every word of a question must be accounted for: by the name of a field, by a value that a record
has, by a word such as *average*, or by a word that says nothing. Else there is no exact answer.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from day1.errors import InvalidRequest
from day1.model.collection.answers import Asked, answer
from day1.model.collection.records import (
    Collection,
    Record,
    Source,
    folded_value,
    pair_in,
    records_of,
)


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORD: Final = re.compile(r"[^\W_]+")
_IGNORED: Final = _set(
    """
    a all an and are did do does for had has have how i in is it its me of on our that the their
    there these they this those to was we were what which who whose with you
    count find give item items list many much number record records row rows show tell value
    """
)
"""Words of questions that change nothing; *not*, *or*, *before* and the like are none of them."""
_OPERATIONS: Final = {
    "average": "average",
    "mean": "average",
    "sum": "sum",
    "total": "sum",
    "highest": "max",
    "largest": "max",
    "greatest": "max",
    "maximum": "max",
    "lowest": "min",
    "smallest": "min",
    "least": "min",
    "minimum": "min",
    "distinct": "distinct",
    "different": "distinct",
    "count": "count",
}
"""Words that ask for a computation, and which one."""
_COUNTING: Final = ("how many", "number of", "count of")
_LONGEST_LINE: Final = 500
"""Characters of a `key: value` line that is a whole memory, at most."""


@dataclass(frozen=True, slots=True)
class Exact:
    """An exact answer, how it was found, and in which rows it is."""

    answer: str
    operation: str
    """`lookup`, or the operation that computed it."""
    records: tuple[Record, ...]

    @property
    def row_ids(self) -> tuple[str, ...]:
        """The rows of its records, each once."""
        return tuple(dict.fromkeys(record.row_id for record in self.records))


def records_in(sources: Iterable[Source]) -> Collection:
    """Read the records in rows; a lone `key: value` line is a record too."""
    return Collection(
        chain.from_iterable(
            records_of(source) or _lone(source.id, source.text) for source in sources
        )
    )


def _lone(row_id: str, text: str) -> list[Record]:
    line = text.strip()
    pair = pair_in(line) if len(line) <= _LONGEST_LINE and "\n" not in line else None
    return [] if pair is None else [Record(row_id, row_id, dict([pair]), line)]


def operation_of(question: str) -> str | None:
    """Tell which computation a question asks for; None if for none."""
    words = [word.lower() for word in _WORD.findall(question)]
    named = dict.fromkeys(_OPERATIONS[word] for word in words if word in _OPERATIONS)
    if len(named) > 1:
        return None
    if named:
        return next(iter(named))
    folded = folded_value(question)
    return "count" if any(phrase in folded for phrase in _COUNTING) else None


def looked_up(question: str, collection: Collection) -> Exact | None:
    """Find the value that a question asks for by a field and by values of the same record.

    "The zorp of Ada" is the value of `zorp` in the records where a field has the value Ada. None
    if there is no such value, or if records differ in it.
    """
    asked = _words(question)
    found: dict[str, list[int]] = {}
    shown: dict[str, str] = {}
    for name in collection.names:
        own = _words(name)
        if not own or not own <= asked:
            continue
        column = collection.column(name)
        for number in _identified(collection, name, asked - own):
            if number in column:
                key = folded_value(column[number])
                shown.setdefault(key, column[number].strip())
                found.setdefault(key, []).append(number)
    if len(found) != 1:
        return None
    ((key, numbers),) = found.items()
    return Exact(shown[key], "lookup", _records(collection, numbers))


def _identified(collection: Collection, name: str, rest: frozenset[str]) -> Sequence[int]:
    """Find the records that the rest of a question names: each word stands in one of their cells.

    Without a rest, that are all records with the field.
    """
    if not rest:
        return sorted(collection.column(name))
    covered: dict[int, set[str]] = {}
    for other in collection.names:
        if other == name:
            continue
        for value, numbers in collection.groups(other).items():
            words = _words(value)
            if words and words <= rest:
                for number in numbers:
                    covered.setdefault(number, set()).update(words, _words(other))
    return sorted(number for number, words in covered.items() if rest <= words)


def computed(question: str, collection: Collection) -> Exact | None:
    """Compute what a question asks for over all records, if each of its words is accounted for."""
    operation = operation_of(question)
    if operation is None:
        return None
    words = _words(question) - {_stem(word) for word in _OPERATIONS}
    for metric in _metrics(collection, operation, words):
        rest = words - (frozenset() if metric is None else _words(metric))
        part = _part(collection, metric, rest)
        if part is None:
            continue
        asked = Asked(operation, field=metric) if metric else Asked(operation)
        try:
            result = answer(part, asked)
        except InvalidRequest:  # no number there
            continue
        shown = result.answer
        if operation in {"min", "max"}:
            shown = str(result.metadata["value"])
        elif operation == "distinct":
            shown = str(result.metadata["distinct_count"])
        return Exact(shown, operation, tuple(result.matched))
    return None


def _metrics(collection: Collection, operation: str, words: frozenset[str]) -> Sequence[str | None]:
    """List the fields that a question may compute with, the longest names first.

    None stands for no field, with which records can be counted.
    """
    named = [name for name in collection.names if _words(name) and _words(name) <= words]
    named.sort(key=lambda name: (-len(_words(name)), name))
    return [None, *named] if operation == "count" else named


def _part(collection: Collection, metric: str | None, rest: frozenset[str]) -> Collection | None:
    """Narrow a collection to the records with the values that a question names.

    None if a word of the rest is no value, or may be the value of several fields.
    """
    if not rest:
        return collection
    cells: dict[frozenset[str], set[str]] = {}
    numbers: dict[tuple[str, frozenset[str]], set[int]] = {}
    for name in collection.names:
        if name == metric:
            continue
        for value, own in collection.groups(name).items():
            words = _words(value)
            if words and words <= rest:
                cells.setdefault(words, set()).add(name)
                numbers.setdefault((name, words), set()).update(own)
    chosen: dict[str, frozenset[str]] = {}
    covered: frozenset[str] = frozenset()
    for words in sorted(cells, key=lambda each: (-len(each), len(cells[each]), sorted(each))):
        if words <= covered:
            continue
        left = cells[words] - chosen.keys()
        names = [name for name in left if _words(name) and _words(name) <= rest] or list(left)
        if len(names) != 1:
            return None
        chosen[names[0]] = words
        covered |= words | _words(names[0])
    if not chosen or not rest <= covered:
        return None
    kept = set.intersection(*(numbers[cell] for cell in chosen.items()))
    return Collection(_records(collection, sorted(kept)))


def _records(collection: Collection, numbers: Iterable[int]) -> tuple[Record, ...]:
    return tuple(collection.records[number] for number in numbers)


def _words(text: str) -> frozenset[str]:
    """Return the words of a text that mean something, without the *s* of a plural."""
    words = (word.lower() for word in _WORD.findall(unicodedata.normalize("NFC", text)))
    return frozenset(_stem(word) for word in words if word not in _IGNORED)


def _stem(word: str) -> str:
    return word.removesuffix("s") if len(word) > _SHORT else word


_SHORT: Final = 3
"""Letters of a word whose *s* is not taken for a plural, at most."""
