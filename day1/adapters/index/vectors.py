"""The vector side of the index: embedding texts and comparing vectors."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from typing_extensions import override

from day1.adapters.index.database import CHROMA_FILE, Database, generation_of, rows_written
from day1.adapters.index.embedding_order import Passage, best_by_words, in_strides
from day1.adapters.index.words import as_text
from day1.model.rows.kind import Kind
from day1.model.values.callbacks import KillPoint, no_kill_point
from day1.ports.embedder import Embedder
from day1.ports.index import EmbedFirst, TextId, Vectors

if TYPE_CHECKING:  # both bring numpy, which costs 0.1 s; keyword search does without
    from day1.adapters.index.chroma import Neighbours
    from day1.adapters.index.vector_space import VectorSpace
    from day1.ports.index import Matrix, Vector

_MOST_BEGUN = 1_024
"""Maximum number of vectors that are kept of texts not embedded completely."""
_PENDING = """
SELECT CASE (SELECT count(*) FROM spaces) WHEN 1 THEN (SELECT count(*) FROM waiting)
    ELSE (SELECT count(*) FROM waiting WHERE space = ?) END"""
"""A query for the number of texts that wait. Without a condition SQLite counts by pages: a million
texts in 5 ms, otherwise in 60."""


class FileVectors(Vectors):
    """`ports.index.Vectors` in files of float32, compared by numpy or found by Chroma."""

    def __init__(
        self,
        database: Database,
        make_chroma: Callable[[], Neighbours] | None,
        chroma_above: int = 0,
    ) -> None:
        """Use the index's file; without `make_chroma` there are no approximate neighbours.

        Chroma is opened when a space has more than `chroma_above` vectors: with fewer, the
        comparison of signs is as quick, and its own graph takes memory and time.
        """
        self._make_chroma = make_chroma
        self._chroma_above = chroma_above
        self.point: KillPoint = no_kill_point
        self._database = database
        self._chroma: Neighbours | None = None
        self._guard = threading.Lock()
        self._spaces: dict[tuple[str, int], VectorSpace] = {}
        self._known: dict[tuple[str, str, int], VectorSpace] = {}

    @override
    def pending(self, embedder: Embedder) -> int:
        space_number = self._number(embedder)  # not the space, which imports numpy
        with self._database.reading() as connection:
            if space_number is None:  # an embedder that a read-only index does not know
                cursor = connection.execute("SELECT count(*) FROM texts")
            else:
                cursor = connection.execute(_PENDING, (space_number,))
            return int(cursor.fetchone()[0])

    @override
    def waiting(self, embedder: Embedder, texts: Sequence[TextId]) -> list[TextId]:
        space_number = self._number(embedder)
        if space_number is None:
            return list(texts)
        with self._database.reading() as connection:
            cursor = connection.execute(
                "SELECT w.text FROM json_each(?) AS wanted"
                " CROSS JOIN waiting AS w ON w.space = ? AND w.text = wanted.value",
                (json.dumps(texts), space_number),
            )
            return [text_id for (text_id,) in cursor]

    @override
    def embed(
        self,
        embedder: Embedder,
        limit: int,
        *,
        wait: bool = False,
        first: EmbedFirst | None = None,
        enough: Callable[[], bool] | None = None,
    ) -> int:
        pending_count = self.pending(embedder)
        if pending_count == 0 or limit == 0 or self._database.read_only:
            return pending_count
        with self._database.embedding.held(wait=wait) as got_lock:
            space = self._space(embedder) if got_lock else None
            if space is not None:
                space.sweep()
                self._embed(space, embedder, limit, first or EmbedFirst(), enough)
        return self.pending(embedder)

    def _embed(
        self,
        space: VectorSpace,
        embedder: Embedder,
        limit: int,
        first: EmbedFirst,
        enough: Callable[[], bool] | None,
    ) -> None:
        """Embed waiting texts in order, and store those that are embedded completely."""
        begun_vectors = space.begun
        passage_counts: dict[TextId, int] = {}
        with space.reading() as connection:
            waiting_texts = _waiting(connection, space.number, first.texts, limit)
        hasty_texts = frozenset(first.texts if enough and first.terms else ())

        def passages() -> Iterator[Passage]:
            vectors_left = limit
            later_passages: list[Passage] = []
            for text_id, waiting_text in waiting_texts.items():
                numbered_passages = enumerate(embedder.passages(waiting_text))
                all_passages = [(text_id, number, passage) for number, passage in numbered_passages]
                if text_id in hasty_texts:
                    best_place = best_by_words(all_passages, first.terms)
                    later_passages += all_passages[:best_place] + all_passages[best_place + 1 :]
                    passages_to_embed = all_passages[best_place : best_place + 1]
                else:
                    passages_to_embed = all_passages
                vectors_left -= len(passages_to_embed)
                if passage_counts and vectors_left < 0:
                    return
                passage_counts[text_id] = len(all_passages)
                yield from (entry for entry in passages_to_embed if entry[:2] not in begun_vectors)
            yield from (entry for entry in later_passages if entry[:2] not in begun_vectors)

        for batch in in_strides(passages(), embedder.stride if enough else None):
            vectors = embedder.embed([passage for _, _, passage in batch])
            begun_vectors.update(
                zip(((text_id, number) for text_id, number, _ in batch), vectors, strict=True)
            )
            if enough is not None and enough():
                break
        completed_texts = [
            (text_id, count)
            for text_id, count in passage_counts.items()
            if all((text_id, number) in begun_vectors for number in range(count))
        ]
        stored_keys = [
            (text_id, number) for text_id, count in completed_texts for number in range(count)
        ]
        if completed_texts:
            self._store(space, completed_texts, [begun_vectors[key] for key in stored_keys])
        for key in (*stored_keys, *list(begun_vectors)[: -len(stored_keys) - _MOST_BEGUN]):
            begun_vectors.pop(key, None)

    def _store(
        self, space: VectorSpace, texts: list[tuple[TextId, int]], vectors: list[Vector]
    ) -> None:
        """Write the file first, then `index.db`: a crash between leaves rows that are not used."""
        with space.reading() as connection:
            first_row = rows_written(connection, space.number)
        space.write(vectors, first_row)
        self.point("embed.vectors_written")
        vector_rows, next_row = [], first_row
        for text_id, count in texts:
            vector_rows += [
                (space.number, next_row + number, text_id, number) for number in range(count)
            ]
            next_row += count
        with space.writing() as connection:
            connection.executemany("INSERT INTO vectors VALUES (?, ?, ?, ?)", vector_rows)
            waiting_keys = [(space.number, text_id) for text_id, _ in texts]
            connection.executemany("DELETE FROM waiting WHERE space = ? AND text = ?", waiting_keys)
            connection.execute(
                "UPDATE spaces SET vectors = ? WHERE id = ?", (next_row, space.number)
            )
            self.point("embed.before_commit")

    @override
    def nearest(
        self, embedder: Embedder, vector: Vector, texts: Sequence[TextId], limit: int
    ) -> tuple[dict[TextId, float], int]:
        space = self._space(embedder)
        if space is None or not texts:
            return {}, len(texts)
        cosines, missing_count = space.snapshot().nearest(vector, texts, limit)
        begun_cosines = space.begun_cosines(vector, texts)
        if begun_cosines:
            ranking = sorted((begun_cosines | cosines).items(), key=lambda item: -item[1])
            cosines = dict(ranking[:limit])
        return cosines, missing_count

    @override
    def neighbours(
        self, kind: Kind, embedder: Embedder, vector: Vector, limit: int
    ) -> list[TextId] | None:
        if self._chroma is None or not self._chroma.ready():
            return None
        space = self._space(embedder)
        return None if space is None else self._chroma.ask(kind, space, vector, limit)

    @override
    def closest(self, kind: Kind, embedder: Embedder, vector: Vector, limit: int) -> list[TextId]:
        space = self._space(embedder)
        if space is None:
            return []
        nearest_texts: list[TextId] = []
        for candidates in space.snapshot().closest(vector, limit):
            nearest_texts = self._of_kind(kind, candidates)  # drops other kinds and repetitions
            if len(nearest_texts) >= limit:
                break
        return nearest_texts[:limit]

    def _of_kind(self, kind: Kind, texts: list[TextId]) -> list[TextId]:
        """Choose the texts of a kind, each once, in the same order."""
        with self._database.reading() as connection:
            cursor = connection.execute(
                "SELECT t.id FROM json_each(?) AS wanted"
                " CROSS JOIN texts AS t ON t.id = wanted.value AND t.kind = ? ORDER BY wanted.key",
                (json.dumps(texts), kind.table),
            )
            return list(dict.fromkeys(text_id for (text_id,) in cursor))

    def approximate(self) -> bool:
        """Whether `neighbours` can answer in this process."""
        return self._chroma is not None and self._chroma.ready()

    @override
    def cosines(
        self, embedder: Embedder, vector: Vector, texts: Sequence[TextId]
    ) -> dict[TextId, float]:
        space = self._space(embedder)
        if space is None or not texts:
            return {}
        cosines = space.snapshot().cosines(vector, texts)
        return space.begun_cosines(vector, texts) | cosines

    @override
    def likeness(self, embedder: Embedder, pairs: Sequence[tuple[TextId, TextId]]) -> list[float]:
        space = self._space(embedder)
        return [] if space is None else space.snapshot().likeness(pairs)

    @override
    def pairs(
        self,
        embedder: Embedder,
        some: Sequence[TextId],
        others: Sequence[TextId],
        above: float,
    ) -> list[tuple[TextId, TextId, float]]:
        space = self._space(embedder)
        return [] if space is None else space.snapshot().pairs(some, others, above)

    @override
    def all_pairs(
        self, embedder: Embedder, texts: Sequence[TextId]
    ) -> tuple[list[TextId], Matrix] | None:
        space = self._space(embedder)
        return None if space is None else space.snapshot().all_pairs(texts)

    @override
    def several_passages(self, embedder: Embedder, texts: Sequence[TextId]) -> dict[TextId, int]:
        space = self._space(embedder)
        return {} if space is None else space.snapshot().several_passages(texts)

    @override
    def best_passages(
        self, embedder: Embedder, vector: Vector, texts: Sequence[TextId]
    ) -> dict[TextId, int]:
        space = self._space(embedder)
        return {} if space is None else space.snapshot().best_passages(vector, texts)

    def check(self) -> None:
        """Compare every vector with its checksum."""
        for space in self._all():
            space.check()

    @override
    def trouble(self) -> str | None:
        return None if self._chroma is None else self._chroma.trouble()

    def forget(self, texts: Mapping[TextId, Kind], hashes: Collection[str]) -> None:
        """Delete the vectors of texts: in the file at once, in Chroma when Chroma is next updated.

        A Chroma server may have texts, by their `hashes`, that this machine does not have.
        """
        chroma = self._made_chroma()
        if chroma is not None:
            chroma.forget(hashes)
        if not texts:
            return
        with self._database.embedding.held(wait=True):
            for space in self._all():
                with space.writing() as connection:
                    positions: list[int] = []
                    for text_id, kind in texts.items():
                        deleted_rows = connection.execute(
                            "DELETE FROM vectors WHERE space = ? AND text = ? RETURNING position",
                            (space.number, text_id),
                        ).fetchall()
                        positions += [position for (position,) in deleted_rows]
                        connection.executemany(
                            "INSERT INTO forgotten VALUES (?, ?, ?)",
                            [(space.number, kind.table, position) for (position,) in deleted_rows],
                        )
                    space.blank(positions)

    def update_neighbours(self, enough: Callable[[], bool] | None = None) -> bool:
        """Open Chroma if it is free and add new rows; return whether more rows are missing."""
        if self._make_chroma is None:
            return False
        spaces = self._all()
        with self._database.reading() as connection:
            most_rows = max((rows_written(connection, space.number) for space in spaces), default=0)
        is_needed = most_rows > self._chroma_above or self.approximate()
        has_files = (self._database.folder / CHROMA_FILE).exists()
        chroma = self._made_chroma() if is_needed or has_files else None
        if chroma is not None and not is_needed:
            chroma.discard()
        return chroma is not None and is_needed and chroma.update_neighbours(spaces, enough)

    def close(self) -> None:
        """Close Chroma, so that another process can open it."""
        if self._chroma is not None:
            self._chroma.close()

    def _made_chroma(self) -> Neighbours | None:
        """Return the client of Chroma, made when first needed, since it imports numpy."""
        with self._guard:
            if self._chroma is None and self._make_chroma is not None:
                self._chroma = self._make_chroma()
            return self._chroma

    def _all(self) -> list[VectorSpace]:
        with self._database.reading() as connection:
            generation = generation_of(connection)
            space_rows = connection.execute("SELECT id, name, dimension FROM spaces").fetchall()
        return [self._opened(generation, *space_row) for space_row in space_rows]

    def _space(self, embedder: Embedder) -> VectorSpace | None:
        """Find or create the embedder's space; None if missing in a read-only index."""
        generation = self._database.generation()  # before the number, which may be of a newer one
        space_key = (generation, embedder.name, embedder.dimension)
        space = self._known.get(space_key)
        if space is None:
            space_number = self._number(embedder)
            if space_number is not None:
                space = self._opened(generation, space_number, embedder.name, embedder.dimension)
                self._known[space_key] = space
        return space

    def _opened(self, generation: str, number: int, name: str, dimension: int) -> VectorSpace:
        from day1.adapters.index.vector_space import VectorSpace  # noqa: PLC0415 - brings numpy

        space_key = (generation, number)
        with self._guard:
            if space_key not in self._spaces:
                self._spaces[space_key] = VectorSpace(
                    self._database, generation, number, name, dimension
                )
            return self._spaces[space_key]

    def _number(self, embedder: Embedder) -> int | None:
        name_and_dimension = (embedder.name, embedder.dimension)
        statement = "SELECT id FROM spaces WHERE name = ? AND dimension = ?"
        with self._database.reading() as connection:
            row = connection.execute(statement, name_and_dimension).fetchone()
            if row is not None:
                return int(row[0])
        if self._database.read_only:
            return None
        with self._database.writing() as connection:
            row = connection.execute(statement, name_and_dimension).fetchone()
            if row is None:  # otherwise another caller made it, and may have embedded texts since
                row = connection.execute(
                    "INSERT INTO spaces (name, dimension) VALUES (?, ?) RETURNING id",
                    name_and_dimension,
                ).fetchone()
                connection.execute("INSERT INTO waiting SELECT ?, id FROM texts", row)
            return int(row[0])


def _waiting(
    connection: sqlite3.Connection, space: int, preferred: Sequence[TextId], limit: int
) -> dict[TextId, str]:
    """Find up to `limit` texts without vectors: those of `preferred` in order, then the newest."""
    preferred_rows = connection.execute(
        "SELECT t.id, t.text FROM json_each(?) AS wanted"
        " CROSS JOIN waiting AS w ON w.space = ? AND w.text = wanted.value"
        " CROSS JOIN texts AS t ON t.id = w.text ORDER BY wanted.key LIMIT ?",
        (json.dumps(preferred), space, limit),
    ).fetchall()
    newest_rows = connection.execute(
        "SELECT t.id, t.text FROM waiting AS w JOIN texts AS t ON t.id = w.text"
        " WHERE w.space = ? ORDER BY w.text DESC LIMIT ?",
        (space, limit),
    ).fetchall()
    ids_and_texts = islice(dict(preferred_rows + newest_rows).items(), limit)
    return {text_id: as_text(text) for text_id, text in ids_and_texts}
