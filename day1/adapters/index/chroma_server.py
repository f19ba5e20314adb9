"""Approximate nearest neighbours by a Chroma server that all machines of a store share.

A collection belongs to one store. The id of a row is the hash of its text and the number of its
passage, so it is the same on every machine. Each machine adds the missing rows that it has
embedded, in any order; adding a row twice is harmless. A machine marks in its `index.db` which rows
it has added, under the id of the collection. A collection that was lost and created again has
another id, so it is filled again. Each machine removes redacted texts.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np

from day1.adapters.index.chroma import Neighbours
from day1.adapters.index.chroma_address import ChromaAddress
from day1.adapters.index.database import Database
from day1.adapters.index.sign_bits import Integers
from day1.adapters.index.vector_space import VectorSpace
from day1.model.rows.kind import KINDS, Kind

log = logging.getLogger(__name__)

_TIMEOUT_S = 5.0
"""Seconds that a search waits for an answer, at most; comparing 50,000 vectors takes 8 ms."""


class ServerNeighbours(Neighbours):
    """The server's collections, named as in `facts-minilm-l6-v2-384-3f9c2a71d0b4` (store last)."""

    shared = True
    _away = "the Chroma server does not answer"
    _longest_rest_s = 0.0

    def __init__(self, database: Database, address: ChromaAddress) -> None:
        """Prepare without a connection; `update_neighbours` connects."""
        super().__init__(database)
        self._address = address
        self._forgotten: set[str] = set()
        self._store = ""

    def discard(self) -> None:
        """Do nothing: other machines share the server."""

    def forget(self, hashes: Collection[str]) -> None:
        """Remove texts at the next update; each process passes all redacted texts as it starts."""
        with self._guard:
            self._forgotten.update(hashes)

    def _open(self, spaces: Sequence[VectorSpace]) -> None:
        self._shut()
        self._store = self._store or self._address.store()
        self._generation = self._database.generation()
        self._client = _client(self._address)
        for space in spaces:
            for kind in KINDS:
                if kind.text:
                    self._collection(space, kind)

    def _name(self, space: VectorSpace, kind: Kind) -> str:
        return f"{super()._name(space, kind)}-{self._store}"

    def _metadata(self) -> dict[str, str]:
        return {"store": self._store}

    def _mark_of(self, space: VectorSpace, kind: Kind) -> str:
        return str(self._collections[space.number, kind.table].id)

    def _positions(
        self, space: VectorSpace, kind: Kind, ids: list[str]
    ) -> tuple[Integers, Integers]:
        """Find the file's rows of ids; leaves out texts that this machine has not indexed yet."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT v.position, wanted.key FROM json_each(?1) AS wanted"
                " CROSS JOIN texts AS t ON t.kind = ?2"
                " AND t.content_hash = substr(wanted.value, 1, instr(wanted.value, '.') - 1)"
                " CROSS JOIN vectors AS v ON v.text = t.id AND v.space = ?3"
                " AND v.passage = CAST(substr(wanted.value, instr(wanted.value, '.') + 1) AS INT)",
                (json.dumps(ids), kind.table, space.number),
            ).fetchall()
        positions, places_in_ids = np.array(rows, np.int64).reshape(-1, 2).T
        return positions, places_in_ids

    def _put(self, collection: Any, positions: list[int], space: VectorSpace) -> None:
        with self._database.reading() as connection:
            passage_rows = connection.execute(
                "SELECT t.content_hash, v.passage, v.position FROM json_each(?) AS wanted"
                " CROSS JOIN vectors AS v ON v.space = ? AND v.position = wanted.value"
                " CROSS JOIN texts AS t ON t.id = v.text",
                (json.dumps(positions), space.number),
            ).fetchall()
        row_by_id = {
            f"{text_hash}.{passage_number}": (position, text_hash)
            for text_hash, passage_number, position in passage_rows
        }
        present_ids = (
            set(collection.get(ids=list(row_by_id), include=[])["ids"]) if row_by_id else set()
        )
        new_row_by_id = {
            row_id: row for row_id, row in row_by_id.items() if row_id not in present_ids
        }
        if new_row_by_id:
            collection.upsert(
                ids=list(new_row_by_id),
                embeddings=space.snapshot().rows(
                    np.array([row_position for row_position, _ in new_row_by_id.values()], np.int64)
                ),
                metadatas=[{"text": text_hash} for _, text_hash in new_row_by_id.values()],
            )

    def _feed_all(self, spaces: Sequence[VectorSpace], enough: Callable[[], bool] | None) -> bool:
        with self._guard:
            forgotten_hashes, self._forgotten = self._forgotten, set()
        try:
            if forgotten_hashes:
                for collection in self._collections.values():
                    collection.delete(where={"text": {"$in": sorted(forgotten_hashes)}})
            return super()._feed_all(spaces, enough)
        except Exception:
            self.forget(forgotten_hashes)  # once more, at the next update
            raise

    def _delete_forgotten(self, space: VectorSpace, kind: Kind, collection: Any) -> None:
        """Only clear the list of this machine's rows: `forget` removes the texts."""
        del collection
        with self._database.writing() as connection:
            statement = "DELETE FROM forgotten WHERE space = ? AND kind = ?"
            connection.execute(statement, (space.number, kind.table))

    def _mend(self, error: BaseException) -> None:
        """Do nothing: other machines share the server."""


def _client(address: ChromaAddress) -> Any:
    import chromadb  # noqa: PLC0415 - takes a second, which only a long-running process needs
    import httpx  # noqa: PLC0415 - the HTTP client that chromadb uses
    from chromadb.config import Settings  # noqa: PLC0415 - imported with it

    host, port, uses_tls = address.place
    headers = {"Authorization": f"Bearer {address.token}"} if address.token else {}
    # The client itself has no timeout.
    httpx.get(f"{address.url.rstrip('/')}/api/v2/heartbeat", headers=headers, timeout=_TIMEOUT_S)
    client: Any = chromadb.HttpClient(
        host,
        port,
        ssl=uses_tls,
        headers=headers,
        settings=Settings(_env_file=None, anonymized_telemetry=False),
    )
    client._server._session.timeout = httpx.Timeout(_TIMEOUT_S)  # there is no option for it
    return client
