"""Rows under a caller's key: their ids, their notes, and what makes one secret."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from day1.errors import ValueTooLarge
from day1.model.redaction.veil import SECRET
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import FACT, OBSERVATION, Cell, canonical
from day1.model.values.ids import derived_id, short_hash
from day1.model.values.parts import MOST_VALUE

CONTEXT: Final = "context"
"""The `observation_type` of a saved context, and the category of a fact made of one."""
_PASSAGES: Final = 64
"""The most passages of a context: as many as an embedder cuts a text into."""


_KEY_SHOWN: Final = 80
"""Characters of a key that an error names."""


def context_id(space: str | None, key: str) -> str:
    """Derive the id of a context: one key in one space is one row on all branches."""
    return derived_id(OBSERVATION.prefix, None, CONTEXT, space or "", key)


def value_too_large(key: str, size: int) -> ValueTooLarge:
    """Build the refusal of a value that has more bytes (`size`) than a row keeps."""
    short_key = key[:_KEY_SHOWN]
    return ValueTooLarge(
        f"The value of the entry {short_key!r} has {size:,} bytes as JSON, and an entry at most "
        f"{MOST_VALUE:,} (8 MiB): divide it among several keys, or keep it in a file and the "
        "file's name in the entry.",
        key=short_key,
        limit=MOST_VALUE,
    )


def memory_id(space: str | None, name: str) -> str:
    """Derive the id of the fact that a caller named `name` in a space."""
    return derived_id(FACT.prefix, None, "memory", space or "", name)


def passage_id(context: str, number: int) -> str:
    """Derive the id of the fact that is made of a passage of a context."""
    return derived_id(FACT.prefix, None, "passage", context, str(number))


def passage_ids(context: str) -> list[str]:
    """Derive the ids of all facts that may be made of a context."""
    return [passage_id(context, number) for number in range(_PASSAGES)]


_VERSIONED: Final = ("content_hash", "tags", "expires_at")


def version_of(context: Mapping[str, Cell]) -> str:
    """Return the version of a context: as JSON, the columns that are copied to its facts."""
    return canonical([context[column] for column in _VERSIONED])


def promotion_note(context: Mapping[str, Cell], passages: int) -> str:
    """Write the `detail` of facts made of a context: its id, version and number of passages."""
    return canonical(
        {"context": context["id"], "passages": passages, "version": short_hash(version_of(context))}
    )


def passages_noted(context: Mapping[str, Cell], detail: Cell) -> int | None:
    """Read the number of passages from a promotion note; 0 if the context has changed since.

    None if it does not say, as those of earlier versions of day1.
    """
    detail_object = read_detail(detail)
    noted_version, passage_count = detail_object.get("version"), detail_object.get("passages")
    if noted_version is None or not isinstance(passage_count, int):
        return None
    return passage_count if noted_version == short_hash(version_of(context)) else 0


def sensitivity(
    value: str | None, inside: object = None, tags: Sequence[str] | None = None
) -> str | None:
    """Return how sensitive a memory is: the given value, else that of its JSON or a tag."""
    if value is not None:
        return value
    inner_sensitivity = inside.get("sensitivity") if isinstance(inside, Mapping) else None
    if isinstance(inner_sensitivity, str) and inner_sensitivity.strip().casefold() == SECRET:
        return SECRET
    return SECRET if any(tag.strip().casefold() == SECRET for tag in tags or ()) else None


def fits(expected: Mapping[str, Any], metadata: Mapping[str, Any] | None) -> bool:
    """Whether metadata has each expected key with an equal value; 1 equals 1.0, but not `true`."""
    stored_metadata = metadata or {}
    return all(
        name in stored_metadata and _same(stored_metadata[name], value)
        for name, value in expected.items()
    )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and fits(one, other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)
