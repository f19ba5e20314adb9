"""Conditions on the values of entries: compared as JSON, each type with its own.

Conditions are `{"status": "open", "score": {"$gt": 5}}`: every key must fit. A key that the value
does not have at its top is a path with dots; a missing value counts as null.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import ge, gt, le, lt
from typing import Any, Final

_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": gt,
    "$gte": ge,
    "$lt": lt,
    "$lte": le,
}
OPERATORS: Final = ("$eq", "$ne", *_ORDERS)


def checked_conditions(where: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check that all operators of conditions are known, and return the conditions.

    Raises:
        ValueError: there is another operator.
    """
    for condition in where.values():
        unknown_operators = (
            [name for name in condition if name not in OPERATORS]
            if _has_operators(condition)
            else []
        )
        if unknown_operators:
            raise ValueError(
                f"has the unknown operator {unknown_operators[0][:40]!r}; the operators are: "
                f"{', '.join(OPERATORS)}"
            )
    return where


def meets(value: Any, where: Mapping[str, Any]) -> bool:
    """Whether a JSON value meets all conditions."""
    return all(_fits(_at(value, key), condition) for key, condition in where.items())


def _fits(found: Any, asked: Any) -> bool:
    if not _has_operators(asked):
        return same_json(found, asked)
    return all(_compare(found, operator, operand) for operator, operand in asked.items())


def _has_operators(asked: Any) -> bool:
    return isinstance(asked, Mapping) and any(name.startswith("$") for name in asked)


def _compare(found: Any, operator: str, operand: Any) -> bool:
    if operator == "$eq":
        return same_json(found, operand)
    if operator == "$ne":
        return not same_json(found, operand)
    are_numbers = _is_number(found) and _is_number(operand)
    are_texts = isinstance(found, str) and isinstance(operand, str)
    return (are_numbers or are_texts) and _ORDERS[operator](found, operand)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _at(value: Any, key: str) -> Any:
    """Return the value at a key, else at the path that the key spells; None if there is none."""
    if isinstance(value, Mapping) and key in value:
        return value[key]
    for path_part in key.split("."):
        if not isinstance(value, Mapping) or path_part not in value:
            return None
        value = value[path_part]
    return value


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal: 1 equals 1.0, and `true` does not equal 1."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same_json(one[key], other[key]) for key in one)
    if _is_list(one) and _is_list(other):
        return len(one) == len(other) and all(map(same_json, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
