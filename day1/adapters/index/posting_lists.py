"""BM25 of many texts, from posting lists in memory: which texts have a term, and how often.

FTS5 scores every text that has a term anew for each question, and reads the size of each from the
file. Here a term's texts are read once; for the next question only new texts are read. The scores
are those of FTS5's `bm25`.

Imports numpy, which costs 0.1 s: only `words.py` imports this module, on first use.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from day1.adapters.index.bm25 import (
    Stemmer,
    bm25,
    decoded_sizes,
    extent,
    integers,
    stems_in,
    texts_of,
    times,
    weight_of,
)
from day1.adapters.index.database import edition_of, fts5_expression, words_of
from day1.model.rows.kind import Kind
from day1.model.search.wording import phrase
from day1.ports.index import TextId

_MAX_POSTINGS = 4_000_000
"""Maximum number of postings in the cache, of 5 bytes each."""
_MAX_EACH = 8
"""With many texts: the number of postings in the cache for each text, at most."""
_MAX_ADDED = 500
"""New texts with a term up to which these are read; with more, all of its postings are."""
_PLACES = 2**32
"""A number that is greater than any place of a stem in a text."""
_LEAST_SCORE = 5e-324
"""The least number above 0: the score of a text without any term is 0."""

Integers = NDArray[np.int32]
Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Sizes:
    """The numbers of stems of all texts of one kind."""

    total: int = 0
    """The number of texts."""
    length: int = 0
    """The number of stems of all texts."""
    of: Integers = field(default_factory=lambda: np.zeros(1, np.int32))
    """By text number; 0 for texts of other kinds."""

    @property
    def last(self) -> int:
        """The highest text number."""
        return len(self.of) - 1


@dataclass(frozen=True, slots=True)
class _Postings:
    """The texts with a term."""

    texts: Integers
    """Text numbers, ascending."""
    times: NDArray[np.integer]
    """How often each text has the term."""
    last: int
    """The highest number of a text that was looked at."""

    def scores(self, sizes: _Sizes, places: NDArray[np.intp] | slice = slice(None)) -> Scores:
        """Return the BM25 of the texts at some places of the list."""
        mean_size = sizes.length / max(1, sizes.total)
        weight = weight_of(len(self.texts), sizes.total)
        return bm25(weight, self.times[places], sizes.of[self.texts[places]], mean_size)


class PostingLists:
    """Posting lists of the terms that were searched for last; threads may share it."""

    def __init__(self) -> None:
        """Begin with an empty cache."""
        self._guard = threading.Lock()
        self._edition = ""
        """The value of `Database.edition` when the cache was filled: numbers may change with it."""
        self._sizes: dict[str, _Sizes] = {}
        """By FTS5 table."""
        self._postings: OrderedDict[tuple[str, str], _Postings] = OrderedDict()
        """By FTS5 table and term; those that were used last come last."""
        self._posting_count = 0
        """The number of postings in all lists."""
        self._stemmer = Stemmer()

    def best(
        self,
        connection: sqlite3.Connection,
        kind: Kind,
        terms: Sequence[str],
        limit: int,
    ) -> dict[TextId, float] | None:
        """Return the answer of `Words.best` for any of `terms`; None while another thread reads."""
        sizes_and_lists = self._read(connection, kind, terms)
        if sizes_and_lists is None:
            return None
        sizes, postings_of_terms = sizes_and_lists
        scores = np.zeros(sizes.last + 1)
        for postings in postings_of_terms:
            scores[postings.texts] += postings.scores(sizes)
        matching_texts = np.flatnonzero(scores >= _lowest(scores, postings_of_terms, limit))
        if len(matching_texts) > limit:
            lowest_best_score = np.partition(scores[matching_texts], -limit)[-limit]
            matching_texts = matching_texts[scores[matching_texts] >= lowest_best_score]
        best_texts = matching_texts[np.lexsort((-matching_texts, -scores[matching_texts]))][:limit]
        return dict(zip(best_texts.tolist(), scores[best_texts].tolist(), strict=True))

    def each(
        self,
        connection: sqlite3.Connection,
        kind: Kind,
        terms: Sequence[str],
        texts: Sequence[TextId],
    ) -> list[dict[TextId, float]] | None:
        """Return the answer of `Words.each`; None while another thread reads."""
        sizes_and_lists = self._read(connection, kind, terms)
        if sizes_and_lists is None:
            return None
        sizes, postings_of_terms = sizes_and_lists
        wanted_texts = np.array(sorted(set(texts)), np.int32)

        def among_wanted(postings: _Postings) -> dict[TextId, float]:
            # The list is long and sorted, and few texts are wanted.
            first_places = np.searchsorted(postings.texts, wanted_texts)
            end_places = np.searchsorted(postings.texts, wanted_texts, side="right")
            places: NDArray[np.intp] = first_places[first_places < end_places]
            scores = postings.scores(sizes, places).tolist()
            return dict(zip(postings.texts[places].tolist(), scores, strict=True))

        return [among_wanted(postings) for postings in postings_of_terms]

    def _read(
        self, connection: sqlite3.Connection, kind: Kind, terms: Sequence[str]
    ) -> tuple[_Sizes, list[_Postings]] | None:
        """Return the sizes of all texts and the postings of each term, read if they are not known.

        Returns None while another thread reads, which may take a second: FTS5 answers meanwhile.
        """
        if not self._guard.acquire(blocking=False):
            return None
        try:
            connection.execute("BEGIN")  # all that is read is to be of one state
            edition = edition_of(connection)
            if edition != self._edition:
                self._sizes, self._postings, self._edition = {}, OrderedDict(), edition
                self._posting_count = 0
            sizes = self._sizes_now(connection, words_of(kind.table))
            postings_of_terms = [
                self._postings_now(connection, kind, term, sizes.last) for term in terms
            ]
            connection.execute("COMMIT")
            self._shrink(max(_MAX_POSTINGS, _MAX_EACH * sizes.total))
            return sizes, postings_of_terms
        finally:
            self._guard.release()

    def _sizes_now(self, connection: sqlite3.Connection, words: str) -> _Sizes:
        """Return the sizes of all texts; those of new ones are read."""
        cached_sizes = self._sizes.get(words, _Sizes())
        text_total, stem_total = extent(connection, words)
        if (text_total, stem_total) != (cached_sizes.total, cached_sizes.length):
            statement = f"SELECT id, sz FROM {words}_docsize WHERE id > ? ORDER BY id"  # noqa: S608 - our own names
            rows = connection.execute(statement, (cached_sizes.last,)).fetchall()
            last_number = rows[-1][0] if rows else cached_sizes.last
            size_by_number = np.zeros(last_number + 1, np.int32)
            size_by_number[: len(cached_sizes.of)] = cached_sizes.of
            text_numbers = np.fromiter((text_number for text_number, _ in rows), np.int64)
            size_by_number[text_numbers] = decoded_sizes([record for _, record in rows])
            cached_sizes = self._sizes[words] = _Sizes(text_total, stem_total, size_by_number)
        return cached_sizes

    def _postings_now(
        self, connection: sqlite3.Connection, kind: Kind, term: str, last: int
    ) -> _Postings:
        """Return the postings of a term; those of new texts, up to the number `last`, are read."""
        table_and_term = (words_of(kind.table), term)
        postings = self._postings.pop(table_and_term, None)
        self._posting_count -= 0 if postings is None else len(postings.texts)
        if postings is None:
            postings = self._all_postings(connection, kind, term, last)
        elif postings.last < last:
            postings = self._extended(connection, kind, term, postings, last)
        self._postings[table_and_term] = postings
        self._posting_count += len(postings.texts)
        return postings

    def _extended(
        self, connection: sqlite3.Connection, kind: Kind, term: str, known: _Postings, last: int
    ) -> _Postings:
        """Add the postings of new texts."""
        words_table = words_of(kind.table)
        matching_rows = connection.execute(
            f"SELECT rowid FROM {words_table}"  # noqa: S608 - our own names
            f" WHERE {words_table} MATCH ? AND rowid > ? ORDER BY rowid LIMIT ?",
            (fts5_expression(phrase(term)), known.last, _MAX_ADDED + 1),
        )
        matching_numbers = [text_number for (text_number,) in matching_rows]
        if len(matching_numbers) > _MAX_ADDED:
            return self._all_postings(connection, kind, term, last)
        numbers_and_texts = texts_of(connection, kind, matching_numbers)
        term_stems, *stems_of_texts = self._stemmer.cut(
            [term, *(text for _, text in numbers_and_texts)]
        )
        new_text_numbers = np.array([text_number for text_number, _ in numbers_and_texts], np.int32)
        new_times = np.array(
            [times(term_stems, text_stems) for text_stems in stems_of_texts], np.int32
        )
        return _Postings(
            np.concatenate([known.texts, new_text_numbers]),
            _short(np.concatenate([known.times, new_times])),
            last,
        )

    def _all_postings(
        self, connection: sqlite3.Connection, kind: Kind, term: str, last: int
    ) -> _Postings:
        """Read all postings of a term: a phrase is where its stems follow one another."""
        words_table = words_of(kind.table)
        connection.execute(
            f"CREATE VIRTUAL TABLE IF NOT EXISTS temp.{words_table}_stems"
            f" USING fts5vocab (main, {words_table}, instance)"
        )
        table_of_stems = f"FROM temp.{words_table}_stems WHERE term = ?"
        stems = stems_in(self._stemmer.cut([term])[0])
        if len(stems) == 1:  # most terms are one word, whose place does not matter
            query = f"SELECT group_concat(doc) {table_of_stems}"
            text_of_starts = np.sort(integers(connection, query, stems[0])[0])
            return _counted(text_of_starts, last)
        query = f"SELECT group_concat(doc), group_concat(offset) {table_of_stems}"
        term_starts: NDArray[np.int64] | None = None
        for stem_index, stem in enumerate(stems):
            texts, offsets = integers(connection, query, stem)
            possible_starts = texts * _PLACES + offsets - stem_index
            term_starts = (
                possible_starts
                if term_starts is None
                else np.intersect1d(term_starts, possible_starts)
            )
        if term_starts is None:
            term_starts = np.empty(0, np.int64)
        return _counted(np.sort(term_starts // _PLACES), last)

    def _shrink(self, most: int) -> None:
        """Forget the terms that were not used for longest, until `most` postings are left."""
        while self._posting_count > most and len(self._postings) > 1:
            _, removed_postings = self._postings.popitem(last=False)
            self._posting_count -= len(removed_postings.texts)


def _counted(texts: NDArray[np.int64], last: int) -> _Postings:
    """Return the postings of a term: each of the sorted texts, and how often it is there."""
    firsts = np.flatnonzero(np.diff(texts, prepend=-1))
    counts = np.diff(firsts, append=len(texts))
    return _Postings(texts[firsts].astype(np.int32), _short(counts), last)


def _lowest(scores: Scores, postings_of_terms: Sequence[_Postings], limit: int) -> float:
    """Return a score above 0 that at least the `limit` best texts have, if there are so many.

    The texts of one term tell it: of the rarest one that has enough.
    """
    long_lists = [postings for postings in postings_of_terms if len(postings.texts) >= limit]
    if not long_lists:
        return _LEAST_SCORE
    scores_of_term = scores[min(long_lists, key=lambda each: len(each.texts)).texts]
    return max(_LEAST_SCORE, float(np.partition(scores_of_term, -limit)[-limit]))


def _short(times: NDArray[np.integer]) -> NDArray[np.integer]:
    """Return counts as bytes if they fit: nearly all are below ten."""
    return times.astype(np.uint8 if times.max(initial=0) < 2**8 else np.int32)
