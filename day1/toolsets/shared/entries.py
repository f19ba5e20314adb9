"""Types of arguments about entries: JSON objects under keys of spaces."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from day1.call.context import Context
from day1.call.fields import Label, MemoryText, Request
from day1.errors import InvalidRequest
from day1.model.contexts.content import JsonTooLong, as_value, texts_inside
from day1.model.contexts.given_vector import sound_vector, sound_vectors
from day1.model.contexts.space_path import space_of_labels
from day1.model.redaction.retention import sensitivity_of
from day1.model.redaction.veil import SECRET
from day1.model.rows.validation import clean, secret_notes
from day1.model.values.instant import SECOND
from day1.model.values.space import asked_space
from day1.services.access.calls import new_space
from day1.services.contexts.entries import EntryKey, NewEntry
from day1.toolsets.shared.fields import Lasting, Sensitivity

_MOST_KEY = 1_024


def _space(space: str | list[str]) -> str:
    try:
        return asked_space(clean(space)) if isinstance(space, str) else space_of_labels(space)
    except InvalidRequest as exc:
        raise ValueError(str(exc).removesuffix(".")) from exc


def _object(value: dict[str, Any]) -> dict[str, Any]:
    try:
        as_value(value)
    except JsonTooLong:
        return value  # the call refuses it, with a code of its own
    return value


Key = Annotated[str, Field(min_length=1, max_length=_MOST_KEY), AfterValidator(clean)]
"""The key of an entry: any text, kept to the letter."""
EntrySpace = Annotated[str | list[str], AfterValidator(_space)]
"""A space by its name, or by labels that are kept to the letter; an operation has its name."""
JsonValues = Annotated[dict[str, Any], AfterValidator(_object)]
"""A JSON object, kept as it is: its keys in their order, its numbers as they are."""


Vector = Annotated[list[float], AfterValidator(sound_vector)]
"""A vector that the caller made with its own model."""
_Vectors = Annotated[list[Vector], Field(min_length=1), AfterValidator(sound_vectors)]


class EntryAt(Request):
    """The place of an entry.

    Attributes:
        key: Its key in the space: any text of 1 to 1,024 characters, to the letter.
        space: The space: a name such as `project:metal`, or a list of labels such as
            `["app", "Users", "Ann"]`, which are kept to the letter; `shared`: none. Default: your
            own space, else none.
    """

    key: Key
    space: EntrySpace | None = None


class EntryExpected(EntryAt):
    """The place of an entry that is to be changed.

    Attributes:
        expect_revision: The `revision` that you read, or `none`: the entry must not be there. If
            the entry was added, changed or removed since, nothing is done (revision_changed).
    """

    expect_revision: Label | None = None


class EntryGiven(EntryExpected):
    """An entry to put.

    Attributes:
        value: A JSON object of at most 8 MiB (8,388,608 bytes as JSON); it comes back as it is.
        text: The text that search finds it by. Default: all of its value.
        ttl_seconds: How long it is kept, more than 0 and at most 100 years; default: for ever.
        sensitivity: `secret` keeps it out of indexes, searches, lists, exports and bundles; only
            who names its space and key reads it.
        vectors: Vectors of its parts by your own model, all of one length, each of 1 to 4,096
            numbers, with 65,536 in all. `entry_find` compares its `vector` with them.
    """

    value: JsonValues
    text: MemoryText | None = None
    ttl_seconds: Lasting | None = None
    sensitivity: Sensitivity | None = None
    vectors: _Vectors | None = None


def place_of(ctx: Context, at: EntryAt) -> EntryKey:
    """Return the place of an entry: in the given space, else in the caller's.

    Raises:
        InvalidRequest: the space is the word for all spaces.
    """
    return EntryKey(space_of(ctx, at.space), at.key)


def space_of(ctx: Context, space: str | list[str] | None) -> str | None:
    """Return the space of new rows: the given one, else the caller's.

    Raises:
        InvalidRequest: it is the word for all spaces.
    """
    return new_space(ctx, name_of(space))


def new_entry(ctx: Context, given: EntryGiven) -> NewEntry:
    """Build the entry of a request; its time to live begins now."""
    ttl_seconds = given.ttl_seconds
    return NewEntry(
        place_of(ctx, given),
        given.value,
        given.text,
        None if ttl_seconds is None else ctx.clock() + max(1, round(ttl_seconds * SECOND)),
        sensitivity_of(given.sensitivity),
        given.vectors or (),
        given.expect_revision,
    )


def warnings_of(ctx: Context, given: EntryGiven) -> list[str]:
    """Return a warning if an entry looks like a secret and is not marked as secret.

    Raises:
        Refused: it looks like a secret, and the settings refuse that.
    """
    return secret_notes(ctx.limits.secrets, *texts_of_entry(given))


def texts_of_entry(given: EntryGiven) -> tuple[str | None, ...]:
    """Return the texts of an entry that may hold a secret."""
    return () if given.sensitivity == SECRET else (texts_inside(given.value), given.text)


def name_of(space: str | list[str] | None) -> str | None:
    """Return the name of a space that an `EntrySpace` holds."""
    return None if space is None else str(space)  # the validator made a name of labels
