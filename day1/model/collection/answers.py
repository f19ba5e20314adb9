"""Exact answers about a collection of records, by nine operations. Pure.

Numbers are decimals: 0.1 and 0.2 make 0.3. Only a quotient that never ends is rounded, and the
answer says so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_EVEN, Context, Decimal, Inexact
from itertools import chain
from typing import Final

from day1.errors import InvalidRequest, Json
from day1.model.collection.records import Collection, Record, folded_value, number_in

EQUAL: Final = "equal"
"""The answer of `compare` for groups that do not differ."""
_EXACT: Final = Context(prec=5_000, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])
"""Raises `Inexact` rather than round; numbers of records have far fewer digits."""
_ROUNDED: Final = Context(prec=28, rounding=ROUND_HALF_EVEN)
_MOST_NAMES: Final = 50
"""Maximum number of names of fields that an error lists."""
_MOST_VALUES: Final = 200
"""Maximum number of values that `distinct` answers."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to a collection: an operation and its arguments."""

    operation: str
    field: str | None = None
    value: str | None = None
    """With `field`: only records that have this value there."""
    metric: str | None = None
    """The field whose numbers are compared or added."""
    k: int = 5
    group_field: str | None = None
    group_a: str | None = None
    group_b: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and the records that it follows from."""

    answer: str
    matched: Sequence[Record]
    """Every record that counted; for `min`, `max` and `top_k` the best ones only."""
    matched_count: int
    metadata: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Part:
    """The records of a collection that a question is about, by their number."""

    collection: Collection
    numbers: Sequence[int]

    def records(self, numbers: Sequence[int]) -> list[Record]:
        return [self.collection.records[number] for number in numbers]

    def metric(self, name: str) -> list[tuple[int, Decimal]]:
        number_by_record = self.collection.numbers(name)
        return [
            (number, number_by_record[number])
            for number in self.numbers
            if number in number_by_record
        ]


def answer(collection: Collection, asked: Asked) -> Answer:
    """Answer one of the nine operations.

    Raises:
        InvalidRequest: an argument is missing, no record has a field, or no number can be compared.
            `fields` lists the fields that records have.
    """
    operation = OPERATIONS[asked.operation]
    return operation(_narrowed(collection, asked), asked)


def shown_number(number: Decimal) -> str:
    """Write a number with all its digits, without an exponent or zeros at the end of a fraction."""
    text = format(number, "f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text


def same_value(one: str, other: str) -> bool:
    """Whether two values are the same: as numbers if both are some, else without letter case."""
    first, second = number_in(one), number_in(other)
    if first is not None and second is not None:
        return first == second
    return folded_value(one) == folded_value(other)


def matching(collection: Collection, name: str, value: str) -> list[int]:
    """Find the records that have a value in a field; their numbers, in order."""
    groups = collection.groups(name)
    matching_groups = [numbers for other, numbers in groups.items() if same_value(other, value)]
    return sorted(chain.from_iterable(matching_groups))


def _narrowed(collection: Collection, asked: Asked) -> _Part:
    if asked.value is None:
        return _Part(collection, range(len(collection.records)))
    if asked.field is None:
        raise InvalidRequest("`value` needs `field`, whose value it is.")
    name = _checked_name(collection, asked.field, "field")
    return _Part(collection, matching(collection, name, asked.value))


def _checked_name(collection: Collection, name: str, argument: str) -> str:
    if collection.spelled(name):
        return name
    raise InvalidRequest(
        f"No record has the field that `{argument}` names; `fields` lists the fields there are.",
        fields=list(collection.names[:_MOST_NAMES]),
        record_count=len(collection.records),
    )


def _needed(name: str | None, argument: str, operation: str) -> str:
    if name is None:
        raise InvalidRequest(f"`{operation}` needs `{argument}`: the name of a field.")
    return name


def _metric(part: _Part, asked: Asked) -> tuple[str, list[tuple[int, Decimal]]]:
    """Return the name of the metric, and the numbers that the records have there."""
    default = asked.field if asked.value is None else None
    name = _needed(asked.metric or default, "metric", asked.operation)
    argument = "metric" if asked.metric else "field"
    numbers = part.metric(_checked_name(part.collection, name, argument))
    if not numbers:
        raise InvalidRequest(
            f"No matching record has a number in the field that `{argument}` names: there is "
            "nothing to compare.",
            fields=list(part.collection.names[:_MOST_NAMES]),
            record_count=len(part.numbers),
        )
    return name, numbers


def _count(part: _Part, asked: Asked) -> Answer:
    matched = _having_field(part, asked)
    return Answer(str(len(matched)), part.records(matched), len(matched))


def _filter(part: _Part, asked: Asked) -> Answer:
    _needed(asked.field, "field", "filter")
    matched = part.records(_having_field(part, asked))
    shown_ids = ", ".join(record.id for record in matched[: asked.k])
    return Answer(shown_ids, matched, len(matched))


def _having_field(part: _Part, asked: Asked) -> Sequence[int]:
    """Return the records with the field, or all if no field is asked for."""
    if asked.field is None or asked.value is not None:
        return part.numbers
    value_by_number = part.collection.column(_checked_name(part.collection, asked.field, "field"))
    return [number for number in part.numbers if number in value_by_number]


def _distinct(part: _Part, asked: Asked) -> Answer:
    name = _checked_name(part.collection, _needed(asked.field, "field", "distinct"), "field")
    value_by_number = part.collection.column(name)
    counts: dict[str, int] = {}
    spellings: dict[str, str] = {}
    matched_numbers = [number for number in part.numbers if number in value_by_number]
    for number in matched_numbers:
        key = folded_value(value_by_number[number])
        spellings.setdefault(key, value_by_number[number].strip())
        counts[key] = counts.get(key, 0) + 1
    values: list[Json] = [
        {"value": spellings[key], "count": counts[key]} for key in list(counts)[:_MOST_VALUES]
    ]
    metadata: dict[str, Json] = {"distinct_count": len(counts), "values": values}
    shown_values = ", ".join(list(spellings.values())[:_MOST_VALUES])
    return Answer(shown_values, part.records(matched_numbers), len(matched_numbers), metadata)


def _top_k(part: _Part, asked: Asked) -> Answer:
    name, numbers = _metric(part, asked)
    best_pairs = sorted(numbers, key=lambda pair: -pair[1])[: asked.k]
    values: list[Json] = [shown_number(value) for _, value in best_pairs]
    records = part.records([number for number, _ in best_pairs])
    return Answer(
        ", ".join(record.id for record in records),
        records,
        len(numbers),
        _about(part, name, numbers, values=values),
    )


def _extreme(best_of: Callable[[list[Decimal]], Decimal]) -> Callable[[_Part, Asked], Answer]:
    def extreme(part: _Part, asked: Asked) -> Answer:
        name, numbers = _metric(part, asked)
        best_value = best_of([value for _, value in numbers])
        records = part.records([number for number, value in numbers if value == best_value])
        metadata = _about(part, name, numbers, value=shown_number(best_value))
        return Answer(", ".join(r.id for r in records), records, len(numbers), metadata)

    return extreme


def _sum(part: _Part, asked: Asked) -> Answer:
    name, numbers = _metric(part, asked)
    records = part.records([number for number, _ in numbers])
    total = shown_number(total_of([value for _, value in numbers]))
    return Answer(total, records, len(numbers), _about(part, name, numbers))


def _average(part: _Part, asked: Asked) -> Answer:
    name, numbers = _metric(part, asked)
    average, is_rounded = average_of([value for _, value in numbers])
    records = part.records([number for number, _ in numbers])
    metadata = _about(part, name, numbers, rounded=is_rounded)
    return Answer(shown_number(average), records, len(numbers), metadata)


def _about(
    part: _Part, name: str, numbers: Sequence[tuple[int, Decimal]], **more: Json
) -> dict[str, Json]:
    """Return the metadata of an answer from numbers: the metric, and the records without one."""
    return {"metric": name, "without_number": len(part.numbers) - len(numbers), **more}


def _compare(part: _Part, asked: Asked) -> Answer:
    """Compare two groups by the average of a metric, or by their size without one."""
    name = _checked_name(
        part.collection, _needed(asked.group_field, "group_field", "compare"), "group_field"
    )
    if asked.group_a is None or asked.group_b is None:
        raise InvalidRequest("`compare` needs `group_a` and `group_b`: two values of the field.")
    if same_value(asked.group_a, asked.group_b):
        raise InvalidRequest("`group_a` and `group_b` are the same group: name two.")
    part_numbers = frozenset(part.numbers)
    sides = [
        [number for number in matching(part.collection, name, group) if number in part_numbers]
        for group in (asked.group_a, asked.group_b)
    ]
    described, parts = [], []
    for group, side in zip((asked.group_a, asked.group_b), sides, strict=True):
        if not side:
            raise InvalidRequest(
                "A group has no record: there is nothing to compare.", group=group[:80]
            )
        numbers = [Decimal(len(side))]
        about: dict[str, Json] = {"group": group, "count": len(side)}
        if asked.metric is not None:
            _, pairs = _metric(_Part(part.collection, side), asked)
            numbers = [value for _, value in pairs]
            average, is_rounded = average_of(numbers)
            about |= {"average": shown_number(average), "rounded": is_rounded}
        described.append(about)
        parts.append((total_of(numbers), Decimal(len(numbers))))
    # Two fractions are compared by their products, which are exact.
    (sum_a, count_a), (sum_b, count_b) = parts
    first, second = _EXACT.multiply(sum_a, count_b), _EXACT.multiply(sum_b, count_a)
    higher_group = asked.group_a if first > second else asked.group_b
    matched = sorted({*sides[0], *sides[1]})
    metadata: dict[str, Json] = {
        "by": "count" if asked.metric is None else "average",
        "metric": asked.metric,
        "groups": list[Json](described),
    }
    shown_answer = EQUAL if first == second else higher_group
    return Answer(shown_answer, part.records(matched), len(matched), metadata)


def total_of(numbers: Sequence[Decimal]) -> Decimal:
    """Add numbers exactly."""
    total = Decimal(0)
    for number in numbers:
        total = _EXACT.add(total, number)
    return total


def average_of(numbers: Sequence[Decimal]) -> tuple[Decimal, bool]:
    """Return the average of one number or more, and whether it had to be rounded."""
    total, count = total_of(numbers), Decimal(len(numbers))
    rounded = _ROUNDED.divide(total, count)
    if _EXACT.multiply(rounded, count) == total:
        return rounded, False
    try:
        return _EXACT.divide(total, count), False
    except Inexact:
        return rounded, True


OPERATIONS: Final[Mapping[str, Callable[[_Part, Asked], Answer]]] = {
    "count": _count,
    "filter": _filter,
    "top_k": _top_k,
    "average": _average,
    "sum": _sum,
    "distinct": _distinct,
    "min": _extreme(min),
    "max": _extreme(max),
    "compare": _compare,
}
"""The nine operations by name."""
