"""Vectors by the embedding that a graph gives its store, made before anything is written."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from langgraph.store.base import (
    IndexConfig,
    Op,
    PutOp,
    SearchOp,
    ensure_embeddings,
    get_text_at_path,
)

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

Vector = Sequence[float]


@dataclass(frozen=True)
class Vectors:
    """The vectors of the texts and queries of a batch of operations."""

    documents: Mapping[str, Vector] = field(default_factory=dict)
    queries: Mapping[str, Vector] = field(default_factory=dict)


def fields_of(index: IndexConfig | None) -> list[str] | None:
    """Return the configured paths of the texts that search reads; None: the whole value.

    LangGraph's stores on SQL call them `text_fields`.
    """
    index_options: Mapping[str, Any] = {} if index is None else {**index}
    return index_options.get("fields") or index_options.get("text_fields")


class Embedding:
    """Embeds the texts and queries of a batch with the embedding of an `IndexConfig`."""

    def __init__(self, index: IndexConfig) -> None:
        """Use the embedding of `index`: an `Embeddings`, a function, or the name of a model."""
        self.embeddings: Embeddings = ensure_embeddings(index.get("embed"))
        self._dims = index.get("dims")
        self._fields = fields_of(index) or ["$"]

    def vectors(self, ops: Iterable[Op]) -> Vectors:
        """Embed the texts and queries of operations.

        Raises:
            ValueError: the embedding gave another number of vectors, or vectors of other lengths,
                than the configuration says.
        """
        texts, queries = self._asked(ops)
        text_vectors = self.embeddings.embed_documents(texts) if texts else []
        return self._checked(
            texts, text_vectors, {query: self.embeddings.embed_query(query) for query in queries}
        )

    async def avectors(self, ops: Iterable[Op]) -> Vectors:
        """Embed the texts and queries of operations on the running loop: see `vectors`."""
        texts, queries = self._asked(ops)
        text_vectors = await self.embeddings.aembed_documents(texts) if texts else []
        query_vectors = await asyncio.gather(*map(self.embeddings.aembed_query, queries))
        return self._checked(texts, text_vectors, dict(zip(queries, query_vectors, strict=True)))

    def of_put(self, op: PutOp, vectors: Vectors) -> list[Vector]:
        """Return the vectors of an item; vectors of zeros are left out."""
        item_vectors = (vectors.documents[text] for text in self._texts(op))
        return [vector for vector in item_vectors if any(vector)]

    def _texts(self, op: PutOp) -> list[str]:
        """Return the texts of an item that are embedded, each once."""
        if op.value is None or op.index is False:
            return []
        paths = self._fields if op.index is None else op.index
        return list(
            dict.fromkeys(text for path in paths for text in get_text_at_path(op.value, path))
        )

    def _asked(self, ops: Iterable[Op]) -> tuple[list[str], list[str]]:
        unique_texts, unique_queries = dict[str, None](), dict[str, None]()
        for op in ops:
            if isinstance(op, PutOp):
                unique_texts |= dict.fromkeys(self._texts(op))
            elif isinstance(op, SearchOp) and op.query:
                unique_queries[op.query] = None
        return list(unique_texts), list(unique_queries)

    def _checked(
        self, texts: Sequence[str], vectors: Sequence[Vector], queries: Mapping[str, Vector]
    ) -> Vectors:
        if len(vectors) != len(texts):
            raise ValueError(
                f"The embedding of the store's `index` gave {len(vectors)} vectors for "
                f"{len(texts)} texts: it must give one for each."
            )
        for vector in (*vectors, *queries.values()):
            if self._dims is not None and len(vector) != self._dims:
                raise ValueError(
                    f"The embedding of the store's `index` gave a vector of {len(vector)} numbers, "
                    f"and `dims` is {self._dims}: correct `dims`."
                )
        text_vectors = [[float(number) for number in vector] for vector in vectors]
        vector_by_query = {
            query: [float(component) for component in vector] for query, vector in queries.items()
        }
        return Vectors(dict(zip(texts, text_vectors, strict=True)), vector_by_query)
