"""The index: words and vectors of distinct texts of all branches.

It is derived and local. A text is known by kind and content hash, and has a number in the index.
Entries stay when a row is removed, since SQL decides which rows are visible. Who finds the files
damaged makes new ones and raises `IndexLost`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from day1.errors import StoreUnavailable
from day1.model.rows.change import CommitId
from day1.model.rows.kind import Kind
from day1.model.search.wording import Match
from day1.ports.embedder import Embedder

if TYPE_CHECKING:  # numpy costs 0.1 s to import and is not needed to name a type
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Matrix = NDArray[np.float32]

TextId = int
"""The index's number of a kind and content hash; never used twice."""
Again = bool | Sequence[TextId]
"""Whether the same texts will be searched again; or the texts by which words are weighed."""


class IndexLost(StoreUnavailable):
    """The index was damaged and is empty now: index the branches again."""


class IndexBehind(StoreUnavailable):
    """The index cannot be written now (busy, disk full, read-only): it lacks the newest texts."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A state whose words are all indexed: a commit, and pending rows up to an instant."""

    commit: CommitId
    newest: int | None
    """The newest `created_at` of the pending rows that were indexed; None if there were none."""


@dataclass(frozen=True, slots=True)
class EmbedFirst:
    """Texts to embed before all others, in their order, for a question."""

    texts: Sequence[TextId] = ()
    terms: Sequence[str] = ()
    """Words or phrases; of a long text the passage with most of them comes first."""


class Words(Protocol):
    """The keyword side: one entry for each distinct text of a kind.

    Each method may raise `IndexLost`; `learn` and `move` also `IndexBehind`.
    """

    def cursor(self, key: str) -> Cursor | None:
        """Return the state up to which a branch, by its id, is indexed; a commit is its own key."""

    def cursors(self) -> list[Cursor]:
        """List every cursor, the one that moved last first."""

    def move(self, key: str, cursor: Cursor) -> None:
        """Record that the words of a state are all indexed."""

    def lose_cursors(self) -> None:
        """Delete all cursors, so that every branch is indexed anew."""

    def known(self, kind: Kind, hashes: Sequence[str]) -> dict[str, TextId]:
        """Return the numbers of texts by content hash; texts that are not indexed are left out."""

    def learn(self, kind: Kind, texts: Mapping[str, str]) -> None:
        """Index texts by content hash; those that are indexed stay as they are."""

    def best(self, kind: Kind, match: Match, limit: int) -> dict[TextId, float]:
        """Return the best matching texts of all branches, best first, with their BM25.

        BM25 is above 0; a higher one is better.
        """

    def newest(self, kind: Kind, match: Match, limit: int) -> list[TextId]:
        """Return the matching texts that were learned last, newest first.

        Unlike `best` it costs what the rarest words of the match cost, in a store of any size.
        """

    def scores(
        self, kind: Kind, terms: Sequence[str], texts: Sequence[TextId], *, again: Again = False
    ) -> dict[TextId, float]:
        """Return the BM25 of the `texts` that have any of `terms`: the sum of those from `each`."""

    def each(
        self, kind: Kind, terms: Sequence[str], texts: Sequence[TextId], *, again: Again = False
    ) -> list[dict[TextId, float]]:
        """Return, for each word or phrase of `terms`, the BM25 of those of `texts` that have it.

        With `again`, as for a small space, the same texts will be asked for again: their words may
        be remembered, and a term is then weighed by a count of texts that is a tenth off at most.
        Where `again` names texts, terms are weighed as if the index had no others.
        """

    def hashes(self, kind: Kind, texts: Sequence[TextId]) -> dict[TextId, str]:
        """Return the content hashes of texts by number; `texts` leaves out the same texts."""

    def texts(self, kind: Kind, texts: Sequence[TextId]) -> dict[TextId, str]:
        """Return texts by number; those of other kinds, and deleted ones, are left out."""


class Vectors(Protocol):
    """The vector side: one vector for each passage of a text and each embedder.

    Each method may raise `IndexLost`. A `vector` has shape (dimension,) and length 1.
    """

    def pending(self, embedder: Embedder) -> int:
        """Count the texts without a vector of this embedder."""

    def waiting(self, embedder: Embedder, texts: Sequence[TextId]) -> list[TextId]:
        """Return those of `texts` that have no vector of this embedder."""

    def embed(
        self,
        embedder: Embedder,
        limit: int,
        *,
        wait: bool = False,
        first: EmbedFirst | None = None,
        enough: Callable[[], bool] | None = None,
    ) -> int:
        """Embed texts without vectors, some `limit` passages; returns how many are left.

        Those of `first` come first, in their order, then the newest. One process does this at a
        time. With `wait` others wait for it, else they do nothing.

        `enough` is asked after each stride of the embedder. When it says so, texts that are done
        are kept, and the passages of one that is not are kept in memory for the next time: the
        text is compared by them, but still counts as one without a vector. With `enough` and terms,
        one passage of each of `first` is embedded before the others of any.

        Raises:
            EmbedderUnavailable: there is no model.
            IndexBehind: nothing can be written now.
        """

    def nearest(
        self, embedder: Embedder, vector: Vector, texts: Sequence[TextId], limit: int
    ) -> tuple[dict[TextId, float], int]:
        """Return the nearest of `texts` by their best passage, nearest first, with their cosines.

        The result is exact. The second value is the number of `texts` without a vector.
        """

    def neighbours(
        self, kind: Kind, embedder: Embedder, vector: Vector, limit: int
    ) -> list[TextId] | None:
        """Find approximately the nearest texts of all branches; a text may occur twice.

        None if this process could only tell by comparing all.
        """

    def closest(self, kind: Kind, embedder: Embedder, vector: Vector, limit: int) -> list[TextId]:
        """Find the nearest texts of all branches, nearest first, each once.

        Among many texts a few of the nearest may be missing. Fewer than `limit` are all that have
        vectors.
        """

    def trouble(self) -> str | None:
        """Return why approximate neighbours are missing; None if they work or are not needed."""

    def cosines(
        self, embedder: Embedder, vector: Vector, texts: Sequence[TextId]
    ) -> dict[TextId, float]:
        """Return the cosine of the best passage of each of `texts` that has vectors."""

    def likeness(self, embedder: Embedder, pairs: Sequence[tuple[TextId, TextId]]) -> list[float]:
        """Return the cosine of the first passages of each pair of texts that both have vectors."""

    def pairs(
        self,
        embedder: Embedder,
        some: Sequence[TextId],
        others: Sequence[TextId],
        above: float,
    ) -> list[tuple[TextId, TextId, float]]:
        """List alike pairs of `some` and `others`, each with the cosine of their first passages.

        Texts without vectors are left out.
        """

    def all_pairs(
        self, embedder: Embedder, texts: Sequence[TextId]
    ) -> tuple[list[TextId], Matrix] | None:
        """Compare texts with one another.

        Returns:
            The texts that have vectors, and the cosines of their first passages: a row and a column
            for each. None if this embedder has no vectors here.
        """

    def several_passages(self, embedder: Embedder, texts: Sequence[TextId]) -> dict[TextId, int]:
        """Return how many passages each of `texts` has, for those that have several."""

    def best_passages(
        self, embedder: Embedder, vector: Vector, texts: Sequence[TextId]
    ) -> dict[TextId, int]:
        """Return the number of the nearest passage, from 0, of each of `texts` with several."""


class Index(Protocol):
    """The search index: a keyword side, a vector side, and methods that serve both."""

    @property
    def words(self) -> Words:
        """The keyword side."""

    @property
    def vectors(self) -> Vectors:
        """The vector side."""

    @property
    def read_only(self) -> bool:
        """Whether the index is read-only."""

    def size(self) -> int:
        """Return the bytes that the index's files take on disk."""

    def generation(self) -> str:
        """Return a value that changes when the index is rebuilt; numbers of texts are void then."""

    def edition(self) -> str:
        """Return a value that changes with the generation, and when texts were taken out."""

    def in_memory(self) -> Index:
        """Make an empty index of words in this process's memory."""

    def check(self) -> None:
        """Read the whole index, and compare hashes and checksums.

        Raises:
            IndexLost: a part was damaged.
        """

    def forget(self, hashes: Collection[str]) -> None:
        """Delete words and vectors of texts of every kind (redaction); twice is harmless.

        Raises:
            IndexBehind: nothing can be written now.
        """

    def kept(self, name: str) -> memoryview | None:
        """Return the content that `keep` wrote under a name; None if it is missing or damaged."""

    def keep(self, name: str, edition: str, content: bytes) -> None:
        """Write content that searches derived from rows; it replaces content of the same name.

        All processes of a store read it, until the edition is another one than the given one.
        Nothing is written if the index cannot be written now.
        """

    def update_neighbours(self, enough: Callable[[], bool] | None = None) -> bool:
        """Bring the approximate neighbours up to date, which an idle process does.

        `enough` is asked after each batch of rows; when it says so, no further batch is added.
        Returns whether more is to be done.
        """

    def close(self) -> None:
        """Close files; the last to close `index.db` writes its WAL back."""
