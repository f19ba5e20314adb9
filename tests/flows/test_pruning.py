"""A store whose deleted branches are forgotten, and what it still answers."""

import pytest

from day1.errors import UnknownBranch
from day1.interfaces.open_store import OpenStore
from day1.services.branches.pruning import prune
from tests.flows.opened_store import call, store

__all__ = ["store"]
LATER = 10**18
"""After every deletion, in microseconds."""


def deleted(store: OpenStore, name: str, *, merged: bool) -> str:
    """Delete a branch with a fact, after it was squashed into main or not; returns the fact's id."""
    call(store, "memory_branch_create", branch_name=name, parent_branch="main")
    row = call(store, "memory_write_fact", fact_text=f"The fact of {name}.", branch=name)
    if merged:
        sides = {"source_branch": name, "target_branch": "main"}
        call(store, "memory_branch_merge", **sides, strategy="squash")
    call(store, "memory_branch_delete", branch_name=name, force=True)
    return str(row["id"])


def test_a_store_without_its_deleted_branches_answers_as_before(store: OpenStore) -> None:
    squashed, left = deleted(store, "squashed", merged=True), deleted(store, "left", merged=False)
    assert len(store.repo.history.tags()) == 2
    assert call(store, "memory_blame", id=squashed)["cells"][0]["op"] == "add"
    assert {one.name for one in prune(store.repo, LATER)} == {"squashed", "left"}
    assert store.repo.history.tags() == {}
    compacts = store.repo.store.capabilities.compaction
    if compacts:
        store.repo.store.compact()
    for name in ("squashed", "left"):
        with pytest.raises(UnknownBranch):
            call(store, "memory_branch_revive", branch_name=name, deleted=True)
    found = call(store, "memory_search", query="fact")["result"]
    assert [hit["id"] for hit in found] == [squashed] != [left]
    cell = call(store, "memory_blame", id=squashed)["cells"][0]
    assert cell["op"] == ("squash" if compacts else "add"), "the commit that main itself has"
    call(store, "memory_branch_create", branch_name="left", parent_branch="main")
