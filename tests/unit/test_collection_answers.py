"""Nine exact operations over records whose fields are invented."""

import json
import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from day1.errors import InvalidRequest
from day1.model.collection.answers import (
    OPERATIONS,
    Asked,
    answer,
    average_of,
    same_value,
    shown_number,
    total_of,
)
from day1.model.collection.records import Collection, Source, collect


def collection(*rows: dict[str, Any]) -> Collection:
    return collect(Source(f"r{n}", json.dumps(row)) for n, row in enumerate(rows, 1))


SMALL = collection(
    {"zorp": "0.1", "hue": "Red"},
    {"zorp": "0.2", "hue": "red "},
    {"zorp": "many", "hue": "blue"},
    {"hue": "green", "mass": "7"},
)


def ask(operation: str, of: Collection = SMALL, **asked: Any) -> str:
    return answer(of, Asked(operation, **asked)).answer


def test_the_operations_are_nine() -> None:
    assert list(OPERATIONS) == "count filter top_k average sum distinct min max compare".split()  # noqa: SIM905 - as the seed lists them


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (Asked("count"), "4"),
        (Asked("count", field="zorp"), "3"),
        (Asked("count", field="hue", value="RED"), "2"),
        (Asked("count", field="hue", value="violet"), "0"),
        (Asked("filter", field="hue", value="red"), "r1, r2"),
        (Asked("filter", field="hue", value="red", k=1), "r1"),
        (Asked("filter", field="mass"), "r4"),
        (Asked("filter", field="zorp", value="0.10"), "r1"),
        (Asked("top_k", metric="zorp", k=1), "r2"),
        (Asked("top_k", field="zorp"), "r2, r1"),
        (Asked("average", metric="zorp"), "0.15"),
        (Asked("sum", metric="ZORP"), "0.3"),
        (Asked("sum", metric="zorp", field="hue", value="Red"), "0.3"),
        (Asked("distinct", field="hue"), "Red, blue, green"),
        (Asked("distinct", field="hue", value="blue"), "blue"),
        (Asked("min", metric="zorp"), "r1"),
        (Asked("max", metric="zorp"), "r2"),
        (Asked("compare", group_field="hue", group_a="red", group_b="blue"), "red"),
        (Asked("compare", group_field="hue", group_a="blue", group_b="red"), "red"),
        (Asked("compare", group_field="hue", group_a="blue", group_b="green"), "equal"),
    ],
)
def test_what_is_answered(asked: Asked, expected: str) -> None:
    assert answer(SMALL, asked).answer == expected


def test_an_answer_names_the_records_it_follows_from() -> None:
    best = answer(SMALL, Asked("top_k", metric="zorp", k=1))
    assert [r.id for r in best.matched] == ["r2"]
    assert best.matched_count == 2
    assert best.metadata == {"metric": "zorp", "without_number": 2, "values": ["0.2"]}
    least = answer(SMALL, Asked("min", metric="zorp"))
    assert least.metadata == {"metric": "zorp", "without_number": 2, "value": "0.1"}
    assert least.matched_count == 2
    total = answer(SMALL, Asked("sum", metric="zorp"))
    assert [r.id for r in total.matched] == ["r1", "r2"]
    assert total.matched_count == 2
    mean = answer(SMALL, Asked("average", metric="zorp"))
    assert mean.metadata == {"metric": "zorp", "without_number": 2, "rounded": False}
    assert [r.id for r in mean.matched] == ["r1", "r2"]
    assert mean.matched_count == 2
    hues = answer(SMALL, Asked("distinct", field="hue"))
    assert hues.metadata == {
        "distinct_count": 3,
        "values": [
            {"value": "Red", "count": 2},
            {"value": "blue", "count": 1},
            {"value": "green", "count": 1},
        ],
    }
    assert hues.matched_count == 4
    found = answer(SMALL, Asked("filter", field="hue", value="red", k=1))
    assert ([r.id for r in found.matched], found.matched_count) == (["r1", "r2"], 2)


def test_groups_are_compared_by_their_average() -> None:
    rows = collection({"g": "a", "n": 1}, {"g": "a", "n": 2}, {"g": "b", "n": "1.5"}, {"g": "b"})
    by_average = answer(rows, Asked("compare", None, None, "n", 5, "g", "a", "b"))
    assert by_average.answer == "equal"
    assert by_average.metadata == {
        "by": "average",
        "metric": "n",
        "groups": [
            {"group": "a", "count": 2, "average": "1.5", "rounded": False},
            {"group": "b", "count": 2, "average": "1.5", "rounded": False},
        ],
    }
    assert [r.id for r in by_average.matched] == ["r1", "r2", "r3", "r4"]
    assert by_average.matched_count == 4
    by_count = answer(rows, Asked("compare", group_field="g", group_a="b", group_b="a"))
    assert by_count.answer == "equal"
    assert by_count.metadata["by"] == "count"
    assert by_count.metadata["groups"] == [{"group": "b", "count": 2}, {"group": "a", "count": 2}]


def test_thirds_are_compared_without_rounding() -> None:
    thirds = [{"g": "a", "n": n} for n in (0, 0, 1)] + [{"g": "b", "n": n} for n in (0, 0, 1)]
    assert ask("compare", collection(*thirds), metric="n", group_field="g", group_a="a", group_b="b") == "equal"  # fmt: skip
    tiny = "0.3333333333333333333333333333333333333333"
    rows = collection(*thirds[:3], {"g": "b", "n": tiny})
    assert ask("compare", rows, metric="n", group_field="g", group_a="b", group_b="a") == "a"


def test_a_comparison_within_a_part_leaves_the_others_out() -> None:
    rows = collection({"g": "a", "t": 1}, {"g": "b", "t": 1}, {"g": "b", "t": 2})
    asked = {"group_field": "g", "group_a": "a", "group_b": "b"}
    assert ask("compare", rows, **asked) == "b"
    assert ask("compare", rows, field="t", value="1", **asked) == "equal"


def test_all_that_share_the_least_or_most_are_named() -> None:
    rows = collection({"n": 2}, {"n": "1.0"}, {"n": 1}, {"n": 2})
    assert ask("min", rows, metric="n") == "r2, r3"
    assert ask("max", rows, metric="n") == "r1, r4"
    assert ask("top_k", rows, metric="n", k=3) == "r1, r4, r2"


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (Asked("count", value="x"), "`value` needs `field`"),
        (Asked("count", field="nothing"), "the field that `field` names"),
        (Asked("filter"), "`filter` needs `field`"),
        (Asked("distinct"), "`distinct` needs `field`"),
        (Asked("distinct", field="nothing"), "the field that `field` names"),
        (Asked("sum"), "`sum` needs `metric`"),
        (Asked("sum", field="hue", value="red"), "`sum` needs `metric`"),
        (Asked("max", metric="nothing"), "the field that `metric` names"),
        (Asked("max", field="nothing"), "the field that `field` names"),
        (Asked("average", metric="hue"), "a number in the field that `metric` names"),
        (Asked("average", field="hue"), "a number in the field that `field` names"),
        (Asked("top_k", metric="zorp", field="hue", value="green"), "a number in the field"),
        (Asked("compare"), "`compare` needs `group_field`"),
        (Asked("compare", group_field="nothing"), "the field that `group_field` names"),
        (Asked("compare", group_field="hue", group_a="red"), "needs `group_a` and `group_b`"),
        (Asked("compare", group_field="hue", group_b="red"), "needs `group_a` and `group_b`"),
        (Asked("compare", group_field="hue", group_a="red", group_b="RED"), "the same group"),
        (Asked("compare", group_field="hue", group_a="red", group_b="pink"), "has no record"),
        (Asked("compare", None, None, "mass", 5, "hue", "green", "blue"), "a number in the field"),
    ],
)
def test_what_cannot_be_answered_is_an_error(asked: Asked, says: str) -> None:
    with pytest.raises(InvalidRequest, match=says):
        answer(SMALL, asked)


def test_an_error_lists_the_fields_there_are() -> None:
    with pytest.raises(InvalidRequest) as unknown:
        ask("count", field="nothing")
    assert unknown.value.details["fields"] == ["hue", "zorp", "mass"]
    assert unknown.value.details["record_count"] == 4
    with pytest.raises(InvalidRequest) as none:
        ask("average", field="hue", value="green", metric="zorp")
    assert none.value.details == {"fields": ["hue", "zorp", "mass"], "record_count": 1}
    with pytest.raises(InvalidRequest) as group:
        ask("compare", group_field="hue", group_a="red", group_b="pink" * 40)
    assert group.value.details == {"group": ("pink" * 40)[:80]}


@pytest.mark.parametrize(
    ("number", "shown"),
    [
        ("0.10", "0.1"),
        ("100", "100"),
        ("1E+3", "1000"),
        ("-0.0", "0"),
        ("-2.50", "-2.5"),
        ("1e-7", "0.0000001"),
        ("0", "0"),
    ],
)
def test_a_number_is_shown_with_all_its_digits(number: str, shown: str) -> None:
    assert shown_number(Decimal(number)) == shown


def test_sums_are_exact_and_only_endless_quotients_are_rounded() -> None:
    huge, tiny = Decimal("1e300"), Decimal("1e-100")
    assert total_of([huge, tiny, -huge]) == tiny
    assert average_of([Decimal(1), Decimal(2)]) == (Decimal("1.5"), False)
    assert average_of([Decimal(1), Decimal(0), Decimal(0)]) == (Decimal("0." + "3" * 28), True)
    long = Decimal("0." + "1" * 40)
    assert average_of([long, long]) == (long, False)


def test_values_are_compared_as_numbers_or_without_case() -> None:
    assert same_value("1.0", "1")
    assert same_value(" Two  words", "two WORDS")
    assert not same_value("1", "one")
    assert not same_value("-5", "5")
    assert not same_value("two words", "two")


def test_three_hundred_records_with_invented_fields() -> None:
    draw = random.Random(28)
    word = lambda: "".join(draw.choices("bcdfglmnprtvz", k=6))  # noqa: E731 - short, and used at once
    key, group, metric = word(), f"{word()} {word()}", word()
    groups = [word() for _ in range(5)]
    rows = [
        {key: word() + str(n), group: draw.choice(groups), metric: str(Decimal(draw.randrange(-10**6, 10**6)) / 1000)}
        for n in range(300)
    ]  # fmt: skip
    of = collection(*rows)
    values = [Fraction(row[metric]) for row in rows]
    chosen = groups[0]
    part = [n for n, row in enumerate(rows) if row[group] == chosen]

    def ids(numbers: list[int]) -> str:
        return ", ".join(f"r{n + 1}" for n in numbers)

    assert ask("count", of) == "300"
    assert ask("count", of, field=group, value=chosen) == str(len(part))
    assert ask("filter", of, field=group, value=chosen, k=200) == ids(part)
    best = sorted(range(300), key=lambda n: (-values[n], n))
    assert ask("top_k", of, metric=metric, k=17) == ids(best[:17])
    assert Fraction(ask("sum", of, metric=metric)) == sum(values)
    assert Fraction(ask("sum", of, metric=metric, field=group, value=chosen)) == sum(values[n] for n in part)  # fmt: skip
    mean = Fraction(ask("average", of, metric=metric))
    assert float(abs(mean * 300 - sum(values))) < 10**-18
    assert ask("distinct", of, field=group) == ", ".join(dict.fromkeys(row[group] for row in rows))
    counts = Counter(row[group] for row in rows)
    values_shown = answer(of, Asked("distinct", field=group)).metadata["values"]
    assert values_shown == [{"value": v, "count": counts[v]} for v in dict.fromkeys(r[group] for r in rows)]  # fmt: skip
    assert ask("min", of, metric=metric) == ids([n for n in range(300) if values[n] == min(values)])
    assert ask("max", of, metric=metric) == ids([n for n in range(300) if values[n] == max(values)])
    means: dict[str, Fraction] = {}
    for name in groups:
        own = [value for value, row in zip(values, rows, strict=True) if row[group] == name]
        means[name] = Fraction(sum(own)) / len(own)
    for one in groups:
        for other in groups:
            if one != other:
                higher = "equal" if means[one] == means[other] else max(one, other, key=means.__getitem__)  # fmt: skip
                asked = {"metric": metric, "group_field": group, "group_a": one, "group_b": other}
                assert ask("compare", of, **asked) == higher
