"""The basis of a derived row: the rows whose words it was made of.

Five things are made of other rows' words: the passages of a saved context, insights, consolidated
facts, the titles of conversations that hooks began, and the reasons of verdicts. Whoever makes one
writes an edit beside it, whose cell is `basis` and whose reason lists the ids of the sources.

A derived row is never more visible than its sources are. What is hidden is computed when rows are
read, from the sources as they are at that state. So it is right after a merge, a revert and as of
any instant, and nothing has to be written when a source is hidden.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from day1.model.redaction.mask import REDACTED_HASH, Mask
from day1.model.redaction.veil import SECRET
from day1.model.rows.change import REMOVED, Query
from day1.model.rows.json_columns import read_detail
from day1.model.rows.kind import (
    CONVERSATION,
    EDIT,
    FACT,
    MEMORIES,
    MESSAGE,
    WHOLE,
    Cell,
    Kind,
    Row,
    kind_of,
)

BASIS: Final = "basis"
"""The cell of an edit that lists the sources of a row's own words."""
VERDICT_BASIS: Final = "verification.basis"
"""The cell of an edit that lists the rows which the judge of a verdict had read."""
BASES: Final = frozenset({BASIS, VERDICT_BASIS})
"""The two cells of edits that list sources."""
INSIGHT: Final = "insight"
"""The category of facts that were derived from lessons."""
CONSOLIDATED: Final = "consolidated from "
"""The first words of an edit's reason that lists the observations of a consolidated fact."""
COMPACTED: Final = "compacted into "
"""The first words of the reason for removing a row whose words another row has now; then its id.
Such a removal does not hide that row."""
GONE: Final = -(2**62)
"""The time at which a removed source counts as expired: before any instant."""


_HOOKED: Final = f"{CONVERSATION.prefix}_0000000000"
"""The start of ids of conversations from hooks: derived ids, without a time."""


class State(Protocol):
    """A state whose rows can be read as they were written; only redacted words are masked."""

    @property
    def mask(self) -> Mask:
        """The redactions in force."""

    def scan(self, kind: Kind, columns: Sequence[str], query: Query) -> list[tuple[Cell, ...]]:
        """Return some columns of rows, as `ports.reading.Reading.scan` gives them."""


@dataclass(frozen=True, slots=True)
class Hiding:
    """How the sources of a row's words are hidden, taken together. Units: microseconds UTC."""

    redacted: bool = False
    secret: bool = False
    ends: int | None = None
    """The time at which the first source expires; `GONE` if one was removed."""
    spaces: frozenset[str] = frozenset()
    """The spaces that sources are in; a source without a space is in everybody's."""

    def __bool__(self) -> bool:
        """Whether a source hides the words: now, later or for readers of other spaces."""
        return self.redacted or self.secret or self.ends is not None or bool(self.spaces)

    def joined(self, other: "Hiding") -> "Hiding":
        """Return the hiding by two sources together: the stricter value of each field."""
        end_times = [end_time for end_time in (self.ends, other.ends) if end_time is not None]
        return Hiding(
            self.redacted or other.redacted,
            self.secret or other.secret,
            min(end_times, default=None),
            self.spaces | other.spaces,
        )

    def over(self, at: int | None) -> bool:
        """Whether a source had expired by an instant; False without an instant."""
        return at is not None and self.ends is not None and self.ends <= at

    def elsewhere(self, spaces: Collection[Cell] | None) -> bool:
        """Whether a source is outside of the requested spaces; None requests all."""
        return spaces is not None and not self.spaces <= {*spaces}

    def space(self, own: Cell) -> Cell:
        """Return the space in which words are shown: that of a source in another space, if any."""
        return min(self.spaces - {own}, default=own)


NOTHING: Final = Hiding()
"""No source hides the words."""


def sources_in(edit: Row) -> list[str]:
    """Return the ids of the sources that an edit lists; empty if it lists no sources."""
    reason = str(edit["reason"] or "")
    if edit["cell"] in BASES:
        listed_sources = _listed(reason)
        return [row_id for row_id in listed_sources if isinstance(row_id, str)]
    if reason.startswith(CONSOLIDATED):  # written before there were bases
        return reason.removeprefix(CONSOLIDATED).split(", ")
    return []


def _listed(reason: str) -> list[object]:
    try:
        listed_sources = json.loads(reason)
    except ValueError:  # masked, or another program's
        return []
    return listed_sources if isinstance(listed_sources, list) else []


class Sources:
    """The sources of rows of a state, and how they hide the words of these rows."""

    def __init__(self, state: State) -> None:
        """Create the sources of a state; nothing is looked up yet."""
        self._state = state
        self._rows: dict[str, Row] = {}
        """The columns that decide whether a source is hidden, by the source's id."""
        self._sources: dict[tuple[str, str], list[str]] = {}
        """The ids of sources, by row and `BASIS` or `VERDICT_BASIS`."""
        self._removed: dict[str, set[str]] = {}
        """By id of a removed source, the reasons of its removals."""
        self._hidings: dict[str, Hiding] = {}
        """The hiding of a row's words by their sources, by row id, once computed."""

    def of(self, rows: Mapping[str, Row], titles: Collection[str] = ()) -> None:
        """Look up and record the sources of rows, and the sources of those sources.

        Args:
            rows: rows that may be derived, with the columns `origin_id` and `category`, by id.
            titles: the ids of conversations whose title may quote a message.
        """
        rows_to_follow = dict(rows)
        while rows_to_follow:
            self._rows |= rows_to_follow
            source_ids = self._look_up(rows_to_follow)
            unknown_ids = source_ids - self._rows.keys()
            new_rows = self._read(unknown_ids)
            self._rows |= new_rows
            rows_to_follow = {
                source_id: row for source_id, row in new_rows.items() if may_derive(row)
            }
        derived_ids = {row_id for row_id, _ in self._sources}
        titled_ids = {row_id for row_id in titles if row_id.startswith(_HOOKED)} - derived_ids
        if titled_ids:
            self._by_first_message(titled_ids)
        absent_ids = {
            source_id for listed_ids in self._sources.values() for source_id in listed_ids
        } - self._rows.keys()
        self._removed = self._removed_among(absent_ids - self._state.mask.rows)

    def of_ids(self, ids: Collection[str]) -> None:
        """Look up the sources of rows by the ids of the rows; see `of`."""
        self.of(self._read(ids))

    def all_of(self, ids: Collection[str]) -> set[str]:
        """Return the ids of the sources of rows, of these sources' sources, and so on.

        `of` must have looked the rows up before.
        """
        source_ids: set[str] = set()
        new_ids = set(ids)
        while new_ids:
            new_ids = {
                source_id
                for row_id in new_ids
                for source_id in self._sources.get((row_id, BASIS), ())
            }
            new_ids -= source_ids
            source_ids |= new_ids
        return source_ids

    def _look_up(self, rows: Mapping[str, Row]) -> set[str]:
        """Record the sources of rows by their edits and columns; returns the sources' ids."""
        source_ids: set[str] = set()
        columns = ("row_id", "cell", "reason")
        query = Query(among={"row_id": sorted(rows)})
        edit_tuples = self._state.scan(EDIT, columns, query)
        edit_rows = [dict(zip(columns, edit, strict=True)) for edit in edit_tuples]
        for edit in edit_rows:
            cell = VERDICT_BASIS if edit["cell"] == VERDICT_BASIS else BASIS
            self._add(str(edit["row_id"]), cell, sources_in(edit), source_ids)
        for row_id, row in rows.items():
            if row.get("origin_id") is not None:
                self._add(row_id, BASIS, [str(row["origin_id"])], source_ids)
        insight_ids = [row_id for row_id, row in rows.items() if row.get("category") == INSIGHT]
        sourceless_insight_ids = [
            row_id for row_id in insight_ids if (row_id, BASIS) not in self._sources
        ]
        if sourceless_insight_ids:  # written before there were bases
            query = Query(among={"id": sorted(sourceless_insight_ids)})
            for insight_id, detail in self._state.scan(FACT, ("id", "detail"), query):
                listed_ids = [
                    str(source_id) for source_id in read_detail(detail).get("source_ids", ())
                ]
                self._add(str(insight_id), BASIS, listed_ids, source_ids)
        return source_ids

    def _add(self, row_id: str, cell: str, ids: Iterable[str], source_ids: set[str]) -> None:
        recorded_ids = self._sources.get((row_id, cell), [])
        recorded_set = set(recorded_ids)  # edits and a column often list the same source
        new_ids = [
            source_id
            for source_id in ids
            if source_id not in recorded_set and kind_of(source_id) in MEMORIES
        ]
        if new_ids:
            self._sources[row_id, cell] = recorded_ids + new_ids
            source_ids.update(new_ids)

    def _read(self, ids: Collection[str]) -> dict[str, Row]:
        """Read the columns that decide whether sources are hidden."""
        rows: dict[str, Row] = {}
        ids_by_kind: dict[Kind | None, list[str]] = {}
        for row_id in sorted(ids):
            ids_by_kind.setdefault(kind_of(row_id), []).append(row_id)
        for kind in MEMORIES:
            if kind in ids_by_kind:
                columns = tuple(column for column in _DECIDING if column in kind.column)
                row_tuples = self._state.scan(kind, columns, Query(among={"id": ids_by_kind[kind]}))
                rows |= {
                    str(row_values[0]): dict(zip(columns, row_values, strict=True))
                    for row_values in row_tuples
                }
        return rows

    def _by_first_message(self, conversations: Collection[str]) -> None:
        """Take the first message of a conversation as the source of a title that lists no source.

        A hook begins a conversation with a message: if no message is the first, it was removed.
        """
        conversation_filter = {"conversation_id": sorted(conversations)}
        first_message_query = Query(equal={"previous_id": None}, among=conversation_filter)
        columns = ("id", "conversation_id", "content_hash")
        for message_id, conversation_id, content_hash in self._state.scan(
            MESSAGE, columns, first_message_query
        ):
            self._sources.setdefault((str(conversation_id), BASIS), []).append(str(message_id))
            self._rows[str(message_id)] = {"id": message_id, "content_hash": content_hash}
        sourceless_ids = {
            row_id for row_id in conversations if (row_id, BASIS) not in self._sources
        }
        self._hidings |= dict.fromkeys(sourceless_ids, Hiding(ends=GONE))

    def _removed_among(self, ids: Collection[str]) -> dict[str, set[str]]:
        """Return the reasons for which edits of this state removed rows, by the rows' ids."""
        reasons_by_id: dict[str, set[str]] = {}
        if ids:
            query = Query(equal={"cell": WHOLE, "value": REMOVED}, among={"row_id": sorted(ids)})
            for row_id, reason in self._state.scan(EDIT, ("row_id", "reason"), query):
                reasons_by_id.setdefault(str(row_id), set()).add(str(reason))
        return reasons_by_id

    def hiding(self, row_id: str, cell: str = BASIS) -> Hiding:
        """Return how its sources hide a row's words, or its verdict (cell `VERDICT_BASIS`).

        All sources count, and theirs: whether one is redacted or secret, when the first one
        expires, and their spaces.
        """
        if cell == BASIS and row_id in self._hidings:
            return self._hidings[row_id]
        if cell == BASIS:
            self._hidings[row_id] = NOTHING  # should the sources lead back here
        combined_hiding = NOTHING
        source_ids = self._sources.get((row_id, cell), ())
        related_ids = (row_id, *source_ids)
        for source_id in source_ids:
            for hiding in (self._itself(source_id, related_ids), self.hiding(source_id)):
                if hiding is not NOTHING:  # most hide nothing
                    combined_hiding = combined_hiding.joined(hiding)
        if cell == BASIS:
            self._hidings[row_id] = combined_hiding
        return combined_hiding

    def _itself(self, row_id: str, others: Collection[str]) -> Hiding:
        """Return how a source is hidden by its columns, by a redaction or by its removal.

        A source that was compacted into one of `others`, a row of the same words, is hidden as
        that row is: its removal hides nothing.
        """
        row = self._rows.get(row_id)
        if row_id in self._state.mask.rows:
            return Hiding(redacted=True)
        if row is None:
            compaction_reasons = {f"{COMPACTED}{other_id}" for other_id in others}
            removal_reasons = self._removed.get(row_id, set()).difference(compaction_reasons)
            return Hiding(ends=GONE) if removal_reasons else NOTHING
        is_redacted = row.get("content_hash") == REDACTED_HASH
        is_secret = row.get("sensitivity") == SECRET
        expires_at, space = row.get("expires_at"), row.get("space")
        if not (is_redacted or is_secret) and expires_at is None and space is None:
            return NOTHING
        return Hiding(
            is_redacted,
            is_secret,
            ends=None if expires_at is None else int(expires_at),
            spaces=frozenset() if space is None else frozenset({str(space)}),
        )


_DECIDING: Final = (
    "id",
    "content_hash",
    "sensitivity",
    "expires_at",
    "space",
    "origin_id",
    "category",
)
"""The columns that decide whether a source hides rows derived from it, and whether it is derived
itself."""


def may_derive(row: Mapping[str, Cell]) -> bool:
    """Whether a row may be derived from others; a cheap test, as most rows are not."""
    return row.get("origin_id") is not None or row.get("category") == INSIGHT
