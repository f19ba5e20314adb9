"""An index in this process's memory, for unit tests: it knows texts by hash, and compares vectors.

It ranks nothing; whatever asks for that fails.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from day1.model.rows.kind import Kind
from day1.ports.embedder import Embedder
from day1.ports.index import Cursor, TextId


class MemoryWords:
    """The part of `ports.index.Words` that following a branch and views of it need."""

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

    def texts(self, kind: Kind, texts: Sequence[TextId]) -> dict[TextId, str]:
        wanted = set(texts)
        found = ((key, value) for key, value in self.learned.items() if value[0] in wanted)
        return {number: text for (table, _), (number, text) in found if table == kind.table}


class MemoryVectors:
    """The part of `ports.index.Vectors` that compares texts: each has its vector at once."""

    def __init__(self, words: MemoryWords) -> None:
        self._words = words

    def pairs(
        self,
        embedder: Embedder,
        some: Sequence[TextId],
        others: Sequence[TextId],
        above: float,
    ) -> list[tuple[TextId, TextId, float]]:
        texts = dict(self._words.learned.values())
        vectors = {
            number: embedder.embed(embedder.passages(texts[number])[:1])[0]
            for number in {*some, *others}
        }
        pairs = [
            (one, other, float(vectors[one] @ vectors[other])) for one in some for other in others
        ]
        return [pair for pair in pairs if pair[2] > above]


class MemoryIndex:
    """Words, vectors, and a generation that tests change as they like."""

    read_only = False

    def __init__(self) -> None:
        self.words: Any = MemoryWords()
        self.vectors: Any = MemoryVectors(self.words)
        self.made = "first"

    def generation(self) -> str:
        return self.made

    def edition(self) -> str:
        return self.made
