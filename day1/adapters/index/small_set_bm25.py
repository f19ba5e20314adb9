"""BM25 scores for small sets of texts that are searched repeatedly, such as a small space's.

For each question FTS5 reads every text that has a word of it, which takes longer the more texts
all branches have. So for small sets the stems of each text are kept in memory, as FTS5 makes them.
The number of texts with a term is counted once, or estimated from the oldest and newest texts that
have it. The formula is that of FTS5's `bm25`.
"""

import sqlite3
import threading
from bisect import bisect_right
from collections.abc import Sequence

from day1.adapters.index.bm25 import Stemmer, bm25, extent, size_of, texts_of, times, weight_of
from day1.adapters.index.database import fts5_expression, words_of
from day1.model.rows.kind import Kind
from day1.model.search.wording import phrase
from day1.ports.index import TextId

_FEW = 20
"""Number of texts of a kind per wanted text from which this module is quicker than FTS5."""
_MAX_CACHED = 20_000
"""Maximum number of texts, and of terms, in the cache (some 300 bytes each), then emptied."""
_AT_ONCE = 500
_MANY = 10_000
"""Texts of a kind up to which those with a term are counted, not estimated."""
_END = 100
"""Number of oldest and of newest texts with a term that are read to estimate how many have it."""
_EACH = 61
"""One text in so many is sampled by its number; a prime, so that no pattern of writes fits."""


class SmallSetBm25:
    """Computes BM25 of small sets of texts from cached stems; threads may share it."""

    def __init__(self) -> None:
        """Begin with an empty cache."""
        self._guard = threading.Lock()
        self._stemmer = Stemmer()
        self._edition = ""
        self._texts: dict[TextId, tuple[int, str]] = {}
        """By text: the number of its stems, and all of them in one string."""
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}
        """By kind and term: the number of texts when counted, and of texts with the term."""
        self._numbers: dict[str, tuple[int, list[int]]] = {}
        """By FTS5 table: the number of texts when read, and the sorted numbers of sampled texts."""
        self._stems: dict[str, str] = {}

    def each(
        self,
        connection: sqlite3.Connection,
        edition: str,
        kind: Kind,
        terms: Sequence[str],
        texts: Sequence[TextId],
    ) -> list[dict[TextId, float]] | None:
        """Return the answer of `Words.each` if the texts are few among many; else None.

        `edition` changes when text numbers get another meaning or none.
        """
        text_total, stem_total = extent(connection, words_of(kind.table))
        if text_total < _FEW * len(texts):
            return None
        with self._guard:
            self._learn(connection, edition, kind, terms, texts)
            cached_texts = [
                (text_id, *self._texts[text_id]) for text_id in texts if text_id in self._texts
            ]
            scores_of_terms = []
            for term in terms:
                term_stems = self._stems[term]
                matching_texts = [
                    cached_text
                    for cached_text in cached_texts
                    if term_stems and term_stems in cached_text[2]
                ]
                weight = self._weight(connection, kind, term, text_total) if matching_texts else 0.0
                scores_of_terms.append(
                    _scores(term_stems, matching_texts, weight, stem_total / text_total)
                )
            return scores_of_terms

    def apart(
        self,
        connection: sqlite3.Connection,
        edition: str,
        kind: Kind,
        terms: Sequence[str],
        texts: Sequence[TextId],
    ) -> list[dict[TextId, float]]:
        """Return the answer of `Words.each` as if the index had no other texts."""
        with self._guard:
            self._learn(connection, edition, kind, terms, texts)
            cached_texts = [
                (text_id, *self._texts[text_id]) for text_id in texts if text_id in self._texts
            ]
            mean_size = sum(size for _, size, _ in cached_texts) / max(1, len(cached_texts))
            scores_of_terms = []
            for term in terms:
                term_stems = self._stems[term]
                matching_texts = [
                    cached_text
                    for cached_text in cached_texts
                    if term_stems and term_stems in cached_text[2]
                ]
                weight = weight_of(len(matching_texts), len(cached_texts))
                scores_of_terms.append(_scores(term_stems, matching_texts, weight, mean_size))
            return scores_of_terms

    def _learn(
        self,
        connection: sqlite3.Connection,
        edition: str,
        kind: Kind,
        terms: Sequence[str],
        texts: Sequence[TextId],
    ) -> None:
        """Add the stems of new texts and terms to the cache."""
        if edition != self._edition or max(len(self._texts), len(self._stems)) > _MAX_CACHED:
            self._texts, self._counts, self._numbers, self._stems = {}, {}, {}, {}
            self._edition = edition
        self._read(connection, kind, texts)
        new_terms = [term for term in terms if term not in self._stems]
        self._stems.update(zip(new_terms, self._stemmer.cut(new_terms), strict=True))

    def _read(self, connection: sqlite3.Connection, kind: Kind, texts: Sequence[TextId]) -> None:
        """Add the stems of new texts to the cache."""
        new_text_ids = [text_id for text_id in texts if text_id not in self._texts]
        for start in range(0, len(new_text_ids), _AT_ONCE):
            rows = texts_of(connection, kind, new_text_ids[start : start + _AT_ONCE])
            stems_of_texts = self._stemmer.cut([text for _, text in rows])
            for (text_id, _), text_stems in zip(rows, stems_of_texts, strict=True):
                self._texts[text_id] = size_of(text_stems), text_stems

    def _weight(self, connection: sqlite3.Connection, kind: Kind, term: str, total: int) -> float:
        """Return the weight of a term; the number of texts that have it is remembered.

        The number is counted again when so many texts came or went that it may differ by a tenth.
        """
        total_when_counted, frequency = self._counts.get((kind.table, term), (-1, 0))
        if total_when_counted < 0 or abs(total - total_when_counted) * 10 > frequency:
            total_when_counted, frequency = (
                total,
                self._having(connection, words_of(kind.table), term, total),
            )
            self._counts[kind.table, term] = total_when_counted, frequency
        return weight_of(frequency, total_when_counted)

    def _having(self, connection: sqlite3.Connection, words: str, term: str, total: int) -> int:
        """Return how many texts have a term: counted, or estimated when there are many.

        FTS5 needs longer to count more texts. The number is estimated if the oldest and the newest
        of many texts have the term about equally often.
        """
        from_clause = f"FROM {words} WHERE {words} MATCH ?"
        match_expression = fts5_expression(phrase(term))
        sample_counts, sampled_numbers = list[int](), self._spread(connection, words, total)
        for sort_order, aggregate_function in (
            (("ASC", "max"), ("DESC", "min")) if total > _MANY else ()
        ):
            read_count, last_number = connection.execute(
                f"SELECT count(*), {aggregate_function}(rowid)"  # noqa: S608 - our own names
                f" FROM (SELECT rowid {from_clause} ORDER BY rowid {sort_order} LIMIT {_END})",
                (match_expression,),
            ).fetchone()
            if read_count < _END:
                return int(read_count)
            samples_up_to_last = bisect_right(sampled_numbers, last_number)
            sample_counts.append(
                samples_up_to_last
                if sort_order == "ASC"
                else len(sampled_numbers) - samples_up_to_last
            )
            if sample_counts[0] * 2 > len(sampled_numbers):
                break
        if sample_counts[1:] and 0 < max(sample_counts) <= 2 * min(sample_counts):
            return min(total, 2 * _END * len(sampled_numbers) // sum(sample_counts))
        return int(
            connection.execute(f"SELECT count(*) {from_clause}", (match_expression,)).fetchone()[0]
        )

    def _spread(self, connection: sqlite3.Connection, words: str, total: int) -> list[int]:
        """Return the numbers of sampled texts; read again when a tenth of them came or went."""
        total_when_read, sampled_numbers = self._numbers.get(words, (0, []))
        if total > _MANY and abs(total - total_when_read) * 10 > total_when_read:
            statement = f"SELECT id FROM {words}_docsize WHERE id % {_EACH} = 0 ORDER BY id"  # noqa: S608 - a name of ours
            sampled_numbers = [number for (number,) in connection.execute(statement)]
            self._numbers[words] = total, sampled_numbers
        return sampled_numbers


def _scores(
    stem: str, matching: Sequence[tuple[TextId, int, str]], weight: float, mean_size: float
) -> dict[TextId, float]:
    """Compute the BM25 of texts with a stem, given each text's size and stems."""
    return {
        text_id: bm25(weight, times(stem, text_stems), size, mean_size)
        for text_id, size, text_stems in matching
    }
