"""Approximate nearest neighbours by Chroma's own files, in one process at a time.

A Chroma client never sees what another process writes after the client was opened. So a process
takes a lock before it opens Chroma, and keeps the lock until it ends. (A Chroma server is used in
another way: `chroma_server`.) `index.db` tells what Chroma holds: all rows of a kind before the
`fed` mark. The later rows are few and are compared exactly. chromadb takes a second to import, so
only `update_neighbours` imports it.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from day1.adapters.flock import LockHandle
from day1.adapters.index.database import Database
from day1.adapters.index.lock import FileLock
from day1.adapters.index.sign_bits import Integers
from day1.adapters.index.space_snapshot import top
from day1.adapters.index.vector_space import VectorSpace
from day1.errors import Day1Error
from day1.model.rows.kind import KINDS, Kind
from day1.ports.index import TextId

if TYPE_CHECKING:  # a name for what numpy gives
    from day1.ports.index import Vector

log = logging.getLogger(__name__)

FOLDER = "chroma"

# On 50,000 real texts that come in 50 near-equal versions, the first ten were all among 200
# neighbours in 99 of 100 questions (with 16, 100, 400 in 90). A question takes 4 to 8 ms.
_GRAPH = {"space": "ip", "max_neighbors": 32, "ef_construction": 200, "ef_search": 400}
_ENDED = 2
"""Number of processes that died while opening Chroma's files at which these count as damaged."""
_FED_AT_ONCE = 250
_FED_IN_A_TICK = 5_000
_LONGEST_TAIL = 20_000
"""Maximum number of rows not yet in Chroma; with more, comparing all visible vectors is better."""


class Neighbours:
    """Chroma's collections, one for each kind and space, named as in `facts-minilm-l6-v2-384`."""

    shared = False
    """Whether processes that do not hold Chroma's lock may query it too."""
    _away = "Chroma cannot be opened"
    """The message in the log and in answers while Chroma cannot be queried."""
    _longest_rest_s = 300.0
    """Longest pause after a failure, in seconds; pauses grow: 0, 2, 6, 14, …"""

    def __init__(self, database: Database) -> None:
        """Prepare without opening Chroma; `update_neighbours` opens it."""
        self._database = database
        self._folder = database.folder / FOLDER
        self._opening = database.folder / f"{FOLDER}.opening"
        self._lock = FileLock(database.folder / f"{FOLDER}.lock", 0.0)
        self._guard = threading.RLock()
        self._owned: LockHandle | None = None
        self._client: Any = None
        self._collections: dict[tuple[int, str], Any] = {}
        self._generation = ""
        self._failed, self._again = 0, 0.0
        """Failures since the last success, and the monotonic time of the next attempt."""

    def ready(self) -> bool:
        """Whether this process has Chroma open."""
        return self._client is not None

    def trouble(self) -> str | None:
        """Return the note for searches while Chroma fails; None if it works or is not used."""
        return f"{self._away}: the search compared all vectors" if self._failed else None

    def ask(
        self, kind: Kind, space: VectorSpace, vector: Vector, limit: int
    ) -> list[TextId] | None:
        """Find the nearest texts, nearest first, perhaps repeated; None if Chroma cannot answer."""
        collection = self._collections.get((space.number, kind.table))
        if collection is None or self._generation != self._database.generation():
            return None
        rows_outside_chroma = self._not_fed(space, kind, _LONGEST_TAIL + 1)
        if len(rows_outside_chroma) > _LONGEST_TAIL:
            return None
        try:
            answer = collection.query(
                query_embeddings=[vector], n_results=limit, include=["distances"]
            )
        except Exception as error:  # noqa: BLE001 - a failure here only makes searching slower
            with self._guard:
                if self._collections.get((space.number, kind.table)) is collection:
                    self._lose(error)  # otherwise it was closed meanwhile
            return None
        rows_in_chroma, places_in_answer = self._positions(space, kind, answer["ids"][0])
        outside_positions = np.array(rows_outside_chroma, np.int64)
        snapshot = space.snapshot()
        cosines = 1 - np.array(answer["distances"][0], np.float32)[places_in_answer]
        positions = np.concatenate([rows_in_chroma, outside_positions])
        scores = np.concatenate([cosines, snapshot.rows(outside_positions) @ vector])
        text_ids = snapshot.text_of[positions[top(scores, limit)]]
        return [int(text_id) for text_id in text_ids if text_id >= 0]

    def update_neighbours(
        self, spaces: Sequence[VectorSpace], enough: Callable[[], bool] | None = None
    ) -> bool:
        """Take Chroma's lock if it is free and add new rows; return whether rows are missing.

        `enough` is asked after each batch of rows; when it says so, no further batch is added.
        """
        with self._guard:
            if time.monotonic() < self._again:
                return False
            if self._owned is None:
                self._owned = self._lock.take(wait=False)
            if self._owned is None and not self.shared:
                return False
            try:
                if self._client is None or self._generation != self._database.generation():
                    self._open(spaces)
                has_missing_rows = self._owned is not None and self._feed_all(spaces, enough)
            except Day1Error:  # about the index's own files
                raise
            except BaseException as error:  # a panic in Chroma is not an Exception
                self._lose(error)
                if not isinstance(error, Exception):
                    raise
                return self._failed == 1
            if self._failed:
                log.warning("Chroma answers again")
            self._failed = 0
            return has_missing_rows

    def discard(self) -> None:
        """Delete Chroma's files, which an earlier version made, if no process has them open.

        They are derived, and would keep the vectors of texts that are redacted later.
        """
        with self._guard, self._lock.held(wait=False) as got_lock:
            if got_lock:
                self._empty()

    def forget(self, hashes: Collection[str]) -> None:
        """Do nothing: the table `forgotten` lists the rows to remove."""

    def close(self) -> None:
        """Close Chroma and release its lock."""
        with self._guard:
            self._shut()
            if self._owned is not None:
                self._owned.close()
                self._owned = None

    def _open(self, spaces: Sequence[VectorSpace]) -> None:
        """Open the folder and try every collection.

        A damaged file of Chroma can kill the process. So a marker file exists while the folder is
        opened, one byte longer after each process that died here. One may have been killed by
        chance; after two in a row the folder is emptied and filled again.
        """
        self._shut()
        with self._opening.open("ab") as marker_file:
            if marker_file.tell() >= _ENDED:
                log.warning("chroma/ failed to open repeatedly: it is emptied and filled again")
                self._empty()
            marker_file.write(b".")
        self._generation = self._database.generation()
        self._client = _client(self._folder)
        for collection in self._client.list_collections():
            if (collection.metadata or {}).get("generation") != self._generation:
                self._client.delete_collection(collection.name)
        for space in spaces:
            zero_vector = np.zeros((1, space.dimension), np.float32)
            for kind in KINDS:
                if kind.text:
                    collection = self._collection(space, kind)
                    collection.query(query_embeddings=zero_vector, n_results=1, include=[])
        self._opening.unlink()

    def _collection(self, space: VectorSpace, kind: Kind) -> Any:
        collection = self._collections.get((space.number, kind.table))
        if collection is None:
            collection = self._client.get_or_create_collection(
                self._name(space, kind),
                embedding_function=None,
                metadata=self._metadata(),
                configuration={"hnsw": _GRAPH},
            )
            self._collections[space.number, kind.table] = collection
            if collection.count() < self._count_fed(space, kind):  # new, or an older copy
                self._mark(space, kind, 0)
        return collection

    def _name(self, space: VectorSpace, kind: Kind) -> str:
        return f"{kind.table}-{space.safe_name}"

    def _metadata(self) -> dict[str, str]:
        return {"generation": self._generation}

    def _mark_of(self, space: VectorSpace, kind: Kind) -> str:
        """Return the value of `kind` that a collection of `space` has in the table `neighbours`."""
        del space
        return kind.table

    def _positions(
        self, space: VectorSpace, kind: Kind, ids: list[str]
    ) -> tuple[Integers, Integers]:
        """Return the file's rows that `ids` name, and the places of these ids in `ids`."""
        del space, kind
        return np.array(ids, np.int64), np.arange(len(ids))

    def _put(self, collection: Any, positions: list[int], space: VectorSpace) -> None:
        vectors = space.snapshot().rows(np.array(positions, np.int64))
        collection.upsert(ids=[str(position) for position in positions], embeddings=vectors)

    def _feed_all(self, spaces: Sequence[VectorSpace], enough: Callable[[], bool] | None) -> bool:
        has_missing_rows = False
        for space in spaces:
            for kind in KINDS:
                if kind.text:
                    has_missing_rows |= self._feed(space, kind, enough)
                    if has_missing_rows and enough is not None and enough():
                        return True
        return has_missing_rows

    def _feed(self, space: VectorSpace, kind: Kind, enough: Callable[[], bool] | None) -> bool:
        """Add the next rows of a kind; return whether it may have more."""
        collection = self._collection(space, kind)
        self._delete_forgotten(space, kind, collection)
        positions = self._not_fed(space, kind, _FED_IN_A_TICK)
        for start in range(0, len(positions), _FED_AT_ONCE):
            batch_positions = positions[start : start + _FED_AT_ONCE]
            self._put(collection, batch_positions, space)
            self._mark(space, kind, batch_positions[-1] + 1)
            if enough is not None and enough():
                return True
        return len(positions) == _FED_IN_A_TICK

    def _not_fed(self, space: VectorSpace, kind: Kind, limit: int) -> list[int]:
        with self._database.reading() as connection:
            cursor = connection.execute(
                "SELECT v.position FROM vectors AS v JOIN texts AS t ON t.id = v.text"
                " WHERE v.space = ? AND t.kind = ? AND v.position >= ?"
                " ORDER BY v.position LIMIT ?",
                (space.number, kind.table, self._fed(space, kind), limit),
            )
            return [position for (position,) in cursor]

    def _count_fed(self, space: VectorSpace, kind: Kind) -> int:
        with self._database.reading() as connection:
            cursor = connection.execute(
                "SELECT count(*) FROM vectors AS v JOIN texts AS t ON t.id = v.text"
                " WHERE v.space = ? AND t.kind = ? AND v.position < ?",
                (space.number, kind.table, self._fed(space, kind)),
            )
            return int(cursor.fetchone()[0])

    def _fed(self, space: VectorSpace, kind: Kind) -> int:
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT fed FROM neighbours WHERE space = ? AND kind = ?",
                (space.number, self._mark_of(space, kind)),
            ).fetchone()
        return int(row[0]) if row else 0

    def _mark(self, space: VectorSpace, kind: Kind, fed: int) -> None:
        with self._database.writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO neighbours VALUES (?, ?, ?)",
                (space.number, self._mark_of(space, kind), fed),
            )

    def _delete_forgotten(self, space: VectorSpace, kind: Kind, collection: Any) -> None:
        space_and_kind = (space.number, kind.table)
        with self._database.reading() as connection:
            statement = "SELECT position FROM forgotten WHERE space = ? AND kind = ?"
            forgotten_ids = [
                str(position) for (position,) in connection.execute(statement, space_and_kind)
            ]
        if forgotten_ids:
            collection.delete(ids=forgotten_ids)
            with self._database.writing() as connection:
                statement = "DELETE FROM forgotten WHERE space = ? AND kind = ? AND position = ?"
                connection.executemany(
                    statement, [(*space_and_kind, int(row_id)) for row_id in forgotten_ids]
                )

    def _lose(self, error: BaseException) -> None:
        """Close Chroma after an error, and set the time of the next attempt."""
        if not self._failed:
            log.warning("%s: %s", self._away, type(error).__name__)
        self._failed += 1
        pause_s = min(2.0 ** min(self._failed, 16) - 2, self._longest_rest_s)
        self._again = time.monotonic() + pause_s
        self._shut()
        self._mend(error)

    def _mend(self, error: BaseException) -> None:
        """Empty the folder if the error is Chroma's own, not one of day1."""
        from chromadb.errors import ChromaError  # noqa: PLC0415 - imported with the client

        if isinstance(error, ChromaError):
            log.warning("chroma/ is damaged: it is emptied and filled again")
            with suppress(Day1Error):  # wrong marks are corrected when Chroma is opened
                self._empty()
        if isinstance(error, Exception):  # after a panic the marker file stays
            with suppress(OSError):
                self._opening.unlink(missing_ok=True)

    def _shut(self) -> None:
        client, self._client, self._collections = self._client, None, {}
        if client is not None:
            try:
                client.close()
            except Exception:  # noqa: BLE001 - the client is dropped, whatever the error
                log.warning("Chroma could not be closed")

    def _empty(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        with self._database.writing() as connection:
            connection.execute("DELETE FROM neighbours")


def _client(folder: Path) -> Any:
    import chromadb  # noqa: PLC0415 - a second that only the owner pays
    from chromadb.api.shared_system_client import SharedSystemClient  # noqa: PLC0415 - as chromadb
    from chromadb.config import Settings  # noqa: PLC0415 - as chromadb

    # Otherwise it also reads a `.env` in the current folder.
    settings = Settings(_env_file=None, anonymized_telemetry=False)
    try:
        return chromadb.PersistentClient(str(folder), settings)
    except BaseException:
        # chromadb caches a client that failed to open, and the next client would fail too.
        SharedSystemClient.clear_system_cache()
        raise
