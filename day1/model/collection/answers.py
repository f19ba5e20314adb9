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
        return [self.collection.records[record_number] for record_number in numbers]

    def metric(self, name: str) -> list[tuple[int, Decimal]]:
        value_by_record = self.collection.numbers(name)
        return [
            (record_number, value_by_record[record_number])
            for record_number in self.numbers
            if record_number in value_by_record
        ]


def answer(collection: Collection, asked: Asked) -> Answer:
    """Answer one of the nine operations.

    Raises:
        InvalidRequest: an argument is missing, no record has a field, or no number can be compared.
            `fields` lists the fields that records have.
    """
    compute_answer = OPERATIONS[asked.operation]
    return compute_answer(_narrowed(collection, asked), asked)


def shown_number(number: Decimal) -> str:
    """Write a number with all its digits, without an exponent or zeros at the end of a fraction."""
    digits = format(number, "f")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return "0" if digits in {"-0", ""} else digits


def same_value(one: str, other: str) -> bool:
    """Whether two values are equal: as numbers if both are numbers, else without letter case."""
    one_number, other_number = number_in(one), number_in(other)
    if one_number is not None and other_number is not None:
        return one_number == other_number
    return folded_value(one) == folded_value(other)


def matching(collection: Collection, name: str, value: str) -> list[int]:
    """Find the records that have a value in a field; their numbers, in order."""
    numbers_by_value = collection.groups(name)
    matching_number_lists = [
        record_numbers
        for stored_value, record_numbers in numbers_by_value.items()
        if same_value(stored_value, value)
    ]
    return sorted(chain.from_iterable(matching_number_lists))


def _narrowed(collection: Collection, asked: Asked) -> _Part:
    if asked.value is None:
        return _Part(collection, range(len(collection.records)))
    if asked.field is None:
        raise InvalidRequest("`value` needs `field`: name the field that has this value.")
    field_name = _checked_name(collection, asked.field, "field")
    return _Part(collection, matching(collection, field_name, asked.value))


def _checked_name(collection: Collection, name: str, argument: str) -> str:
    if collection.spelled(name):
        return name
    raise InvalidRequest(
        f"No record has the field that `{argument}` names: choose one of those in `fields`.",
        fields=list(collection.names[:_MOST_NAMES]),
        record_count=len(collection.records),
    )


def _needed(name: str | None, argument: str, operation: str) -> str:
    if name is None:
        raise InvalidRequest(f"`{operation}` needs `{argument}`: the name of a field.")
    return name


def _metric(part: _Part, asked: Asked) -> tuple[str, list[tuple[int, Decimal]]]:
    """Return the name of the metric, and the numbers that the records have there."""
    default_field = asked.field if asked.value is None else None
    metric_name = _needed(asked.metric or default_field, "metric", asked.operation)
    argument_name = "metric" if asked.metric else "field"
    record_value_pairs = part.metric(_checked_name(part.collection, metric_name, argument_name))
    if not record_value_pairs:
        raise InvalidRequest(
            f"No matching record has a number in the field that `{argument_name}` names: there is "
            "nothing to compare.",
            fields=list(part.collection.names[:_MOST_NAMES]),
            record_count=len(part.numbers),
        )
    return metric_name, record_value_pairs


def _count(part: _Part, asked: Asked) -> Answer:
    matched_numbers = _having_field(part, asked)
    return Answer(str(len(matched_numbers)), part.records(matched_numbers), len(matched_numbers))


def _filter(part: _Part, asked: Asked) -> Answer:
    _needed(asked.field, "field", "filter")
    matched_records = part.records(_having_field(part, asked))
    shown_ids = ", ".join(record.id for record in matched_records[: asked.k])
    return Answer(shown_ids, matched_records, len(matched_records))


def _having_field(part: _Part, asked: Asked) -> Sequence[int]:
    """Return the numbers of the records that have a field; without a field, of all records."""
    if asked.field is None or asked.value is not None:
        return part.numbers
    value_by_record = part.collection.column(_checked_name(part.collection, asked.field, "field"))
    return [record_number for record_number in part.numbers if record_number in value_by_record]


def _distinct(part: _Part, asked: Asked) -> Answer:
    field_name = _checked_name(part.collection, _needed(asked.field, "field", "distinct"), "field")
    value_by_record = part.collection.column(field_name)
    count_by_value: dict[str, int] = {}
    spelling_by_value: dict[str, str] = {}
    matched_numbers = [
        record_number for record_number in part.numbers if record_number in value_by_record
    ]
    for record_number in matched_numbers:
        value_key = folded_value(value_by_record[record_number])
        spelling_by_value.setdefault(value_key, value_by_record[record_number].strip())
        count_by_value[value_key] = count_by_value.get(value_key, 0) + 1
    value_counts: list[Json] = [
        {"value": spelling_by_value[value_key], "count": count_by_value[value_key]}
        for value_key in list(count_by_value)[:_MOST_VALUES]
    ]
    metadata: dict[str, Json] = {"distinct_count": len(count_by_value), "values": value_counts}
    shown_values = ", ".join(list(spelling_by_value.values())[:_MOST_VALUES])
    return Answer(shown_values, part.records(matched_numbers), len(matched_numbers), metadata)


def _top_k(part: _Part, asked: Asked) -> Answer:
    metric_name, record_value_pairs = _metric(part, asked)
    best_pairs = sorted(record_value_pairs, key=lambda pair: -pair[1])[: asked.k]
    shown_values: list[Json] = [shown_number(value) for _, value in best_pairs]
    best_records = part.records([record_number for record_number, _ in best_pairs])
    return Answer(
        ", ".join(record.id for record in best_records),
        best_records,
        len(record_value_pairs),
        _about(part, metric_name, record_value_pairs, values=shown_values),
    )


def _extreme(best_of: Callable[[list[Decimal]], Decimal]) -> Callable[[_Part, Asked], Answer]:
    def extreme(part: _Part, asked: Asked) -> Answer:
        metric_name, record_value_pairs = _metric(part, asked)
        best_value = best_of([value for _, value in record_value_pairs])
        best_records = part.records(
            [record_number for record_number, value in record_value_pairs if value == best_value]
        )
        metadata = _about(part, metric_name, record_value_pairs, value=shown_number(best_value))
        return Answer(
            ", ".join(record.id for record in best_records),
            best_records,
            len(record_value_pairs),
            metadata,
        )

    return extreme


def _sum(part: _Part, asked: Asked) -> Answer:
    metric_name, record_value_pairs = _metric(part, asked)
    matched_records = part.records([record_number for record_number, _ in record_value_pairs])
    shown_total = shown_number(total_of([value for _, value in record_value_pairs]))
    return Answer(
        shown_total,
        matched_records,
        len(record_value_pairs),
        _about(part, metric_name, record_value_pairs),
    )


def _average(part: _Part, asked: Asked) -> Answer:
    metric_name, record_value_pairs = _metric(part, asked)
    average, is_rounded = average_of([value for _, value in record_value_pairs])
    matched_records = part.records([record_number for record_number, _ in record_value_pairs])
    metadata = _about(part, metric_name, record_value_pairs, rounded=is_rounded)
    return Answer(shown_number(average), matched_records, len(record_value_pairs), metadata)


def _about(
    part: _Part, name: str, numbers: Sequence[tuple[int, Decimal]], **more: Json
) -> dict[str, Json]:
    """Return the metadata of an answer: the metric, and how many records have no number there."""
    return {"metric": name, "without_number": len(part.numbers) - len(numbers), **more}


def _compare(part: _Part, asked: Asked) -> Answer:
    """Compare two groups by the average of a metric, or by their size without one."""
    field_name = _checked_name(
        part.collection, _needed(asked.group_field, "group_field", "compare"), "group_field"
    )
    if asked.group_a is None or asked.group_b is None:
        raise InvalidRequest("`compare` needs `group_a` and `group_b`: two values of the field.")
    if same_value(asked.group_a, asked.group_b):
        raise InvalidRequest("`group_a` and `group_b` are the same group: name two different ones.")
    numbers_in_part = frozenset(part.numbers)
    record_numbers_of_groups = [
        [
            record_number
            for record_number in matching(part.collection, field_name, group)
            if record_number in numbers_in_part
        ]
        for group in (asked.group_a, asked.group_b)
    ]
    group_summaries, sums_and_counts = [], []
    for group, group_record_numbers in zip(
        (asked.group_a, asked.group_b), record_numbers_of_groups, strict=True
    ):
        if not group_record_numbers:
            raise InvalidRequest(
                "A group has no record: name another value of the field.", group=group[:80]
            )
        group_values = [Decimal(len(group_record_numbers))]
        group_summary: dict[str, Json] = {"group": group, "count": len(group_record_numbers)}
        if asked.metric is not None:
            _, record_value_pairs = _metric(_Part(part.collection, group_record_numbers), asked)
            group_values = [value for _, value in record_value_pairs]
            average, is_rounded = average_of(group_values)
            group_summary |= {"average": shown_number(average), "rounded": is_rounded}
        group_summaries.append(group_summary)
        sums_and_counts.append((total_of(group_values), Decimal(len(group_values))))
    # Two fractions are compared by their products, which are exact.
    (sum_a, count_a), (sum_b, count_b) = sums_and_counts
    scaled_sum_a, scaled_sum_b = _EXACT.multiply(sum_a, count_b), _EXACT.multiply(sum_b, count_a)
    higher_group = asked.group_a if scaled_sum_a > scaled_sum_b else asked.group_b
    matched_numbers = sorted({*record_numbers_of_groups[0], *record_numbers_of_groups[1]})
    metadata: dict[str, Json] = {
        "by": "count" if asked.metric is None else "average",
        "metric": asked.metric,
        "groups": list[Json](group_summaries),
    }
    shown_answer = EQUAL if scaled_sum_a == scaled_sum_b else higher_group
    return Answer(shown_answer, part.records(matched_numbers), len(matched_numbers), metadata)


def total_of(numbers: Sequence[Decimal]) -> Decimal:
    """Add numbers exactly."""
    total = Decimal(0)
    for number in numbers:
        total = _EXACT.add(total, number)
    return total


def average_of(numbers: Sequence[Decimal]) -> tuple[Decimal, bool]:
    """Return the average of one number or more, and whether it had to be rounded."""
    total, count = total_of(numbers), Decimal(len(numbers))
    rounded_average = _ROUNDED.divide(total, count)
    if _EXACT.multiply(rounded_average, count) == total:
        return rounded_average, False
    try:
        return _EXACT.divide(total, count), False
    except Inexact:
        return rounded_average, True


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
