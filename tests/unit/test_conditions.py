"""Conditions on the values of entries compare JSON, each type with its own."""

import pytest

from day1.model.contexts.conditions import checked_conditions, meets, same_json

VALUE = {
    "n": 5,
    "real": 1.0,
    "text": "b",
    "yes": True,
    "none": None,
    "list": [1, {"a": 2}],
    "deep": {"x": {"y": 3}},
    "a.b": 1,
    "at": "2026-05-01",
}


@pytest.mark.parametrize(
    "where",
    [
        {},
        {"n": 5},
        {"n": 5.0},
        {"n": {"$eq": 5}, "text": "b"},
        {"n": {"$gt": 4, "$lt": 6, "$gte": 5, "$lte": 5, "$ne": 4}},
        {"n": {"$gt": 4.9}},
        {"text": {"$gt": "a", "$lte": "b"}},
        {"at": {"$gte": "2026-01-01"}},
        {"yes": True},
        {"yes": {"$ne": 1}},
        {"real": 1},
        {"none": None},
        {"missing": None},
        {"missing": {"$ne": 5}},
        {"list": [1, {"a": 2}]},
        {"list": {"$eq": [1, {"a": 2}]}},
        {"deep": {"x": {"y": 3}}},
        {"deep.x.y": 3},
        {"deep.x": {"y": 3}},
        {"a.b": 1},
        {"deep.x.y": {"$gte": 3}},
    ],
    ids=str,
)
def test_a_value_meets(where):
    assert meets(VALUE, checked_conditions(where))


@pytest.mark.parametrize(
    "where",
    [
        {"n": 6},
        {"n": "5"},
        {"n": 5, "text": "c"},
        {"n": {"$gt": 5}},
        {"n": {"$lt": 5}},
        {"n": {"$gt": 4, "$lt": 5}},
        {"n": {"$gt": "4"}},
        {"text": {"$gt": 1}},
        {"yes": 1},
        {"real": True},
        {"yes": {"$gte": 0}},
        {"n": {"$gt": False}},
        {"none": 0},
        {"none": {"$gt": 0}},
        {"missing": {"$lt": 5}},
        {"missing": {"$ne": None}},
        {"list": [1]},
        {"list": [{"a": 2}, 1]},
        {"deep": {"x": {}}},
        {"deep.x.z": 3},
        {"deep.x.y.z": 3},
        {"list.0": 1},
    ],
    ids=str,
)
def test_a_value_does_not_meet(where):
    assert not meets(VALUE, checked_conditions(where))


@pytest.mark.parametrize("operator", ["$in", "$", "$GT", "x"])
def test_an_unknown_operator_is_named(operator):
    with pytest.raises(ValueError, match="unknown operator") as refused:
        checked_conditions({"n": {"$gt": 1, operator: 2}})
    assert repr(operator) in str(refused.value)
    assert "$gte" in str(refused.value)


def test_equal_json():
    assert same_json({"a": [1, True]}, {"a": [1.0, True]})
    assert not same_json({"a": 1}, {"a": True})
    assert not same_json({"a": 1}, {"a": 1, "b": 2})
    assert not same_json("ab", ["a", "b"])
    assert not same_json([1, 2], [1, 2, 3])
