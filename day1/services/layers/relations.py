"""The relations that touch a name in a fact."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from day1.model.layers.layer import LayerItem
from day1.model.layers.names import names_in
from day1.model.rows.change import Query
from day1.model.rows.kind import RELATION, Cell, Row
from day1.model.values.wallet_space import Owner
from day1.ports.reading import Reading

_MOST: Final = 3
"""Relations of a fact, at most: the newest ones."""


def with_relations(
    reading: Reading, facts: Sequence[LayerItem], owner: Owner, now: int
) -> list[LayerItem]:
    """Add to facts the newest relations, of the spaces of their owner, that touch their names."""
    names = [names_in(fact.text) for fact in facts]
    all_names = sorted(set().union(*names))
    rows: dict[str, Row] = {}
    for end in ("source_entity", "target_entity"):
        among: dict[str, Sequence[Cell]] = {end: all_names, "space": owner.spaces}
        query = Query(among=among, present_at=now, public=True)
        rows |= {str(row["id"]): row for row in reading.find(RELATION, query)}
    newest = sorted(rows.values(), key=lambda row: (row["created_at"], row["id"]), reverse=True)

    def touching(own: set[str]) -> tuple[str, ...]:
        lines = (_line(r) for r in newest if {r["source_entity"], r["target_entity"]} & own)
        return tuple(dict.fromkeys(lines))[:_MOST]

    return [replace(fact, relations=touching(own)) for fact, own in zip(facts, names, strict=True)]


def _line(row: Row) -> str:
    return " ".join(str(row[c]) for c in ("source_entity", "relation_type", "target_entity"))
