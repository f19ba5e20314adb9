"""Operations that put entries, get them, find them below a space, and remove them."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import AfterValidator, Field, model_validator

from day1.call.context import Context
from day1.call.fields import (
    Label,
    OnBranch,
    Read,
    Request,
    Response,
    Text,
    WriteRequest,
    Written,
)
from day1.call.operation import Effect, Operation
from day1.model.contexts.conditions import checked_conditions
from day1.model.contexts.space_path import labels_of_space
from day1.model.values.instant import show
from day1.model.values.space import SHARED
from day1.services.access.calls import branch_of, first_edit, in_space, repeatable, writable, writer
from day1.services.branches.resolving import shown_at
from day1.services.contexts import entries, entry_writes
from day1.services.contexts.entries import Entry, EntryQuery
from day1.services.contexts.entry_search import (
    EntrySearch,
    NearestEntries,
    nearest,
    search_entries,
)
from day1.services.rows.spaces import empty_space
from day1.toolsets.shared.answers import read_found, read_of
from day1.toolsets.shared.entries import (
    EntryAt,
    EntryExpected,
    EntryGiven,
    EntrySpace,
    JsonValues,
    Vector,
    name_of,
    new_entry,
    place_of,
    warnings_of,
)
from day1.toolsets.shared.fields import absent

_MAX_ENTRIES: Final = 1_000
_FARTHEST: Final = 100_000_000
"""Maximum offset of a page of entries."""
_Keys = Annotated[list[EntryAt], Field(min_length=1, max_length=_MAX_ENTRIES)]
_Where = Annotated[JsonValues, AfterValidator(checked_conditions)]


class EntryPut(WriteRequest):
    """The arguments of `entry_put`.

    Attributes:
        entries: 1 to 1,000 entries, each key of a space once; all are put, or none. An entry
            replaces the one of the same space and key, and history keeps the old one; an equal one
            changes nothing.
    """

    entries: Annotated[list[EntryGiven], Field(min_length=1, max_length=_MAX_ENTRIES)]
    branch: OnBranch = None

    @model_validator(mode="after")
    def _each_once(self) -> EntryPut:
        spaces_and_keys = {(entry.space, entry.key) for entry in self.entries}
        if len(spaces_and_keys) < len(self.entries):
            raise ValueError("entries must not name the same space and key twice")
        return self


class EntriesPut(Response):
    """What was put: the row ids of the entries in their order, how many are new or changed."""

    ids: list[str]
    added: int
    changed: int
    written: Written


def entry_put(ctx: Context, request: EntryPut) -> EntriesPut:
    """Put JSON objects under keys of spaces, all or none; the same key replaces."""
    notes = dict.fromkeys(
        note for entry_request in request.entries for note in warnings_of(ctx, entry_request)
    )
    new_entries = [new_entry(ctx, entry_request) for entry_request in request.entries]
    branch = writable(ctx, request.branch)
    origin = writer(ctx, request, branch)
    repo = repeatable(ctx, request, branch)
    put_result = entry_writes.put(
        repo, branch, new_entries, origin, first_edit(ctx, request, branch)
    )
    row_ids = [entry.at.row_id for entry in new_entries]
    return EntriesPut(
        ids=row_ids,
        added=put_result.added,
        changed=put_result.changed,
        written=Written(
            branch=branch.name, commit=put_result.tip, pending=put_result.pending, notes=list(notes)
        ),
    )


class EntryGet(Request):
    """The arguments of `entry_get`.

    Attributes:
        keys: The places of 1 to 1,000 entries.
        at: The state to read: a time (ISO 8601), a snapshot or a commit; default: as it is.
    """

    keys: _Keys
    branch: OnBranch = None
    at: Label | None = None


class EntryItem(Response):
    """An entry.

    Attributes:
        id: The id of its row.
        key: Its key in the space.
        space: The name of its space; `shared`: none.
        labels: The labels that name the space, to the letter; empty if it has no space.
        value: The JSON object, as it was put. If a person gave the row another text by hand: that
            text as JSON where it is an object, else as the object's `text`.
        revision: What `expect_revision` compares: it is another one after each change.
        created_at: When it was first put.
        updated_at: When it was last changed.
        expires_at: When it expires, if it does.
        score: How well it fits the query, from 0 to 1, or the cosine to the vector, from -1 to 1,
            if there was one.
    """

    id: str
    key: str
    space: str
    labels: list[str]
    value: Any
    revision: str
    created_at: str
    updated_at: str
    expires_at: str | None = absent()
    score: float | None = absent()


class EntriesGot(Response):
    """The entries in the order of the keys; null for one that is not there."""

    entries: list[EntryItem | None]
    read: Read


def entry_get(ctx: Context, request: EntryGet) -> EntriesGot:
    """Get entries by their keys, as they are or were."""
    entry_places = [place_of(ctx, entry_at) for entry_at in request.keys]
    branch = branch_of(ctx, request.branch)
    ref = shown_at(ctx.repo, branch, request.at)
    shown_instant = ctx.clock() if ref.shown_at is None else ref.shown_at
    # Who names the space and the key of a secret entry may read it.
    with ctx.repo.store.reading(replace(ref, shown_at=None)) as reading:
        found_entries = entries.get(reading, entry_places, shown_instant, ctx.limits.answer_bytes)
        entry_items = [None if entry is None else _item(entry) for entry in found_entries]
        return EntriesGot(entries=entry_items, read=read_of(reading, branch.name))


class EntryFind(Request):
    """The arguments of `entry_find`.

    Attributes:
        under: A space, by name or by labels: its entries and those of all spaces below it, such as
            `app:users/ann` below `app:users`; `shared`: those of no space; `*`: all. Default: your
            own space, else all.
        where: Conditions on the values, such as `{"status": "open", "score": {"$gt": 5}}`, with
            `$eq`, `$ne`, `$gt`, `$gte`, `$lt` and `$lte`. They compare JSON: numbers with numbers,
            texts with texts, lists and objects whole; a missing value counts as null. A key that a
            value does not have at its top is a path with dots.
        query: A question or words: the entries that fit best come first. Default: the newest first.
        vector: A vector by your own model: the entries with the nearest `vectors` come first, and
            `score` is the cosine; those without a vector of this length come last, without a score.
            It cannot be given with `query`.
        limit: How many entries to answer at most.
        offset: How many to leave out first: with `limit` the next page.
        at: The state to read: a time (ISO 8601), a snapshot or a commit; default: as it is.
        wait: Whether a `query` waits until every text has its vector.
    """

    under: EntrySpace | None = None
    where: _Where | None = None
    query: Text | None = None
    vector: Vector | None = None
    limit: Annotated[int, Field(ge=1, le=_MAX_ENTRIES)] | None = 50
    offset: Annotated[int, Field(ge=0, le=_FARTHEST)] | None = 0
    branch: OnBranch = None
    at: Label | None = None
    wait: bool | None = False

    @model_validator(mode="after")
    def _one_question(self) -> EntryFind:
        if self.query is not None and self.vector is not None:
            raise ValueError("`query` and `vector` cannot be given together: leave one out")
        return self


class EntriesFound(Response):
    """A page of entries; `total` is how many fit in all, or with a query how many were found."""

    entries: list[EntryItem]
    total: int
    read: Read


def entry_find(ctx: Context, request: EntryFind) -> EntriesFound:
    """Find entries of a space and those below it, by conditions, a query, or both."""
    space_filter = in_space(ctx, name_of(request.under))
    branch = branch_of(ctx, request.branch)
    ref = shown_at(ctx.repo, branch, request.at)
    shown_instant = ctx.clock() if ref.shown_at is None else ref.shown_at
    entry_query = EntryQuery(shown_instant, space_filter, request.where or {})
    offset, limit = request.offset or 0, request.limit or 50
    if request.query is not None:
        entry_search = EntrySearch(
            request.query, limit, offset, bool(request.wait), ctx.limits.answer_bytes
        )
        search_result = search_entries(ctx.search, ref, branch.id, entry_query, entry_search)
        entry_items = [_item(entry, score) for entry, score in search_result.entries]
        read_state = read_found(branch.name, search_result.answer)
        return EntriesFound(entries=entry_items, total=search_result.total, read=read_state)
    with ctx.repo.store.reading(ref) as reading:
        if request.vector is None:
            matching_entries = NearestEntries(entries.find(reading, entry_query), {})
        else:
            matching_entries = nearest(reading, entry_query, request.vector)
        matching_ids, cosine_by_id = matching_entries.row_ids, matching_entries.cosines
        page_ids = matching_ids[offset : offset + limit]
        page_entries = entries.read(reading, page_ids, ctx.limits.answer_bytes)
        notes = () if request.where else empty_space(reading, space_filter, matching_ids)
        return EntriesFound(
            entries=[_item(entry, cosine_by_id.get(entry.row_id)) for entry in page_entries],
            total=len(matching_ids),
            read=read_of(reading, branch.name, *notes),
        )


class EntrySpaces(Request):
    """The arguments of `entry_spaces`.

    Attributes:
        under: A space, by name or by labels: it and all spaces below it, as with `entry_find`.
        at: The state to read: a time (ISO 8601), a snapshot or a commit; default: as it is.
    """

    under: EntrySpace | None = None
    branch: OnBranch = None
    at: Label | None = None


class SpaceItem(Response):
    """A space that has entries.

    Attributes:
        space: Its name; `shared`: entries of no space.
        labels: The labels that name it, to the letter; empty for `shared`.
        count: How many entries it has itself, without the spaces below it.
    """

    space: str
    labels: list[str]
    count: int


class SpacesFound(Response):
    """The spaces, by name."""

    spaces: list[SpaceItem]
    read: Read


def entry_spaces(ctx: Context, request: EntrySpaces) -> SpacesFound:
    """List the spaces that have entries, below a space or all."""
    space_filter = in_space(ctx, name_of(request.under))
    branch = branch_of(ctx, request.branch)
    ref = shown_at(ctx.repo, branch, request.at)
    shown_instant = ctx.clock() if ref.shown_at is None else ref.shown_at
    with ctx.repo.store.reading(ref) as reading:
        count_by_space = entries.spaces(reading, EntryQuery(shown_instant, space_filter))
        space_items = [
            SpaceItem(
                space=space_name or SHARED, labels=labels_of_space(space_name), count=entry_count
            )
            for space_name, entry_count in count_by_space.items()
        ]
        return SpacesFound(spaces=space_items, read=read_of(reading, branch.name))


class EntryRemove(WriteRequest):
    """The arguments of `entry_remove`.

    Attributes:
        keys: The places of 1 to 1,000 entries, each once; those that are not there are passed
            over.
    """

    keys: Annotated[list[EntryExpected], Field(min_length=1, max_length=_MAX_ENTRIES)]
    branch: OnBranch = None


class EntriesRemoved(Response):
    """The row ids of the removed entries."""

    ids: list[str]
    written: Written


def entry_remove(ctx: Context, request: EntryRemove) -> EntriesRemoved:
    """Remove entries in one commit; history keeps them."""
    revision_by_place = {
        place_of(ctx, entry_at): entry_at.expect_revision for entry_at in request.keys
    }
    branch = writable(ctx, request.branch)
    origin = writer(ctx, request, branch)
    repo = repeatable(ctx, request, branch)
    removal = entry_writes.remove(
        repo, branch, revision_by_place, origin, first_edit(ctx, request, branch)
    )
    return EntriesRemoved(
        ids=list(removal.row_ids),
        written=Written(branch=branch.name, commit=removal.tip, pending=removal.pending),
    )


class EntrySweep(WriteRequest):
    """The arguments of `entry_sweep`.

    Attributes:
        under: A space, by name or by labels: it and all spaces below it, as with `entry_find`.
    """

    under: EntrySpace | None = None
    branch: OnBranch = None


def entry_sweep(ctx: Context, request: EntrySweep) -> EntriesRemoved:
    """Remove the entries that have expired, in one commit; no answer shows them anyway."""
    space_filter = in_space(ctx, name_of(request.under))
    branch = writable(ctx, request.branch)
    origin = writer(ctx, request, branch)
    repo = repeatable(ctx, request, branch)
    removal = entry_writes.remove_expired(
        repo, branch, EntryQuery(ctx.clock(), space_filter), origin
    )
    return EntriesRemoved(
        ids=list(removal.row_ids),
        written=Written(branch=branch.name, commit=removal.tip, pending=removal.pending),
    )


def _item(entry: Entry, score: float | None = None) -> EntryItem:
    space_name = entry.at.space
    return EntryItem(
        id=entry.row_id,
        key=entry.at.key,
        space=space_name or SHARED,
        labels=labels_of_space(space_name),
        value=entry.value,
        revision=entry.revision,
        created_at=show(entry.created_at),
        updated_at=show(entry.updated_at),
        expires_at=None if entry.expires_at is None else show(entry.expires_at),
        score=score,
    )


OPERATIONS: tuple[Operation[Any, Any], ...] = (
    Operation("entry_put", entry_put, Effect.WRITE, long_values=True),
    Operation("entry_get", entry_get, Effect.READ),
    Operation("entry_find", entry_find, Effect.READ),
    Operation("entry_spaces", entry_spaces, Effect.READ),
    Operation("entry_remove", entry_remove, Effect.DESTROY),
    Operation("entry_sweep", entry_sweep, Effect.DESTROY),
)
