"""Indexing the texts that were added to a branch since it was last indexed.

The cursor of a branch says: the words of this commit, and of pending rows up to this time, are all
indexed. While the tip is that commit, rows can only have been added. If the tip has moved, the
difference between the two commits is read: by time alone, merged rows would be missed.
A past commit that is searched has a cursor of its own, under its id.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

from day1.errors import NotFound, StoreUnavailable
from day1.model.redaction.basis import may_derive
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.redaction.veil import SECRET, is_secret
from day1.model.rows.change import Changes, CommitId, Query, Ref
from day1.model.rows.kind import FACT, KINDS, Cell, Kind, Row
from day1.ports.embedder import Embedder
from day1.ports.history import History
from day1.ports.index import Cursor, EmbedFirst, Index, IndexBehind, IndexLost
from day1.ports.reading import Reading
from day1.ports.store import Store
from day1.services.rows.deriving import made_of

INDEXED = tuple(kind for kind in KINDS if kind.text)
"""The kinds whose text can be searched."""

EMBEDDED_AT_ONCE = 256
"""Number of passages in one batch: about a second of work, which a crash can lose."""

_AT_ONCE = 2_000
PAGE = 10_000
"""Number of rows of a state that are read at once: a million would take 0.9 GB of memory."""
_MAX_CURSORS = 16
"""Maximum number of cursors, last moved first, among which the nearest one is looked for."""
_MAX_COMMITS = 1_000
"""Maximum number of commits of history in which the nearest cursor is looked for."""

_Texts = tuple[Kind, dict[str, str]]


def follow(store: Store, history: History, index: Index, branch: str, branch_id: str) -> None:
    """Index the words of a branch's present state.

    Raises:
        IndexBehind: the index cannot be written now.
    """
    with store.reading(Ref(branch=branch)) as reading:
        catch_up(reading, history, index, branch_id)


class TimeBudget:
    """A limit of time: true once it is over, or would be after a step as long as the last one."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """Start the time now."""
        self._clock = clock
        self._last = clock()
        self._end = self._last + seconds

    def __call__(self) -> bool:
        """Whether to stop; call it after each step."""
        now = self._clock()
        step_seconds, self._last = now - self._last, now
        return now + step_seconds > self._end


def embed_pending(
    index: Index,
    embedder: Embedder,
    limit: int | None,
    first: EmbedFirst | None = None,
    enough: Callable[[], bool] | None = None,
) -> int:
    """Embed texts that have no vectors: those of `first`, then the newest.

    It embeds about `limit` passages, or fewer if `enough` returns true after one of the embedder's
    strides, and none while another process embeds; without a limit all, however long that takes.

    Returns:
        The number of texts still without vectors.

    Raises:
        EmbedderUnavailable: there is no model.
        IndexBehind: the index cannot be written now.
    """
    if limit is not None or index.read_only:
        return index.vectors.embed(embedder, limit or 0, first=first, enough=enough)
    while remaining_text_count := index.vectors.embed(embedder, EMBEDDED_AT_ONCE, wait=True):
        pass
    return remaining_text_count


def catch_up(
    reading: Reading,
    history: History,
    index: Index,
    branch_id: str | None,
    within_s: float | None = None,
) -> bool:
    """Index the words of an open state; return whether all are indexed.

    The state is the present one of a branch, or a whole commit (without `branch_id`). It gives up
    after `within_s` seconds; a later call goes on from there.

    Raises:
        IndexBehind: the index cannot be written now.
    """
    return _Following(reading, history, index, within_s).catch_up(branch_id)


def lag_note(index: Index) -> str:
    """Return the note of an answer from an index that does not have all words of a state."""
    reason = "the folder is read-only" if index.read_only else "the index lags"
    return f"{reason}: what was written last may not be found"


def catch_up_past(
    past: Reading, live: Reading, history: History, index: Index, within_s: float | None = None
) -> bool:
    """Index all words of a past state, except those of rows that are secret by now.

    Args:
        past: a reading of a commit.
        live: a reading of the branch's present state.
        history: the commits of the store.
        index: the index to write to.
        within_s: seconds after which it gives up.

    Raises:
        IndexBehind: the index cannot be written now.
    """
    return _Following(past, history, index, within_s, live).catch_up(None)


@dataclass(frozen=True, slots=True)
class _Following:
    """A state whose words are to be indexed, and the index."""

    reading: Reading
    history: History
    index: Index
    within_s: float | None
    live: Reading | None = None

    def catch_up(self, branch_id: str | None) -> bool:
        """Index the words of the state; return whether all are indexed."""
        reading, index = self.reading, self.index
        if not reading.tip:
            return True
        cursor_key = branch_id or reading.tip
        current_cursor = Cursor(reading.tip, reading.pending.newest if branch_id else None)
        saved_cursor = index.words.cursor(cursor_key)
        if saved_cursor == current_cursor and (branch_id or not reading.pending.count):
            return True
        if index.read_only:
            return False
        started_at = time.monotonic()
        withheld_hashes = frozenset[str]() if self.live is None else secret_hashes(self.live)
        for kind, text_by_hash in _unseen(reading, self.history, index, saved_cursor):
            if self.within_s is not None and time.monotonic() - started_at > self.within_s:
                return False
            index.words.learn(
                kind, {h: t for h, t in text_by_hash.items() if h not in withheld_hashes}
            )
        if saved_cursor != current_cursor:
            index.words.move(cursor_key, current_cursor)
        return True


def secret_hashes(reading: Reading) -> frozenset[str]:
    """Return the hashes of texts of a state's secret rows and of facts derived from them."""
    query = Query(equal={"sensitivity": SECRET})
    columns = ("id", "content_hash")
    secret_rows = [
        dict(zip(columns, row_values, strict=True))
        for kind in INDEXED
        if "sensitivity" in kind.column
        for row_values in reading.scan(kind, columns, query)
    ]
    return frozenset(
        {*(str(row["content_hash"]) for row in secret_rows), *_made_of(reading, secret_rows)}
    )


def _made_of(reading: Reading, rows: Collection[Row]) -> dict[str, str]:
    """Return the texts of facts derived from these rows, by hash."""
    derived_ids = made_of(reading, [str(row["id"]) for row in rows]).words if rows else ()
    return _texts(reading, FACT, Query(among={"id": sorted(derived_ids)})) if derived_ids else {}


def withdraw_secrets(store: Store, index: Index, branch: str, hashes: Collection[str]) -> None:
    """Remove the texts of rows that have become secret from the index.

    If the index cannot be written now, the next indexing of the branch does it.
    """
    with suppress(IndexBehind, IndexLost), store.reading(Ref(branch=branch)) as reading:
        secret_query = Query(equal={"sensitivity": SECRET}, among={"content_hash": sorted(hashes)})
        kinds_with_secrets = (kind for kind in INDEXED if "sensitivity" in kind.column)
        secret_rows: list[Row] = [
            {"id": row_id}
            for secret_kind in kinds_with_secrets
            for (row_id,) in reading.scan(secret_kind, ("id",), secret_query)
        ]
        _withdraw(reading, index, {*hashes, *_made_of(reading, secret_rows)})


def _withdraw(reading: Reading, index: Index, hashes: Collection[str]) -> None:
    """Remove texts from the index that only secret rows of a state have.

    On other branches the texts may not be secret: these are indexed again, which restores them.
    """
    if not hashes:
        return
    indexed_hashes = {
        text_hash for kind in INDEXED for text_hash in index.words.known(kind, list(hashes))
    }
    public_query = Query(among={"content_hash": sorted(indexed_hashes)}, public=True)
    kinds_to_read = INDEXED if indexed_hashes else ()
    public_hashes = {
        row[0]
        for kind in kinds_to_read
        for row in reading.scan(kind, ("content_hash",), public_query)
    }
    if indexed_hashes - public_hashes:
        index.words.lose_cursors()  # first: after a kill here, all states are read again
        index.forget(indexed_hashes - public_hashes)


def _unseen(
    reading: Reading, history: History, index: Index, cursor: Cursor | None
) -> Iterator[_Texts]:
    """Yield, in batches, the texts that were added to a branch since its cursor."""
    newest_seen = cursor.newest if cursor else None
    if cursor is None or cursor.commit != reading.tip:
        newest_seen = None
        base_id = cursor.commit if cursor else _nearest(reading.tip, history, index)
        changes = None if base_id is None else changes_between(history, base_id, reading.tip)
        if changes is None:
            _withdraw(reading, index, secret_hashes(reading))
            for kind in INDEXED:
                hash_and_text = ("id", "content_hash", str(kind.text))
                for rows in in_pages(reading, kind, hash_and_text, Query(public=True)):
                    yield from _in_parts(kind, {str(row[1]): str(row[2]) for row in rows})
            return
        kinds_and_changes = [(kind, c) for kind in INDEXED for c in changes.get(kind.table, ())]
        secret_rows = [c.after for _, c in kinds_and_changes if c.after and is_secret(c.after)]
        secret_text_hashes = {str(row["content_hash"]) for row in secret_rows}
        _withdraw(reading, index, secret_text_hashes | _made_of(reading, secret_rows).keys())
        for kind in INDEXED:
            unindexed_rows = [c.after for k, c in kinds_and_changes if k is kind and c.after]
            yield from _in_parts(kind, _public(reading, kind, unindexed_rows))
        revealed_rows = [c.before for _, c in kinds_and_changes if c.before and is_secret(c.before)]
        derived_texts = _made_of(
            reading,
            [row for row in revealed_rows if row["id"] not in {r["id"] for r in secret_rows}],
        )
        public_text_query = Query(among={"content_hash": sorted(derived_texts)}, public=True)
        yield from _in_parts(
            FACT, _texts(reading, FACT, public_text_query) if derived_texts else {}
        )
    pending = reading.pending
    if pending.oldest is not None and pending.newest != newest_seen:
        pending_since = pending.oldest - 1 if newest_seen is None else newest_seen
        for kind in INDEXED:
            text_columns = (
                "id",
                "content_hash",
                str(kind.text),
                "origin_id",
                "category",
                "sensitivity",
            )
            columns = [column for column in text_columns if column in kind.column]
            pending_values = reading.scan(kind, columns, Query(created_after=pending_since))
            unindexed_rows = [dict(zip(columns, values, strict=True)) for values in pending_values]
            _withdraw(
                reading, index, {str(r["content_hash"]) for r in unindexed_rows if is_secret(r)}
            )
            yield from _in_parts(kind, _public(reading, kind, unindexed_rows))


def changes_between(history: History, base: CommitId, tip: CommitId) -> Changes | None:
    """Find the changes between two commits; None if compaction has removed `base`."""
    try:
        return history.changes(base, Ref(commit=tip))
    except (NotFound, StoreUnavailable):
        return None


def in_pages(
    reading: Reading, kind: Kind, columns: tuple[str, ...], query: Query
) -> Iterator[list[tuple[Cell, ...]]]:
    """Read columns of many rows, the first of which is the id, `PAGE` rows at once, by id."""
    last_id: str | None = ""
    while last_id is not None:
        rows = reading.scan(kind, columns, replace(query, above=last_id, limit=PAGE))
        yield rows
        last_id = str(rows[-1][0]) if len(rows) >= PAGE else None


def _texts(reading: Reading, kind: Kind, query: Query) -> dict[str, str]:
    hashes_and_texts = reading.scan(kind, ("content_hash", str(kind.text)), query)
    return {str(content_hash): str(text) for content_hash, text in hashes_and_texts}


def _public(reading: Reading, kind: Kind, rows: Sequence[Row]) -> dict[str, str]:
    """Return the texts of rows by hash, without secret rows and rows derived from hidden ones."""
    hidden_ids = {row["id"] for row in rows if is_secret(row)}
    derived_ids = [str(row["id"]) for row in rows if kind is FACT and may_derive(row)]
    if derived_ids:
        query = Query(among={"id": derived_ids}, public=True)
        public_ids_and_hashes = reading.scan(FACT, ("id", "content_hash"), query)
        hidden_ids |= {*derived_ids} - {
            row_id for row_id, text_hash in public_ids_and_hashes if text_hash != REDACTED_HASH
        }
    return {
        str(row["content_hash"]): str(row[str(kind.text)])
        for row in rows
        if row["id"] not in hidden_ids
    }


def _in_parts(kind: Kind, texts: dict[str, str]) -> Iterator[_Texts]:
    """Split texts into batches for the index, without redacted ones, which nobody may find."""
    public_texts = (item for item in texts.items() if item[0] != REDACTED_HASH)
    while batch := dict(islice(public_texts, _AT_ONCE)):
        yield kind, batch


def _nearest(tip: CommitId, history: History, index: Index) -> CommitId | None:
    """Find the indexed commit nearest to `tip`, counted in first parents to a common commit.

    Only the cursors that moved last are compared; None if no cursor shares a past with `tip`.
    """
    cursor_commits = list(dict.fromkeys(cursor.commit for cursor in index.words.cursors()))
    depth_by_commit = {
        commit.id: depth for depth, commit in enumerate(islice(history.log(tip), _MAX_COMMITS))
    }
    nearest_commit, least_distance = None, 2 * _MAX_COMMITS
    for cursor_commit in cursor_commits[:_MAX_CURSORS]:
        max_steps = min(least_distance, _MAX_COMMITS)  # more could only find a greater distance
        try:
            for steps, commit in enumerate(islice(history.log(cursor_commit), max_steps)):
                if commit.id in depth_by_commit:
                    distance = steps + depth_by_commit[commit.id]
                    if distance < least_distance:
                        nearest_commit, least_distance = cursor_commit, distance
                    break
        except NotFound:  # compaction has removed the commit
            continue
    return nearest_commit
