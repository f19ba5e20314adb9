"""Convert between LangGraph's operations and items and day1's requests and entries."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from math import isinf
from secrets import token_hex
from typing import Any, Final, TypeVar

from langgraph.store.base import (
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchItem,
    get_text_at_path,
    validate_op_namespace,
)

MOST: Final = 1_000
"""Maximum number of entries that one call puts, gets, finds or removes."""
Namespace = tuple[str, ...]
T = TypeVar("T")
_KIND: Final = "langgraph"
_OPERATORS: Final = ("$eq", "$ne", "$gt", "$gte", "$lt", "$lte")
_MOST_TEXT: Final = 32_768
_MINUTE_S: Final = 60
_BEYOND: Final = 10**400
"""A whole number that is greater than any `float`."""
_NO_KEY: Final = re.compile(r"""['"()\[\]{}]""")
"""Characters that LangGraph's SQL stores refuse in the key of a filter."""


def validated(ops: Iterable[Op]) -> list[Op]:
    """Check the namespaces of operations, and the paths that puts index.

    Raises:
        InvalidNamespaceError: a label does not fit.
        ValueError: the `index` of a put is none of False, None and paths.
    """
    operations = list(ops)
    for op in operations:
        validate_op_namespace(op)
        if isinstance(op, PutOp) and not _is_index(op.index):
            raise ValueError(f"Invalid index: {op.index!r} is neither False nor a list of paths")
    return operations


def _is_index(index: Any) -> bool:
    """Whether a value may be the `index` of a put."""
    if index is None or index is False:
        return True
    return isinstance(index, Collection) and all(isinstance(path, str) for path in index)


def parts(values: list[T]) -> Iterable[list[T]]:
    """Divide values into parts that one call takes."""
    return (values[start : start + MOST] for start in range(0, len(values), MOST))


def labels(name: str, namespace: Sequence[str]) -> list[str]:
    """Return the labels of the space of a namespace in the store of this name."""
    return [_KIND, name, *namespace]


def namespace_of(space: Mapping[str, Any]) -> Namespace:
    """Return the namespace of an entry or of a space, by its labels."""
    return tuple(space["labels"][2:])


def place(name: str, namespace: Sequence[str], key: str) -> dict[str, Any]:
    """Return the space and key of an item in the form that `entry_get` takes."""
    return {"space": labels(name, namespace), "key": key}


def new_entry(name: str, op: PutOp, fields: Sequence[str] | None) -> dict[str, Any]:
    """Return the entry that a put makes; `fields` are the paths that are searched by default."""
    entry = {**place(name, op.namespace, op.key), "value": dict(op.value or {})}
    text = _text(op, fields)
    if text is not None:
        entry["text"] = text
    if op.ttl is not None:
        entry["ttl_seconds"] = op.ttl * _MINUTE_S
    return entry


def _text(op: PutOp, fields: Sequence[str] | None) -> str | None:
    """Return the text of an item that search reads; None means the whole value."""
    paths = fields if op.index is None else op.index
    if paths is None or (paths is not False and "$" in paths):
        return None
    item_texts = [
        item_text
        for path in paths or ()
        for item_text in get_text_at_path(op.value, path)
        if item_text.strip()
    ]
    # An item with no text is found by its place, which no other item has.
    text = "\n".join(item_texts) or "/".join((*op.namespace, op.key))
    return text[:_MOST_TEXT]


def renewal(entry: Mapping[str, Any], now: datetime) -> dict[str, Any] | None:
    """Return the change, for `rows_apply`, that restarts an entry's time to live.

    None if it has none, or if less than a tenth of it has passed: each change is a commit.
    """
    if entry.get("expires_at") is None:
        return None
    updated_at, old_expires_at = (
        datetime.fromisoformat(entry[column]) for column in ("updated_at", "expires_at")
    )
    lifetime_s = (old_expires_at - updated_at).total_seconds()
    if (now - updated_at).total_seconds() < lifetime_s / 10:
        return None
    # A write takes a moment after its end was set: rounding keeps that from adding up.
    lifetime_s = round(lifetime_s, 0 if lifetime_s >= _MINUTE_S else 1) or lifetime_s
    new_expires_at = now + timedelta(seconds=lifetime_s)
    return {"action": "update", "id": entry["id"], "expires_at": new_expires_at.isoformat()}


def item_of(entry: Mapping[str, Any]) -> Item:
    """Return an entry as an item."""
    return Item(
        value=entry["value"],
        key=entry["key"],
        namespace=namespace_of(entry),
        created_at=entry["created_at"],
        updated_at=entry["updated_at"],
    )


def found_item(entry: Mapping[str, Any]) -> SearchItem:
    """Return an entry that a search found as an item with its score."""
    item = item_of(entry)
    return SearchItem(
        namespace=item.namespace,
        key=item.key,
        value=item.value,
        created_at=item.created_at,
        updated_at=item.updated_at,
        score=entry.get("score"),
    )


def conditions(wanted: Mapping[str, Any] | None) -> dict[str, Any]:
    """Convert a LangGraph filter into the `where` argument of `entry_find`.

    Raises:
        ValueError: it has an operator that LangGraph does not know, or a key with a quote or a
            bracket.
    """
    for key in wanted or {}:
        if _NO_KEY.search(key):
            raise ValueError(f"Invalid filter key: {key[:40]!r} has a quote or a bracket")
    for condition in (wanted or {}).values():
        keys = condition if isinstance(condition, Mapping) else ()
        unknown_operators = [key for key in keys if key not in _OPERATORS]
        # An object without any operator is a value to be compared with.
        if unknown_operators and any(str(key).startswith("$") for key in keys):
            raise ValueError(f"Unsupported operator: {unknown_operators[0]}")
    return {key: _json(condition) for key, condition in (wanted or {}).items()}


def _json(value: Any) -> Any:
    """Return a value of a filter as JSON.

    NaN, and a text with a NUL, become an object that no value equals or is ordered by: no value of
    an item has them. Infinity becomes a number beyond all others.
    """
    if value != value or (isinstance(value, str) and "\0" in value):  # noqa: PLR0124 - NaN is that
        return {token_hex(): None}
    if isinstance(value, float) and isinf(value):
        return _BEYOND if value > 0 else -_BEYOND
    if isinstance(value, Mapping):
        return {key: _json(part) for key, part in value.items()}
    return [_json(part) for part in value] if isinstance(value, list | tuple) else value


def listed(namespaces: Iterable[Namespace], op: ListNamespacesOp) -> list[Namespace]:
    """Return one page of the namespaces that match, sorted and without duplicates.

    Raises:
        ValueError: a condition is of an unknown type.
    """
    match_conditions = op.match_conditions or ()
    fitting_namespaces = (
        namespace
        for namespace in namespaces
        if all(_fits(condition, namespace) for condition in match_conditions)
    )
    shortened_namespaces = {namespace[: op.max_depth] for namespace in fitting_namespaces}
    return sorted(shortened_namespaces)[op.offset : op.offset + op.limit]


def _fits(condition: MatchCondition, namespace: Namespace) -> bool:
    label_pattern = tuple(condition.path)
    if condition.match_type not in {"prefix", "suffix"}:
        raise ValueError(f"Unsupported match type: {condition.match_type}")
    if len(namespace) < len(label_pattern):
        return False
    compared_labels = namespace[: len(label_pattern)]
    if condition.match_type == "suffix":
        compared_labels = namespace[len(namespace) - len(label_pattern) :]
    return all(
        pattern_label in {"*", label}
        for pattern_label, label in zip(label_pattern, compared_labels, strict=True)
    )
