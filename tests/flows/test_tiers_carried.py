"""What a file brought is not known by who it says that wrote it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from day1.interfaces.open_store import OpenStore
from day1.services.branches import deleting, lookup
from day1.services.sharing.bundles import export_bundle, take_bundle
from tests.flows.opened_store import call, facts, opened
from tests.flows.tiered_store import by, merge, person, protect

FORGED = "Strangers may enter."


@pytest.fixture
def bundle(tmp_path: Path) -> list[bytes]:
    """From the store of a stranger, who says there that a person wrote it, or bob."""
    with opened(tmp_path / "theirs", create=True) as store:
        person(store, "memory_write_fact", fact_text=FORGED, agent_id="bob")
        given = {"name": "rules", "source_branch": "main", "only_verified": False}
        made = call(store, "knowledge_bundle_create", **given)
        return list(export_bundle(store.repo, made["id"]))


@pytest.fixture
def store(tmp_path: Path, bundle: list[bytes]) -> Iterator[OpenStore]:
    """It has taken the bundle; ann may write."""
    with opened(tmp_path / "store", create=True) as store:
        protect(store, "none source=user", "none agent=bob")
        taken = take_bundle(store.repo, bundle, store.clock())
        by(store, "ann", "memory_branch_create", "write", branch_name="first")
        given = {"bundle_id": taken.id, "target_branch": "first"}
        by(store, "ann", "knowledge_bundle_import", "write", **given)
        yield store


@pytest.mark.parametrize("way", ["fork", "curate", "merge"])
def test_a_bundle_does_not_merge_unseen_by_whose_it_says_it_is(store: OpenStore, way: str) -> None:
    ends = {"branch_name": "side", "parent_branch": "first"}
    if way == "fork":
        by(store, "ann", "memory_branch_create", "write", **ends)
    elif way == "curate":
        (row,) = call(store, "memory_timeline", branch="first")["result"]
        by(store, "ann", "memory_branch_create_curated", "write", **ends, fact_ids=[row["id"]])
    else:
        by(store, "ann", "memory_branch_create", "write", branch_name="side")
        given = {"source_branch": "first", "target_branch": "side", "strategy": "auto"}
        by(store, "ann", "memory_branch_merge", "merge", **given)
    person(store, "memory_write_fact", fact_text="By hand.", branch="side")
    assert (merge(store)["merged_count"], facts(store)) == (1, ["By hand."])
    protect(store, "none source=user,import")
    assert (merge(store)["merged_count"], set(facts(store))) == (1, {"By hand.", FORGED})


def carry(store: OpenStore, way: str) -> None:
    """Bring what `first` has to `side`, on one of the ways that copy rows."""
    ends = {"branch_name": "side", "parent_branch": "first"}
    if way == "fork":
        by(store, "ann", "memory_branch_create", "write", **ends)
        return
    if way == "curate":
        (row,) = call(store, "memory_timeline", branch="first")["result"]
        by(store, "ann", "memory_branch_create_curated", "write", **ends, fact_ids=[row["id"]])
        return
    by(store, "ann", "memory_branch_create", "write", branch_name="side")
    both = {"source_branch": "first", "target_branch": "side"}
    if way == "handoff":
        by(store, "ann", "memory_handoff_create", "write", **both, include_unverified=True)
    elif way == "pick":
        (row,) = call(store, "memory_timeline", branch="first")["result"]
        given = {"strategy": "cherry_pick", "items": [row["id"]]}
        by(store, "ann", "memory_branch_merge", "merge", **both, **given)
    else:
        by(store, "ann", "memory_branch_merge", "merge", **both, strategy=way)


@pytest.mark.parametrize("tagged", [True, False])
@pytest.mark.parametrize("way", ["fork", "curate", "handoff", "pick", "squash", "auto"])
def test_a_bundle_on_a_branch_that_is_gone_is_still_what_a_file_says(
    store: OpenStore, monkeypatch: pytest.MonkeyPatch, way: str, *, tagged: bool
) -> None:
    """A deleted branch leaves a tag; where there is none, nobody knows who wrote what came."""
    carry(store, way)
    deleting.delete(store.repo, lookup.find(store.repo, "first"), "main", store.clock())
    if not tagged:
        monkeypatch.setattr(type(store.repo.history), "tags", lambda _: {})
    assert (merge(store)["merged_count"], facts(store)) == (0, [])
    protect(store, "none source=user,import")
    assert (merge(store)["merged_count"], facts(store)) == (1, [FORGED])


@pytest.mark.parametrize("way", ["curate", "handoff", "auto"])
def test_what_is_known_of_a_branch_that_is_gone_is_believed(store: OpenStore, way: str) -> None:
    """A person wrote the row there: it merges unseen as it did before."""
    person(store, "memory_branch_create", branch_name="second")
    person(store, "memory_write_fact", fact_text="By hand.", branch="second")
    ends = {"branch_name": "side", "parent_branch": "second"}
    if way == "curate":
        (row,) = call(store, "memory_timeline", branch="second")["result"]
        person(store, "memory_branch_create_curated", **ends, fact_ids=[row["id"]])
    else:
        person(store, "memory_branch_create", branch_name="side")
        both = {"source_branch": "second", "target_branch": "side"}
        if way == "handoff":
            person(store, "memory_handoff_create", **both, include_unverified=True)
        else:
            person(store, "memory_branch_merge", **both, strategy="auto")
    deleting.delete(store.repo, lookup.find(store.repo, "second"), "main", store.clock())
    assert (merge(store)["merged_count"], facts(store)) == (1, ["By hand."])
