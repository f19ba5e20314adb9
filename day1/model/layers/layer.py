"""The six layers of a prompt, and the items found in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from day1.model.rows.kind import Cell, Row

Layer = Literal["working", "scene", "graph", "patterns", "archives", "vectors"]
LAYERS: Final[tuple[Layer, ...]] = get_args(Layer)
"""All layers, the best one first where two items are as good."""
CATEGORIES: Final[dict[Layer, tuple[str, ...]]] = {
    "patterns": ("skill", "pattern"),
    "archives": ("archive",),
    "vectors": ("session", "knowledge"),
}
"""The categories of the facts of a layer; all other facts belong to `graph`."""
_LAYER_BY_CATEGORY: Final[dict[Cell, Layer]] = {
    category: layer for layer, categories in CATEGORIES.items() for category in categories
}
_NEWEST: Final = 0.6
"""The score of the newest item of a layer that is not searched."""
_OLDER: Final = 0.9
"""An older item's score, as a part of the score of the next newer item."""


@dataclass(frozen=True, slots=True)
class LayerItem:
    """A text that was found in a layer; its score is from 0 to 1."""

    layer: Layer
    text: str
    """The whole text."""
    score: float
    created_at: int
    """Microseconds UTC."""
    row: Row | None = None
    """The fact or message; None: a line that a client wrote on its working desk."""
    relations: tuple[str, ...] = ()
    """Relations that touch a name in the text."""
    quotation: str | None = None
    """The passage of a long text that a prompt shows; None: the whole text."""

    @property
    def id(self) -> str | None:
        """The id of the row; None for a line that a client wrote on its working desk."""
        return None if self.row is None else str(self.row["id"])

    @property
    def place(self) -> tuple[object, ...]:
        """The sort key among items of equal score: the layer, the id, then the text."""
        item_texts = (self.text, self.relations, self.quotation or "")
        return (LAYERS.index(self.layer), self.id or "", *item_texts, self.created_at)


def layer_of(category: Cell) -> Layer:
    """Tell the layer of a fact by its category."""
    return _LAYER_BY_CATEGORY.get(category, "graph")


def categories_of(layers: Sequence[Layer]) -> tuple[str, ...] | None:
    """Return the categories of the facts of some layers; None: facts of any category."""
    if "graph" in layers:
        return None
    return tuple(category for layer in layers for category in CATEGORIES.get(layer, ()))


def recent_scores(count: int) -> list[float]:
    """Return the scores of `count` items, newest first: each is a fixed share of the one before."""
    return [_NEWEST * _OLDER**newer_count for newer_count in range(count)]
