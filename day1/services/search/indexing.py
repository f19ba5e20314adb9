"""Indexing the texts that were added to a branch since it was last indexed.

The cursor of a branch says: the words of this commit, and of pending rows up to this time, are all
indexed. While the tip is that commit, rows can only have been added. If the tip has moved, the
difference between the two commits is read: by time alone, merged rows would be missed.
A past commit that is searched has a cursor of its own, under its id.
"""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

from day1.errors import NotFound, StoreUnavailable
from day1.model.redaction.basis import may_derive
from day1.model.redaction.mask import REDACTED_HASH
from day1.model.redaction.veil import SECRET, is_secret
from day1.model.rows.change import Changes, CommitId, Query, Ref
from day1.model.rows.kind import FACT, KINDS, Kind, Row
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
        step, self._last = now - self._last, now
        return now + step > self._end


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
    while texts_left := index.vectors.embed(embedder, EMBEDDED_AT_ONCE, wait=True):
        pass
    return texts_left


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
    why = "the folder is read-only" if index.read_only else "the index lags"
    return f"{why}: what was written last may not be found"


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
        key = branch_id or reading.tip
        state = Cursor(reading.tip, reading.pending.newest if branch_id else None)
        cursor = index.words.cursor(key)
        if cursor == state and (branch_id or not reading.pending.count):
            return True
        if index.read_only:
            return False
        started = time.monotonic()
        withheld = frozenset[str]() if self.live is None else secret_hashes(self.live)
        for kind, texts in _unseen(reading, self.history, index, cursor):
            if self.within_s is not None and time.monotonic() - started > self.within_s:
                return False
            index.words.learn(kind, {h: t for h, t in texts.items() if h not in withheld})
        if cursor != state:
            index.words.move(key, state)
        return True


def secret_hashes(reading: Reading) -> frozenset[str]:
    """Return the hashes of texts of a state's secret rows and of facts derived from them."""
    query = Query(equal={"sensitivity": SECRET})
    columns = ("id", "content_hash")
    rows = [
        dict(zip(columns, values, strict=True))
        for kind in INDEXED
        if "sensitivity" in kind.column
        for values in reading.scan(kind, columns, query)
    ]
    return frozenset({*(str(row["content_hash"]) for row in rows), *_made_of(reading, rows)})


def _made_of(reading: Reading, rows: Collection[Row]) -> dict[str, str]:
    """Return the texts of facts derived from these rows, by hash."""
    derived_ids = made_of(reading, [str(row["id"]) for row in rows]).words if rows else ()
    return _texts(reading, FACT, Query(among={"id": sorted(derived_ids)})) if derived_ids else {}


def withdraw_secrets(store: Store, index: Index, branch: str, hashes: Collection[str]) -> None:
    """Remove the texts of rows that have become secret from the index.

    If the index cannot be written now, the next indexing of the branch does it.
    """
    with suppress(IndexBehind, IndexLost), store.reading(Ref(branch=branch)) as reading:
        secret = Query(equal={"sensitivity": SECRET}, among={"content_hash": sorted(hashes)})
        kinds = (kind for kind in INDEXED if "sensitivity" in kind.column)
        rows: list[Row] = [{"id": i} for k in kinds for (i,) in reading.scan(k, ("id",), secret)]
        _withdraw(reading, index, {*hashes, *_made_of(reading, rows)})


def _withdraw(reading: Reading, index: Index, hashes: Collection[str]) -> None:
    """Remove texts from the index that only secret rows of a state have.

    On other branches the texts may not be secret: these are indexed again, which restores them.
    """
    if not hashes:
        return
    indexed = {h for kind in INDEXED for h in index.words.known(kind, list(hashes))}
    public_query = Query(among={"content_hash": sorted(indexed)}, public=True)
    kinds = INDEXED if indexed else ()
    public_hashes = {
        row[0] for kind in kinds for row in reading.scan(kind, ("content_hash",), public_query)
    }
    if indexed - public_hashes:
        index.words.lose_cursors()  # first: after a kill here, all states are read again
        index.forget(indexed - public_hashes)


def _unseen(
    reading: Reading, history: History, index: Index, cursor: Cursor | None
) -> Iterator[_Texts]:
    """Yield the texts that were added since the cursor, in parts."""
    newest_seen = cursor.newest if cursor else None
    if cursor is None or cursor.commit != reading.tip:
        newest_seen = None
        base = cursor.commit if cursor else _nearest(reading.tip, history, index)
        changes = None if base is None else changes_between(history, base, reading.tip)
        if changes is None:
            _withdraw(reading, index, secret_hashes(reading))
            for kind in INDEXED:
                yield from _in_parts(kind, _texts(reading, kind, Query(public=True)))
            return
        changed = [(kind, c) for kind in INDEXED for c in changes.get(kind.table, ())]
        secret = [c.after for _, c in changed if c.after and is_secret(c.after)]
        hashes = {str(row["content_hash"]) for row in secret}
        _withdraw(reading, index, hashes | _made_of(reading, secret).keys())
        for kind in INDEXED:
            rows = [c.after for k, c in changed if k is kind and c.after]
            yield from _in_parts(kind, _public(reading, kind, rows))
        formerly_secret = [c.before for _, c in changed if c.before and is_secret(c.before)]
        derived = _made_of(
            reading, [row for row in formerly_secret if row["id"] not in {r["id"] for r in secret}]
        )
        with_public_text = Query(among={"content_hash": sorted(derived)}, public=True)
        yield from _in_parts(FACT, _texts(reading, FACT, with_public_text) if derived else {})
    pending = reading.pending
    if pending.oldest is not None and pending.newest != newest_seen:
        since = pending.oldest - 1 if newest_seen is None else newest_seen
        for kind in INDEXED:
            wanted_columns = (
                "id",
                "content_hash",
                str(kind.text),
                "origin_id",
                "category",
                "sensitivity",
            )
            columns = [column for column in wanted_columns if column in kind.column]
            added = reading.scan(kind, columns, Query(created_after=since))
            rows = [dict(zip(columns, values, strict=True)) for values in added]
            _withdraw(reading, index, {str(r["content_hash"]) for r in rows if is_secret(r)})
            yield from _in_parts(kind, _public(reading, kind, rows))


def changes_between(history: History, base: CommitId, tip: CommitId) -> Changes | None:
    """Find the changes between two commits; None if compaction has removed `base`."""
    try:
        return history.changes(base, Ref(commit=tip))
    except (NotFound, StoreUnavailable):
        return None


def _texts(reading: Reading, kind: Kind, query: Query) -> dict[str, str]:
    rows = reading.scan(kind, ("content_hash", str(kind.text)), query)
    return {str(content_hash): str(text) for content_hash, text in rows}


def _public(reading: Reading, kind: Kind, rows: Sequence[Row]) -> dict[str, str]:
    """Return the texts of rows by hash, without secret rows and rows derived from hidden ones."""
    hidden = {row["id"] for row in rows if is_secret(row)}
    derived = [str(row["id"]) for row in rows if kind is FACT and may_derive(row)]
    if derived:
        query = Query(among={"id": derived}, public=True)
        rows_read = reading.scan(FACT, ("id", "content_hash"), query)
        hidden |= {*derived} - {row_id for row_id, hashed in rows_read if hashed != REDACTED_HASH}
    return {
        str(row["content_hash"]): str(row[str(kind.text)])
        for row in rows
        if row["id"] not in hidden
    }


def _in_parts(kind: Kind, texts: dict[str, str]) -> Iterator[_Texts]:
    """Split texts into batches for the index, without redacted ones, which nobody may find."""
    parts = (item for item in texts.items() if item[0] != REDACTED_HASH)
    while part := dict(islice(parts, _AT_ONCE)):
        yield kind, part


def _nearest(tip: CommitId, history: History, index: Index) -> CommitId | None:
    """Find the indexed commit nearest to `tip`, counted in first parents to a common commit.

    Only the cursors that moved last are compared; None if no cursor shares a past with `tip`.
    """
    cursors = list(dict.fromkeys(cursor.commit for cursor in index.words.cursors()))
    depth_by_commit = {
        c.id: depth for depth, c in enumerate(islice(history.log(tip), _MAX_COMMITS))
    }
    distances: list[tuple[int, CommitId]] = []
    for commit in cursors[:_MAX_CURSORS]:
        try:
            past = enumerate(islice(history.log(commit), _MAX_COMMITS))
            distances.extend(
                islice(
                    (
                        (distance + depth_by_commit[c.id], commit)
                        for distance, c in past
                        if c.id in depth_by_commit
                    ),
                    1,
                )
            )
        except NotFound:  # compaction has removed the commit
            continue
    return min(distances)[1] if distances else None
