"""An index in this process's memory, for unit tests.

A text's score by words is ten times the terms that it has, over one more than its words: so
more matching terms and shorter texts come first. Vectors are compared exactly, one for each text.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from day1.model.rows.kind import Kind
from day1.model.search.wording import Match, any_of
from day1.ports.index import Again, Cursor, EmbedFirst, TextId


def _words(text: str) -> str:
    """The words of a text in lower case, each between blanks."""
    words = re.findall(r"[^\W_]+", text.lower())
    return f" {' '.join(words)} "


def meets(text: str, match: Match) -> bool:
    """Whether a text meets a match."""
    if match.how == "phrase":
        return _words(match.words) in _words(text)
    parts = (meets(text, part) for part in match.parts)
    return all(parts) if match.how == "all" else any(parts)


class MemoryWords:
    """`ports.index.Words`."""

    def __init__(self) -> None:
        self.learned: dict[tuple[str, str], tuple[TextId, str]] = {}
        self.at: dict[str, Cursor] = {}

    def cursor(self, key: str) -> Cursor | None:
        return self.at.get(key)

    def cursors(self) -> list[Cursor]:
        return list(reversed(self.at.values()))

    def move(self, key: str, cursor: Cursor) -> None:
        self.at.pop(key, None)
        self.at[key] = cursor

    def lose_cursors(self) -> None:
        self.at.clear()

    def known(self, kind: Kind, hashes: Sequence[str]) -> dict[str, TextId]:
        keys = [(kind.table, one) for one in hashes]
        return {key[1]: self.learned[key][0] for key in keys if key in self.learned}

    def learn(self, kind: Kind, texts: Mapping[str, str]) -> None:
        for content, text in texts.items():
            self.learned.setdefault((kind.table, content), (len(self.learned), text))

    def of_kind(self, kind: Kind) -> dict[TextId, str]:
        return {n: text for (table, _), (n, text) in self.learned.items() if table == kind.table}

    def best(self, kind: Kind, match: Match, limit: int) -> dict[TextId, float]:
        phrases = match.parts or (match,)
        found = {n: _score(text, phrases) for n, text in self.of_kind(kind).items()}
        best = sorted((n for n in found if found[n]), key=lambda n: (-found[n], -n))
        return {n: found[n] for n in best[:limit]}

    def newest(self, kind: Kind, match: Match, limit: int) -> list[TextId]:
        found = [n for n, text in self.of_kind(kind).items() if meets(text, match)]
        return sorted(found, reverse=True)[:limit]

    def scores(
        self, kind: Kind, terms: Sequence[str], texts: Sequence[TextId], *, again: Again = False
    ) -> dict[TextId, float]:
        wanted = set(texts)
        found = self.best(kind, any_of(*terms), len(self.learned)) if terms else {}
        return {number: score for number, score in found.items() if number in wanted}

    def each(
        self, kind: Kind, terms: Sequence[str], texts: Sequence[TextId], *, again: Again = False
    ) -> list[dict[TextId, float]]:
        return [self.scores(kind, [term], texts) for term in terms]

    def hashes(self, kind: Kind, texts: Sequence[TextId]) -> dict[TextId, str]:
        wanted = set(texts)
        found = self.learned.items()
        return {n: h for (table, h), (n, _) in found if n in wanted and table == kind.table}

    def texts(self, kind: Kind, texts: Sequence[TextId]) -> dict[TextId, str]:
        wanted = set(texts)
        return {number: text for number, text in self.of_kind(kind).items() if number in wanted}


def _score(text: str, phrases: Sequence[Match]) -> float:
    count = sum(meets(text, one) for one in phrases)
    return 10 * count / (1 + len(text.split()))


class MemoryVectors:
    """`ports.index.Vectors` without approximate neighbours."""

    def __init__(self, words: MemoryWords) -> None:
        self.words = words
        self.of: dict[TextId, Any] = {}

    def _all(self) -> dict[TextId, str]:
        return dict(self.words.learned.values())

    def pending(self, embedder: Any) -> int:
        return len(self.waiting(embedder, list(self._all())))

    def waiting(self, embedder: Any, texts: Sequence[TextId]) -> list[TextId]:
        return [text for text in texts if text not in self.of]

    def embed(
        self,
        embedder: Any,
        limit: int,
        *,
        wait: bool = False,
        first: EmbedFirst | None = None,
        enough: Callable[[], bool] | None = None,
    ) -> int:
        texts = self._all()
        order = dict.fromkeys([*(first.texts if first else ()), *sorted(texts, reverse=True)])
        for number in self.waiting(embedder, list(order))[:limit]:
            (self.of[number],) = embedder.embed([texts[number]])
        return self.pending(embedder)

    def cosines(self, embedder: Any, vector: Any, texts: Sequence[TextId]) -> dict[TextId, float]:
        return {n: float(self.of[n] @ vector) for n in texts if n in self.of}

    def nearest(
        self, embedder: Any, vector: Any, texts: Sequence[TextId], limit: int
    ) -> tuple[dict[TextId, float], int]:
        found = self.cosines(embedder, vector, texts)
        best = sorted(found, key=lambda n: -found[n])[:limit]
        return {n: found[n] for n in best}, len(texts) - len(found)

    def neighbours(self, kind: Kind, embedder: Any, vector: Any, limit: int) -> None:
        return None

    def closest(self, kind: Kind, embedder: Any, vector: Any, limit: int) -> list[TextId]:
        return list(self.nearest(embedder, vector, list(self.words.of_kind(kind)), limit)[0])

    def trouble(self) -> str | None:
        return None

    def likeness(self, embedder: Any, pairs: Sequence[tuple[TextId, TextId]]) -> list[float]:
        return [float(self.of[a] @ self.of[b]) for a, b in pairs if {a, b} <= self.of.keys()]

    def pairs(
        self,
        embedder: Any,
        some: Sequence[TextId],
        others: Sequence[TextId],
        above: float,
    ) -> list[tuple[TextId, TextId, float]]:
        """The pairs that are alike; each text has its vector at once."""
        texts = self._all()
        vectors = {
            number: embedder.embed(embedder.passages(texts[number])[:1])[0]
            for number in {*some, *others}
        }
        pairs = [(a, b, float(vectors[a] @ vectors[b])) for a in some for b in others]
        return [pair for pair in pairs if pair[2] > above]

    def all_pairs(self, embedder: Any, texts: Sequence[TextId]) -> tuple[list[TextId], Any]:
        """The cosines of all pairs; each text has its vector at once."""
        known = self._all()
        vectors = [embedder.embed(embedder.passages(known[n])[:1])[0] for n in texts]
        return list(texts), np.array([[float(a @ b) for b in vectors] for a in vectors])

    def several_passages(self, embedder: Any, texts: Sequence[TextId]) -> dict[TextId, int]:
        return {}

    def best_passages(
        self, embedder: Any, vector: Any, texts: Sequence[TextId]
    ) -> dict[TextId, int]:
        return {}


class MemoryIndex:
    """Words and vectors, and a generation that tests change as they like."""

    read_only = False

    def __init__(self) -> None:
        self.words: Any = MemoryWords()
        self.vectors: Any = MemoryVectors(self.words)
        self.made = "first"
        self.contents: dict[tuple[str, str], bytes] = {}

    def kept(self, name: str) -> memoryview | None:
        content = self.contents.get((name, self.made))
        return None if content is None else memoryview(content)

    def keep(self, name: str, edition: str, content: bytes) -> None:
        self.contents[name, edition] = content

    def generation(self) -> str:
        return self.made

    def edition(self) -> str:
        return self.made

    def in_memory(self) -> "MemoryIndex":
        return MemoryIndex()
