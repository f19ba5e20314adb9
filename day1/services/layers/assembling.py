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
    found_texts = [found_layers.texts.get(item.id or "", FoundText(item.text)) for item in items]
    quoted_characters = max(1, max_characters - _ELLIPSES)
    passage_limits = PassageLimits(
        max_characters, quoted_characters, quoted_characters * len(found_texts)
    )
    return [
        item if quotation.span is None else replace(item, quotation=quotation.text)
        for item, quotation in zip(items, quote(query, found_texts, passage_limits), strict=True)
    ]


def _near(engine: SearchEngine, items: Sequence[LayerItem]) -> Near:
    """Find pairs of rows that say nearly the same; only rows with vectors are compared."""
    if engine.embedder is None:
        return ()
    item_by_text_id: dict[TextId, LayerItem] = {}
    try:
        for kind in (FACT, MESSAGE):
            kind_items = [
                item for item in items if item.row is not None and kind_of(item.id or "") is kind
            ]
            item_by_hash = {
                str(item.row["content_hash"]): item for item in kind_items if item.row is not None
            }
            text_id_by_hash = engine.index.words.known(kind, list(item_by_hash))
            item_by_text_id |= {
                text_id: item_by_hash[content_hash]
                for content_hash, text_id in text_id_by_hash.items()
            }
        text_ids = list(item_by_text_id)
        id_pairs = engine.index.vectors.pairs(
            engine.embedder, text_ids, text_ids, ALIKE - _COSINE_ERROR
        )
    except (EmbedderUnavailable, IndexBehind, IndexLost) as error:
        log.warning("near duplicates are not looked for: %s", error.code)
        return ()
    item_pairs = [
        (item_by_text_id[one_id], item_by_text_id[other_id])
        for one_id, other_id, _ in id_pairs
        if one_id < other_id
    ]
    return {
        (one_item.id or "", other_item.id or "")
        for one_item, other_item in item_pairs
        if not at_odds(one_item.text, other_item.text)
    }
