"""Exact answers: every word of a question is accounted for, or there is none."""

import json

import pytest

from day1.model.collection.records import Collection, Source, collect
from day1.model.workspace.evidence import computed, looked_up, operation_of, records_in

ROWS = [
    {"name": "Ada Lovelace", "zorp": 12.50, "hue": "red"},
    {"name": "Bob", "zorp": 7, "hue": "blue"},
    {"name": "Cleo", "zorp": 0.5, "hue": "red", "core_mass": 3},
    {"name": "Dora", "zorp": "many", "hue": "dark red"},
]
RECORDS = collect(Source(f"r{n}", json.dumps(row)) for n, row in enumerate(ROWS, 1))


def lookup(question: str, collection: Collection = RECORDS) -> str:
    found = looked_up(question, collection)
    return "" if found is None else found.answer


def compute(question: str, collection: Collection = RECORDS) -> str:
    found = computed(question, collection)
    return "" if found is None else found.answer


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the zorp of Bob?", "7"),
        ("zorp of ADA LOVELACE", "12.5"),
        ("What zorp has the record with name Cleo?", "0.5"),
        ("core mass of Cleo", "3"),
        ("What is the core mass?", "3"),
        ("Who is the name with zorp 7?", "Bob"),
        ("hues of Bob", "blue"),
        ("What is the zorp of Ada?", ""),
        ("What is the zorp of Bob in June?", ""),
        ("What is the zorp of the red one?", ""),
        ("What is the name of dark red?", "Dora"),
        ("What is the size of Bob?", ""),
        ("What is the zorp?", ""),
        ("Who is Bob?", ""),
        ("", ""),
    ],
)
def test_a_value_is_looked_up_by_what_names_its_record(question: str, answer: str) -> None:
    assert lookup(question) == answer


def test_records_that_agree_have_one_answer() -> None:
    same = collect(Source(f"r{n}", f"name: Eve\nzorp: {v}") for n, v in enumerate(["Big", "big"]))
    found = looked_up("zorp of Eve", same)
    assert found is not None
    assert (found.answer, found.operation, found.row_ids) == ("Big", "lookup", ("r0", "r1"))
    differ = collect(Source(f"r{n}", f"name: Eve\nzorp: {v}") for n, v in enumerate(["1", "2"]))
    assert lookup("zorp of Eve", differ) == ""


def test_a_lone_line_is_a_record_of_evidence() -> None:
    evidence = records_in([Source("a", " API port: 8443 "), Source("b", "The port of the API is 9."), Source("c", "x: 1\ny: 2")])  # fmt: skip
    assert [dict(r.fields) for r in evidence.records] == [
        {"API port": "8443"},
        {"x": "1", "y": "2"},
    ]
    assert evidence.records[0].text == "API port: 8443"
    assert lookup("What is the API port?", evidence) == "8443"
    assert lookup("What is the port?", evidence) == ""
    assert len(records_in([Source("a", "k: " + "v" * 497)]).records) == 1
    assert records_in([Source("a", "k: " + "v" * 498)]).records == ()
    assert records_in([Source("a", "k: v\nplain")]).records == ()


@pytest.mark.parametrize(
    ("question", "operation"),
    [
        ("How many records are red?", "count"),
        ("the NUMBER  of records", "count"),
        ("count the rows", "count"),
        ("average zorp", "average"),
        ("total and average zorp", None),
        ("mean average", "average"),
        ("Who is Bob?", None),
        ("largest", "max"),
        ("lowest", "min"),
        ("how many different hues", "distinct"),
    ],
)
def test_a_computation_is_named_by_words(question: str, operation: str | None) -> None:
    assert operation_of(question) == operation


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How many records are there?", "4"),
        ("How many records have a core mass?", "1"),
        ("How many are red?", "2"),
        ("How many records have the hue dark red?", "1"),
        ("How many are dark red?", "1"),
        ("What is the average zorp?", "6.666666666666666666666666667"),
        ("What is the mean zorp of the hue red?", "6.5"),
        ("total zorp", "20"),
        ("sum of zorps of Bob", "7"),
        ("What is the highest zorp?", "12.5"),
        ("lowest zorp with hue red", "0.5"),
        ("How many different hues are there?", "3"),
        ("How many employees are red?", ""),
        ("How many are not red?", ""),
        ("How many are red or blue?", ""),
        ("average zorp before June", ""),
        ("average zorp of all but Bob", ""),
        ("average hue", ""),
        ("average size", ""),
        ("average zorp of the green", ""),
        ("How many are red and blue?", ""),
        ("average zorp of Bob and Cleo", ""),
        ("zorp of Bob", ""),
    ],
)
def test_an_answer_is_computed_only_if_all_words_are_accounted_for(
    question: str, answer: str
) -> None:
    assert compute(question) == answer


def test_a_value_of_two_fields_needs_the_name_of_one() -> None:
    rows = [{"hue": "red", "mood": "calm"}, {"hue": "blue", "mood": "red"}, {"hue": "red"}]
    both = collect(Source(f"r{n}", json.dumps(row)) for n, row in enumerate(rows))
    assert compute("How many are red?", both) == ""
    assert compute("How many have the hue red?", both) == "2"
    assert compute("How many have the mood red?", both) == "1"
    assert compute("How many have the hue red and the mood calm?", both) == "1"
    assert compute("How many have the hue blue and the mood calm?", both) == "0"


def test_a_computed_answer_names_its_rows() -> None:
    found = computed("average zorp of the hue red", RECORDS)
    assert found is not None
    assert (found.operation, found.row_ids) == ("average", ("r1", "r3"))
