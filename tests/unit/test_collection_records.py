"""Records in texts: what is one, what its fields are called, and what their values are."""

import json
from decimal import Decimal

import pytest

from day1.model.collection.records import Source, collect, number_in, pair_in, records_of


def fields(text: str, structure: str | None = None) -> list[dict[str, str]]:
    return [dict(record.fields) for record in records_of(Source("fact_1", text, structure))]


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ('{"zorp": 1.50, "ok": true, "none": null}', [{"zorp": "1.50", "ok": "true"}]),
        ('  [{"a": 1}, 7, {"a": -2e3}] ', [{"a": "1"}, {"a": "-2e3"}]),
        ('{"a": {"b": {"c": "d"}}, "e": false}', [{"a.b.c": "d", "e": "false"}]),
        ('{"a": {"b": {"c": {"d": {"e": 1}}}}}', [{"a.b.c.d": '{"e":"1"}'}]),
        ('{"tags": ["x", "y"], "more": [[1]]}', [{"tags": "x, y", "more": '[["1"]]'}]),
        ('{"a": 1}\n{"a": 2\n{"a": 3}', [{"a": "1"}, {"a": "3"}]),
        ('Log:\n {"a": 1}\nand\n{"a": 2}', [{"a": "1"}, {"a": "2"}]),
        ("{}", []),
        ("[]", []),
        ('"a"', []),
        ("{not: json}", []),
    ],
)
def test_json_objects_and_lines_are_records(text: str, records: list[dict[str, str]]) -> None:
    assert fields(text) == records


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("|a|b|\n|-|-|\n|1|2|\n|3|4|", [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]),
        ("Intro\n\na | b c\n:-- | --:\n1 | x \\| y\nEnd", [{"a": "1", "b c": "x | y"}]),
        ("| a | b |\n|---|---|\n| 1 |  |\n| | |\n|2|3|4|", [{"a": "1"}, {"a": "2", "b": "3"}]),
        ("|a|b|\n|-|-|\n|-|-|\n|1|2|", [{"a": "-", "b": "-"}, {"a": "1", "b": "2"}]),
        ("|a|b|\n|1|2|", []),
        ("|a|b|\n|-|\n|1|2|", []),
        ("|a|b|\n|||\n|1|2|", []),
        ("this | that", []),
        ("|a|\n|-|\n|1|\n\n|b|\n|-|\n|2|", [{"a": "1"}, {"b": "2"}]),
    ],
)
def test_rows_of_tables_are_records(text: str, records: list[dict[str, str]]) -> None:
    assert fields(text) == records


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("name: Ada\nscore: 12", [{"name": "Ada", "score": "12"}]),
        ("- **name:** Ada\n* score: 12:30", [{"name": "Ada", "score": "12:30"}]),
        ("Person\nname: Ada\nplain words\nscore: 12", [{"name": "Ada", "score": "12"}]),
        ("a: 1\nb: 2\n\na: 3\nb: 4", [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]),
        ("a: 1\nb: 2\na: 3\nb: 4", [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]),
        ("a: 1", []),
        ("a: 1\n\nb: 2", []),
        ("a:\nb: 2", []),
        ("We met and said this: yes\nThey then said that: no", []),
        ("http://a.b\nhttps://c.d", []),
        ("| x | y |\n|---|---|\n| 1 | 2 |\na: 1\nb: 2", [{"x": "1", "y": "2"}]),
    ],
)
def test_paragraphs_of_pairs_are_records(text: str, records: list[dict[str, str]]) -> None:
    assert fields(text) == records


def test_a_name_of_a_pair_is_short() -> None:
    assert pair_in("one two three four: 5") == ("one two three four", "5")
    assert pair_in("one two three four five: 5") is None
    assert pair_in("a" * 60 + ": 5") == ("a" * 60, "5")
    assert pair_in("a" * 61 + ": 5") is None
    assert pair_in(": 5") is None
    assert pair_in("no colon") is None
    assert pair_in("\u2022 **a**: **5**") == ("a", "5**")


def test_the_structure_of_a_row_goes_before_its_text() -> None:
    assert fields("a: 1\nb: 2", '{"a": 5}') == [{"a": "5"}]
    assert fields("a: 1\nb: 2", "[1]") == [{"a": "1", "b": "2"}]
    assert fields("a: 1\nb: 2", "broken") == [{"a": "1", "b": "2"}]


def test_a_record_has_its_own_id_else_that_of_its_row() -> None:
    text = '{"a": 1}\n{"ID": "x7", "a": 2}\n{"a": 3}'
    records = records_of(Source("fact_1", text))
    assert [r.id for r in records] == ["fact_1", "x7", "fact_1#3"]
    assert {r.row_id for r in records} == {"fact_1"}
    assert [r.text for r in records] == text.split("\n")


def test_a_record_quotes_the_part_it_was_read_from() -> None:
    (alone,) = records_of(Source("f", ' {"a":\n 1}'))
    assert alone.text == '{"a":\n 1}'
    first, second = records_of(Source("f", '[{"b": 1, "a": 2}, {"a": 3}]'))
    assert (first.text, second.text) == ('{"a":"2","b":"1"}', '{"a":"3"}')
    (row,) = records_of(Source("f", "|a|\n|-|\n  |1|"))
    assert row.text == "|1|"
    (pairs,) = records_of(Source("f", "Head\n - a: 1\nb: 2"))
    assert pairs.text == "- a: 1\nb: 2"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12", "12"),
        (" -0.10 ", "-0.10"),
        ("+3", "3"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1,234,567.89", "1234567.89"),
        ("1e3", "1000"),
        ("9" * 100, "9" * 100),
    ],
)
def test_a_number_is_read_exactly(text: str, number: str) -> None:
    assert number_in(text) == Decimal(number)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1,23",
        "12 s",
        "1e9999",
        "NaN",
        "Infinity",
        "0x1",
        "\u0663",
        "1.2.3",
        ".",
        "9" * 101,
        "--1",
        " " * 300 + "x",
    ],
)
def test_other_texts_are_no_number(text: str) -> None:
    assert number_in(text) is None


def test_a_field_is_found_whatever_its_spelling() -> None:
    texts = [{"Unit Price": "1"}, {"unit_price": "2"}, {"unit_price": "3"}, {"unit-price": "4"}]
    collection = collect(Source(f"f{n}", json.dumps(text)) for n, text in enumerate(texts))
    assert collection.names == ("unit_price", "Unit Price", "unit-price")
    assert collection.spelled("UNIT PRICE") == collection.names
    assert collection.spelled("unit-price") == ("unit-price",)
    assert collection.spelled("price") == ()
    assert dict(collection.column("UNIT PRICE")) == {0: "1", 1: "2", 2: "3", 3: "4"}
    assert list(collection.column("unit PRICE")) == [0, 1, 2, 3]
    assert dict(collection.column("unit_price")) == {1: "2", 2: "3"}
    assert dict(collection.numbers("Unit price")) == {n: Decimal(n + 1) for n in range(4)}


def test_a_record_with_two_spellings_of_a_field_has_the_more_frequent_one() -> None:
    texts = ['{"A b": "x", "a_b": "y"}', '{"a_b": "z"}']
    collection = collect(Source(f"f{n}", text) for n, text in enumerate(texts))
    assert dict(collection.column("a B")) == {0: "y", 1: "z"}
    assert dict(collection.groups("a B")) == {"y": [0], "z": [1]}


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        "a" * 32_768,
        "|" * 32_768,
        ":" * 32_768,
        "a:" * 16_384,
        "- " * 16_384,
        "{" * 32_768,
    ],
)
def test_texts_without_an_end_hold_no_record(text: str) -> None:
    assert fields(text) == []
    assert fields("x", text) == []
