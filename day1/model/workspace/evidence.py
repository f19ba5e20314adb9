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
"""Words of a question that are ignored. Never *not*, *or* or *before*: they change its meaning."""
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
"""Words of a question that ask for a computation -> the name of the computation."""
_COUNTING: Final = ("how many", "number of", "count of")
_LONGEST_LINE: Final = 500
"""Maximum number of characters of a memory read as one `key: value` line."""


@dataclass(frozen=True, slots=True)
class Exact:
    """An exact answer, the operation that found it, and the records that have it."""

    answer: str
    operation: str
    """`lookup`, or the operation that computed it."""
    records: tuple[Record, ...]

    @property
    def row_ids(self) -> tuple[str, ...]:
        """The ids of the rows of the records, each once."""
        return tuple(dict.fromkeys(record.row_id for record in self.records))


def records_in(sources: Iterable[Source]) -> Collection:
    """Read the records in rows; a lone `key: value` line is a record too."""
    return Collection(
        chain.from_iterable(
            records_of(source) or _record_of_line(source.id, source.text) for source in sources
        )
    )


def _record_of_line(row_id: str, text: str) -> list[Record]:
    line = text.strip()
    name_and_value = pair_in(line) if len(line) <= _LONGEST_LINE and "\n" not in line else None
    return [] if name_and_value is None else [Record(row_id, row_id, dict([name_and_value]), line)]


def operation_of(question: str) -> str | None:
    """Return the computation that a question asks for; None without one, or with several."""
    words = [word.lower() for word in _WORD.findall(question)]
    operation_names = dict.fromkeys(_OPERATIONS[word] for word in words if word in _OPERATIONS)
    if len(operation_names) > 1:
        return None
    if operation_names:
        return next(iter(operation_names))
    folded_question = folded_value(question)
    return "count" if any(phrase in folded_question for phrase in _COUNTING) else None


def looked_up(question: str, collection: Collection) -> Exact | None:
    """Find the value that a question asks for by a field and by values of the same record.

    "The zorp of Ada" is the value of `zorp` in the records where a field has the value Ada. None
    if there is no such value, or if records differ in it.
    """
    question_words = _words(question)
    numbers_by_value: dict[str, list[int]] = {}
    text_by_value: dict[str, str] = {}
    for field_name in collection.names:
        name_words = _words(field_name)
        if not name_words or not name_words <= question_words:
            continue
        value_by_record = collection.column(field_name)
        for record_number in _matching_numbers(collection, field_name, question_words - name_words):
            if record_number in value_by_record:
                value_key = folded_value(value_by_record[record_number])
                text_by_value.setdefault(value_key, value_by_record[record_number].strip())
                numbers_by_value.setdefault(value_key, []).append(record_number)
    if len(numbers_by_value) != 1:
        return None
    ((value_key, record_numbers),) = numbers_by_value.items()
    return Exact(text_by_value[value_key], "lookup", _records(collection, record_numbers))


def _matching_numbers(
    collection: Collection, name: str, other_words: frozenset[str]
) -> Sequence[int]:
    """List the numbers of the records whose cells together have every word of `other_words`.

    `other_words` holds the words of a question without the field's name. Without any, the answer
    is all records with the field `name`.
    """
    if not other_words:
        return sorted(collection.column(name))
    words_by_record: dict[int, set[str]] = {}
    for other_field in collection.names:
        if other_field == name:
            continue
        for value, record_numbers in collection.groups(other_field).items():
            value_words = _words(value)
            if value_words and value_words <= other_words:
                for record_number in record_numbers:
                    words_by_record.setdefault(record_number, set()).update(
                        value_words, _words(other_field)
                    )
    return sorted(
        record_number
        for record_number, value_words in words_by_record.items()
        if other_words <= value_words
    )


def computed(question: str, collection: Collection) -> Exact | None:
    """Compute the answer to a question over all records; None unless each word is accounted for."""
    operation = operation_of(question)
    if operation is None:
        return None
    question_words = _words(question) - {_stem(word) for word in _OPERATIONS}
    for metric in _metrics(collection, operation, question_words):
        other_words = question_words - (frozenset() if metric is None else _words(metric))
        narrowed_collection = _narrowed(collection, metric, other_words)
        if narrowed_collection is None:
            continue
        collection_question = Asked(operation, field=metric) if metric else Asked(operation)
        try:
            computed_answer = answer(narrowed_collection, collection_question)
        except InvalidRequest:  # no number there
            continue
        shown_answer = computed_answer.answer
        if operation in {"min", "max"}:
            shown_answer = str(computed_answer.metadata["value"])
        elif operation == "distinct":
            shown_answer = str(computed_answer.metadata["distinct_count"])
        return Exact(shown_answer, operation, tuple(computed_answer.matched))
    return None


def _metrics(collection: Collection, operation: str, words: frozenset[str]) -> Sequence[str | None]:
    """List the fields that a question may compute with, the longest names first.

    None stands for no field, with which records can be counted.
    """
    named_fields = [name for name in collection.names if _words(name) and _words(name) <= words]
    named_fields.sort(key=lambda name: (-len(_words(name)), name))
    return [None, *named_fields] if operation == "count" else named_fields


def _narrowed(
    collection: Collection, metric: str | None, other_words: frozenset[str]
) -> Collection | None:
    """Narrow a collection to the records with the values that a question names.

    None if a word of `other_words` is no value, or may be the value of several fields.
    """
    if not other_words:
        return collection
    fields_by_words: dict[frozenset[str], set[str]] = {}
    numbers_by_cell: dict[tuple[str, frozenset[str]], set[int]] = {}
    for name in collection.names:
        if name == metric:
            continue
        for value, record_numbers in collection.groups(name).items():
            value_words = _words(value)
            if value_words and value_words <= other_words:
                fields_by_words.setdefault(value_words, set()).add(name)
                numbers_by_cell.setdefault((name, value_words), set()).update(record_numbers)
    words_by_field: dict[str, frozenset[str]] = {}
    covered_words: frozenset[str] = frozenset()
    for value_words in sorted(
        fields_by_words, key=lambda cell: (-len(cell), len(fields_by_words[cell]), sorted(cell))
    ):
        if value_words <= covered_words:
            continue
        fields = fields_by_words[value_words] - words_by_field.keys()
        candidate_fields = [
            name for name in fields if _words(name) and _words(name) <= other_words
        ] or list(fields)
        if len(candidate_fields) != 1:
            return None
        words_by_field[candidate_fields[0]] = value_words
        covered_words |= value_words | _words(candidate_fields[0])
    if not words_by_field or not other_words <= covered_words:
        return None
    common_numbers = set.intersection(*(numbers_by_cell[cell] for cell in words_by_field.items()))
    return Collection(_records(collection, sorted(common_numbers)))


def _records(collection: Collection, numbers: Iterable[int]) -> tuple[Record, ...]:
    return tuple(collection.records[number] for number in numbers)


def _words(text: str) -> frozenset[str]:
    """Return the words of a text that mean something, without the *s* of a plural."""
    words = (word.lower() for word in _WORD.findall(unicodedata.normalize("NFC", text)))
    return frozenset(_stem(word) for word in words if word not in _IGNORED)


def _stem(word: str) -> str:
    return word.removesuffix("s") if len(word) > _SHORT else word


_SHORT: Final = 3
"""Words of at most so many letters keep their *s*: it is hardly a plural."""
