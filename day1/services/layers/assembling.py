"""Assembling a prompt: the items of the layers for a query, packed within a budget."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from day1.errors import EmbedderUnavailable
from day1.model.branches.branch import Branch
from day1.model.layers.budget import Budget
from day1.model.layers.layer import LayerItem
from day1.model.layers.packing import Near, Packed, pack
from day1.model.rows.kind import FACT, MESSAGE, kind_of
from day1.model.search.grouping import ALIKE, at_odds
from day1.model.search.passages import FoundText, PassageLimits, quote
from day1.ports.index import IndexBehind, IndexLost, TextId
from day1.services.layers.layers import FoundLayers, LayersQuery, find_layers
from day1.services.repository.repository import Repository
from day1.services.search.search_engine import SearchEngine

log = logging.getLogger(__name__)

_COSINE_ERROR: Final = 1e-6
"""How much a cosine may be below its true value, since vectors have 32-bit numbers."""
_ELLIPSES: Final = 4
"""Characters that mark where a quoted text goes on."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """A prompt, and the found layers from which its items were chosen."""

    packed: Packed
    found: FoundLayers


def assemble(
    repo: Repository,
    engine: SearchEngine,
    branch: Branch,
    layers_query: LayersQuery,
    budget: Budget,
) -> Assembled:
    """Pack the best items of the layers for a query into a prompt.

    Raises:
        UnknownBranch: the branch was deleted meanwhile.
    """
    found_layers = find_layers(repo, engine, branch, layers_query)
    items = _quoted(layers_query.query, found_layers, budget.item_characters)
    return Assembled(pack(items, budget, _near(engine, items)), found_layers)


def _quoted(query: str, found_layers: FoundLayers, max_characters: int) -> list[LayerItem]:
    """Choose the passages of long texts that a prompt shows."""
    items = found_layers.all
    texts = [found_layers.texts.get(item.id or "", FoundText(item.text)) for item in items]
    quoted_characters = max(1, max_characters - _ELLIPSES)
    limits = PassageLimits(max_characters, quoted_characters, quoted_characters * len(texts))
    return [
        item if quoted.span is None else replace(item, quotation=quoted.text)
        for item, quoted in zip(items, quote(query, texts, limits), strict=True)
    ]


def _near(engine: SearchEngine, items: Sequence[LayerItem]) -> Near:
    """Find pairs of rows that say nearly the same; only rows with vectors are compared."""
    if engine.embedder is None:
        return ()
    row_by_text: dict[TextId, LayerItem] = {}
    try:
        for kind in (FACT, MESSAGE):
            rows = [i for i in items if i.row is not None and kind_of(i.id or "") is kind]
            item_by_hash = {
                str(item.row["content_hash"]): item for item in rows if item.row is not None
            }
            text_ids = engine.index.words.known(kind, list(item_by_hash))
            row_by_text |= {text: item_by_hash[hashed] for hashed, text in text_ids.items()}
        texts = list(row_by_text)
        pairs = engine.index.vectors.pairs(engine.embedder, texts, texts, ALIKE - _COSINE_ERROR)
    except (EmbedderUnavailable, IndexBehind, IndexLost) as error:
        log.warning("near duplicates are not looked for: %s", error.code)
        return ()
    similar_pairs = [
        (row_by_text[one], row_by_text[other]) for one, other, _ in pairs if one < other
    ]
    return {(a.id or "", b.id or "") for a, b in similar_pairs if not at_odds(a.text, b.text)}
