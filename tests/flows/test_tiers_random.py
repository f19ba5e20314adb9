"""Random branches into a main with tiers: what merges unseen, against a rule told plainly."""

import random
from pathlib import Path
from typing import Any

import pytest

from day1.errors import Day1Error
from day1.interfaces.open_store import OpenStore
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from tests.flows.opened_store import opened
from tests.flows.tiered_store import RULES, by, merge, protect


@pytest.mark.parametrize("seed", range(8))
def test_whatever_is_merged_unseen_is_of_that_tier_and_nothing_is_lost(
    tmp_path: Path, seed: int
) -> None:
    """Random branches with supersessions, edits and conflicts, against a rule told plainly."""
    chance = random.Random(seed)
    with opened(tmp_path / "store", create=True) as store:
        for n in range(6):
            given = {"fact_text": f"old {n}", "category": chance.choice(["note", "policy"])}
            by(store, "cy", "memory_write_fact", "write", **given)
        by(store, "ann", "memory_branch_create", branch_name="side")
        before = _rows(store, "main")
        for n in range(12):
            _change(store, chance, n, [*before])
        protect(store, *RULES)
        merge(store)
        source, after = _rows(store, "side"), _rows(store, "main")
        for row in before.keys() | after.keys():
            if before.get(row) != after.get(row):
                sides = [side for side in (before.get(row), source.get(row)) if side is not None]
                assert {side["category"] for side in sides} == {"note"}, row
                assert after.get(row) == source.get(row)


def _rows(store: OpenStore, branch: str) -> dict[str, dict[str, Any]]:
    with store.repo.store.reading(Ref(branch=branch)) as reading:
        rows = reading.find(FACT, Query())
    return {str(row["id"]): {c: row[c] for c in FACT.group("*")} for row in rows}


def _change(store: OpenStore, chance: random.Random, number: int, old: list[str]) -> None:
    what, row = chance.choice(["new", "edit", "supersede", "move"]), chance.choice(old)
    category = chance.choice(["note", "policy"])
    text = {"fact_text": f"new {number}", "category": category, "branch": "side"}
    ways: dict[str, tuple[str, dict[str, Any]]] = {
        "new": ("memory_write_fact", text),
        "edit": (
            "memory_update_fact",
            {"fact_id": row, "fact_text": text["fact_text"], "branch": "side"},
        ),
        "move": ("memory_update_fact", {"fact_id": row, "category": category, "branch": "side"}),
        "supersede": ("memory_supersede_fact", {"fact_id": row, **text}),
    }
    tool, given = ways[what]
    try:
        by(store, "ann", tool, "write", **given)
    except Day1Error:  # it was superseded before
        return
