"""The index: words and vectors of distinct texts, whatever branch they are on.

It is derived and local. A text is known by kind and content hash and has a number of its own here;
entries are added and never follow a row's removal, since which rows are visible is for SQL to say.
Whoever finds its files damaged begins them anew and raises `IndexLost`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from day1.errors import StoreUnavailable
from day1.model.rows.change import CommitId
from day1.model.rows.kind import Kind
from day1.ports.embedder import Embedder

if TYPE_CHECKING:  # numpy costs 0.1 s to import and is not needed to name a type
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]

TextId = int
"""The index's own number of a (kind, content hash); never used twice."""


class IndexLost(StoreUnavailable):
    """The index was damaged and is empty now: follow the branches again."""


class IndexBehind(StoreUnavailable):
    """The index cannot be written now (busy, disk full, read-only): its answers lag."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A state whose words are all indexed: a commit, and later rows up to an instant."""

    commit: CommitId
    newest: int | None
    """The newest `created_at` seen among rows that no commit held; None if there were none."""


class Words(Protocol):
    """The keyword side: one entry for each distinct text of a kind.

    Each method may raise `IndexLost`; `learn` and `move` also `IndexBehind`.
    """

    def cursor(self, key: str) -> Cursor | None:
        """How far a branch id was followed; a past commit is its own key."""

    def cursors(self) -> list[Cursor]:
        """Every cursor, the last moved first."""

    def move(self, key: str, cursor: Cursor) -> None:
        """Say that the words of a state are all indexed."""

    def known(self, kind: Kind, hashes: Sequence[str]) -> dict[str, TextId]:
        """The texts that are indexed, by content hash; others are left out."""

    def learn(self, kind: Kind, texts: Mapping[str, str]) -> None:
        """Index texts, by content hash; those that are known stay as they are."""

    def best(self, kind: Kind, match: str, limit: int) -> dict[TextId, float]:
        """The best texts for an FTS5 expression over all branches, best first, with their BM25.

        BM25 is above 0, and the more the better.
        """

    def scores(self, kind: Kind, match: str, texts: Sequence[TextId]) -> dict[TextId, float]:
        """BM25 of those of `texts` in which any word of the expression occurs."""

    def texts(self, kind: Kind, texts: Sequence[TextId]) -> dict[TextId, str]:
        """The texts themselves; those of other kinds, or forgotten ones, are left out."""


class Vectors(Protocol):
    """The vector side: one vector for each passage of a text and each embedder.

    Each method may raise `IndexLost`. A `vector` has shape (dimension,) and length 1.
    """

    def pending(self, embedder: Embedder) -> int:
        """How many texts have no vector of this embedder yet."""

    def embed(self, embedder: Embedder, limit: int, *, wait: bool = False) -> int:
        """Give the newest waiting texts their vectors, some `limit` passages of them.

        One process does this at a time: another's turn is waited for, or with `wait` unset nothing
        is done. Returns how many texts still wait.

        Raises:
            EmbedderUnavailable: there is no model.
            IndexBehind: nothing can be written now.
        """

    def nearest(
        self, embedder: Embedder, vector: Vector, texts: Sequence[TextId], limit: int
    ) -> tuple[dict[TextId, float], int]:
        """The nearest of `texts` by their best passage, nearest first, with their cosines.

        Exactly; also how many of `texts` have no vector.
        """

    def neighbours(
        self, kind: Kind, embedder: Embedder, vector: Vector, limit: int
    ) -> list[TextId] | None:
        """The nearest texts of all branches, approximately, nearest first; not each once.

        None when this process has nothing that can tell without comparing all.
        """

    def approximate(self) -> bool:
        """Whether `neighbours` may give an answer in this process."""

    def trouble(self) -> str | None:
        """Why there are no approximate neighbours though there should be, if so it is."""

    def cosines(
        self, embedder: Embedder, vector: Vector, texts: Sequence[TextId]
    ) -> dict[TextId, float]:
        """The cosine of the best passage of each of `texts` that has vectors."""

    def pairs(
        self,
        embedder: Embedder,
        some: Sequence[TextId],
        others: Sequence[TextId],
        above: float,
    ) -> list[tuple[TextId, TextId, float]]:
        """Pairs of one of `some` and one of `others` with a cosine above a bound.

        First passages are compared; texts without vectors are left out.
        """

    def best_passages(
        self, embedder: Embedder, vector: Vector, texts: Sequence[TextId]
    ) -> dict[TextId, int]:
        """Which passage is the nearest, from 0, of those of `texts` that are cut."""


class Index(Protocol):
    """Both sides and what they share."""

    @property
    def words(self) -> Words:
        """The keyword side."""

    @property
    def vectors(self) -> Vectors:
        """The vector side."""

    @property
    def read_only(self) -> bool:
        """Whether nothing can be learned here."""

    def generation(self) -> str:
        """Changes when the index was begun anew: numbers of texts mean nothing then."""

    def in_memory(self) -> Index:
        """An empty index of this process's own, for words, which needs no file."""

    def check(self) -> None:
        """Read all of it and compare what has a hash or a checksum.

        Raises:
            IndexLost: something was damaged.
        """

    def forget(self, hashes: Collection[str]) -> None:
        """Delete words and vectors of texts, of every kind (redaction); twice is harmless.

        Raises:
            IndexBehind: nothing can be written now.
        """

    def tend(self) -> bool:
        """Do what an idle process can do: take over and feed the approximate neighbours.

        Returns whether more is to be done.
        """

    def close(self) -> None:
        """Let go of files; `index.db` is whole without its WAL then if nobody else has it open."""
