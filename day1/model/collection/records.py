"""Records in texts: JSON objects, JSON lines, Markdown tables and `key: value` lines. Pure.

Every value is kept as the text that stands there; nothing is rounded. No field has a meaning of
its own: names come from the texts alone.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import chain, groupby
from typing import Any, Final

from day1.model.rows.kind import canonical

_LONGEST_NAME: Final = 60
"""Maximum number of characters of a field's name in a `key: value` line."""
_FEWEST: Final = 2
"""Minimum number of fields of a record in `key: value` lines."""
_MOST_FIELDS: Final = 200
"""Maximum number of fields of one record."""
_DEPTH: Final = 4
"""Levels of nested objects that become fields (`a.b.c.d`); deeper ones are kept as JSON."""
_NUMBER: Final = re.compile(
    r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d{1,100})(?:\.\d{0,100})?(?:[eE][+-]?\d{1,3})?|[+-]?\.\d{1,100}",
    re.ASCII,
)
_LONGEST_NUMBER: Final = 256
_RULE: Final = frozenset("-: ")
"""The characters of a cell in the line under a table's head."""
_ESCAPED: Final = "\\|"
_STAND_IN: Final = "\x00"
"""A placeholder for an escaped bar while a line is split; no memory has this character."""


@dataclass(frozen=True, slots=True)
class Source:
    """A row that may hold records."""

    id: str
    text: str
    structure: str | None = None
    """JSON that the text was rendered from."""


@dataclass(frozen=True, slots=True)
class Record:
    """A set of named values that was parsed from the text or the JSON of a row."""

    id: str
    """The record's own field `id`, else the row's id, with `#2` for the second record of a row."""
    row_id: str
    fields: Mapping[str, str]
    """The values by the names of fields, as they are written in the text."""
    text: str
    """The part of the row's text from which the record was read."""


_Spelled = tuple[str, ...]
"""The spellings of one field."""


class Collection:
    """Records in the order of their rows, with the names and values of their fields."""

    def __init__(self, records: Iterable[Record]) -> None:
        """Create a collection; columns, groups and numbers are computed once, at first use."""
        self.records = tuple(records)
        self._columns: dict[_Spelled, dict[int, str]] = {}
        self._groups: dict[_Spelled, dict[str, list[int]]] = {}
        self._numbers: dict[_Spelled, dict[int, Decimal]] = {}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All names of fields as they are written, the most frequent ones first."""
        count_by_name: dict[str, int] = {}
        for record in self.records:
            for name in record.fields:
                count_by_name[name] = count_by_name.get(name, 0) + 1
        return tuple(sorted(count_by_name, key=lambda name: (-count_by_name[name], name)))

    @cached_property
    def _spellings(self) -> Mapping[str, tuple[str, ...]]:
        spellings_by_name: dict[str, tuple[str, ...]] = {}
        for name in self.names:
            folded_name = folded(name)
            spellings_by_name[folded_name] = (*spellings_by_name.get(folded_name, ()), name)
        return spellings_by_name

    def spelled(self, name: str) -> tuple[str, ...]:
        """Find the spellings of a field, whatever its letter case, spaces, `-` and `_`."""
        return (name,) if name in self.names else self._spellings.get(folded(name), ())

    def column(self, name: str) -> Mapping[int, str]:
        """Return a field's values by the number of their record."""
        spellings = self.spelled(name)
        if spellings not in self._columns:
            value_by_record: dict[int, str] = {}
            # The most frequent spelling is put in last, and stays.
            for spelling in reversed(spellings):
                value_by_record |= {
                    record_number: record.fields[spelling]
                    for record_number, record in enumerate(self.records)
                    if spelling in record.fields
                }
            self._columns[spellings] = dict(sorted(value_by_record.items()))
        return self._columns[spellings]

    def groups(self, name: str) -> Mapping[str, Sequence[int]]:
        """Return the numbers of the records that have each value of a field, by value."""
        spellings = self.spelled(name)
        if spellings not in self._groups:
            numbers_by_value: dict[str, list[int]] = {}
            for record_number, value in self.column(name).items():
                numbers_by_value.setdefault(value, []).append(record_number)
            self._groups[spellings] = numbers_by_value
        return self._groups[spellings]

    def numbers(self, name: str) -> Mapping[int, Decimal]:
        """Return a field's numbers by the number of their record; other values are left out."""
        spellings = self.spelled(name)
        if spellings not in self._numbers:
            parsed_values = (
                (record_number, number_in(value))
                for record_number, value in self.column(name).items()
            )
            self._numbers[spellings] = {
                record_number: value for record_number, value in parsed_values if value is not None
            }
        return self._numbers[spellings]


@dataclass(frozen=True, slots=True)
class CollectionRead:
    """A collection that was read from a state, and how long it stays true."""

    collection: Collection
    until: int | None
    """When the first of its rows ends (microseconds UTC); None: no row ends."""


def folded(name: str) -> str:
    """Fold a field's name for comparison: without case, with single spaces between its words."""
    return " ".join(name.replace("_", " ").replace("-", " ").split()).casefold()


def folded_value(value: str) -> str:
    """Fold a value for comparison: without case, with single spaces between its words."""
    return " ".join(value.split()).casefold()


def number_in(text: str) -> Decimal | None:
    """Read a number, with or without commas between thousands; None for any other text."""
    stripped_text = text.strip()
    if len(stripped_text) > _LONGEST_NUMBER or _NUMBER.fullmatch(stripped_text) is None:
        return None
    return Decimal(stripped_text.replace(",", ""))


def collect(sources: Iterable[Source]) -> Collection:
    """Read the records of rows, in the order of the rows."""
    return Collection(chain.from_iterable(map(records_of, sources)))


def records_of(source: Source) -> list[Record]:
    """Read the records of a row: those of its structure, else those of its text."""
    parsed_records = _of_structure(source) or list(_of_text(source.text))
    has_several = len(parsed_records) > 1
    return [
        Record(
            _own_id(fields) or _numbered(source.id, position, has_several), source.id, fields, text
        )
        for position, (fields, text) in enumerate(parsed_records, 1)
    ]


_Read = tuple[dict[str, str], str]
"""The fields of a record, and the part of the text that it was read from."""


def _numbered(row_id: str, at: int, several: bool) -> str:  # noqa: FBT001 - said by its only caller
    return f"{row_id}#{at}" if several and at > 1 else row_id


def _own_id(fields: Mapping[str, str]) -> str | None:
    return next((value for name, value in fields.items() if name.casefold() == "id"), None)


def _of_structure(source: Source) -> list[_Read]:
    parsed_json = None if source.structure is None else _parse_json(source.structure)
    return [(fields, source.text) for fields in _objects(parsed_json)]


def _of_text(text: str) -> Iterator[_Read]:
    if text.count(":") < _FEWEST and "|" not in text and "{" not in text:
        return  # most memories are sentences
    stripped_text = text.strip()
    if stripped_text[:1] in {"{", "["}:
        object_fields = list(_objects(_parse_json(stripped_text)))
        if object_fields:
            is_one_object = len(object_fields) == 1
            yield from (
                (
                    fields,
                    stripped_text if is_one_object else canonical(fields),
                )
                for fields in object_fields
            )
            return
    lines = text.splitlines()
    table_record_count = 0
    for is_table, line_group in groupby(lines, lambda line: "|" in line):
        block_lines = list(line_group)
        if is_table:
            table_records = list(_table(block_lines))
            table_record_count += len(table_records)
            yield from table_records
    has_records = table_record_count > 0
    for line in lines:
        if line.lstrip()[:1] == "{":
            for fields in _objects(_parse_json(line)):
                has_records = True
                yield fields, line.strip()
    if not has_records:
        yield from _pairs(lines)


def _parse_json(text: str) -> Any:
    """Parse JSON, with numbers as text; None if the text is not JSON or is nested too deep."""
    try:
        return json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError):
        return None


def _objects(value: Any) -> Iterator[dict[str, str]]:
    for element in value if isinstance(value, list) else [value]:
        if isinstance(element, dict) and (fields := dict(_flat(element))):
            yield fields


def _flat(value: Mapping[str, Any], before: str = "", depth: int = 1) -> Iterator[tuple[str, str]]:
    for name, field_value in value.items():
        if isinstance(field_value, str):
            yield before + name, field_value
        elif isinstance(field_value, bool):
            yield before + name, "true" if field_value else "false"
        elif isinstance(field_value, dict) and depth < _DEPTH:
            yield from _flat(field_value, f"{before}{name}.", depth + 1)
        elif field_value is not None:
            yield before + name, _listed(field_value)


def _listed(value: Any) -> str:
    """Write a list or a deep object as text."""
    if isinstance(value, list) and all(isinstance(element, str) for element in value):
        return ", ".join(value)
    try:
        return canonical(value)
    except RecursionError:
        return ""


def _table(lines: Sequence[str]) -> Iterator[_Read]:
    """Read the tables in lines with bars: a head, a rule below it, and rows."""
    header_cells: list[str] = []
    previous_cells: list[str] = []
    for line in lines:
        cells = _cells(line)
        if not header_cells and len(cells) == len(previous_cells) and all(map(_is_rule, cells)):
            header_cells = previous_cells
        elif header_cells:
            named_cells = zip(header_cells, cells, strict=False)
            fields = {name: cell for name, cell in named_cells if name and cell}
            if fields:
                yield fields, line.strip()
        previous_cells = cells if len(cells) <= _MOST_FIELDS else []


def _cells(line: str) -> list[str]:
    inner_line = line.strip().replace(_ESCAPED, _STAND_IN)
    inner_line = inner_line.removeprefix("|").removesuffix("|")
    return [cell.strip().replace(_STAND_IN, "|") for cell in inner_line.split("|")]


def _is_rule(cell: str) -> bool:
    return "-" in cell and _RULE.issuperset(cell)


def _pairs(lines: Sequence[str]) -> Iterator[_Read]:
    """Parse paragraphs with two or more `key: value` lines; a repeated key begins a new record."""
    for is_empty, line_group in groupby(lines, lambda line: not line.strip()):
        if is_empty:
            continue
        fields: dict[str, str] = {}
        record_lines: list[str] = []
        for line in line_group:
            name_and_value = pair_in(line)
            if name_and_value is not None and name_and_value[0] in fields:
                yield from _two_or_more(fields, record_lines)
                fields, record_lines = {}, []
            if name_and_value is not None and len(fields) < _MOST_FIELDS:
                fields[name_and_value[0]] = name_and_value[1]
                record_lines.append(line.strip())
        yield from _two_or_more(fields, record_lines)


def _two_or_more(fields: dict[str, str], part: Sequence[str]) -> Iterator[_Read]:
    if len(fields) >= _FEWEST:
        yield fields, "\n".join(part)


def pair_in(line: str) -> tuple[str, str] | None:
    """Parse a `key: value` line, with or without a list mark before it; None for any other line.

    A name has no more than four words, so that a sentence with a colon is not such a line.
    """
    name, colon, value = line.strip().lstrip("-*\u2022 ").partition(":")
    name, value = name.strip().strip("*").strip(), value.strip().removeprefix("**").strip()
    is_name = bool(name) and len(name) <= _LONGEST_NAME and len(name.split()) <= _MOST_WORDS
    return (name, value) if colon and is_name and value and not value.startswith("//") else None


_MOST_WORDS: Final = 4
"""Maximum number of words of a field's name in a `key: value` line."""
