"""What waits for a person: what counts, who may know of it, and what changes are told."""

from pathlib import Path

import pytest

from day1.interfaces.open_store import OpenStore
from day1.model.access.permissions import Access
from day1.services.access.scoped import scoped
from day1.services.merges.waiting import WaitingPoller, Waits, waiting
from day1.services.upkeep.poller import ChangePoller
from tests.flows.opened_store import call, make, opened


def clash(store: OpenStore, source: str, target: str, text: str = "one") -> str:
    """Change a fact on both branches, and merge: what the source says is held; gives its id."""
    found = call(store, "memory_timeline", branch=target, limit=500)["result"]
    (fact,) = [item["id"] for item in found if item["content"].startswith(text)]
    for branch in (source, target):
        said = f"{text}, as {branch} says"
        call(store, "memory_update_fact", fact_id=fact, fact_text=said, branch=branch)
    asked = {"source_branch": source, "target_branch": target, "strategy": "auto"}
    call(store, "memory_branch_merge", **asked)
    items = call(store, "memory_held", branch=target)["items"]
    (held,) = [item["id"] for item in items if item["row_id"] == fact]
    return str(held)


def opened_review(store: OpenStore, source: str, target: str = "main") -> str:
    made = call(store, "review_open", source_branch=source, target_branch=target)
    return str(made["id"])


def test_open_reviews_and_what_is_held_where_people_merge(tmp_path: Path) -> None:
    make(tmp_path)
    with opened(tmp_path) as store:
        assert waiting(store.repo).document() == {"count": 0, "reviews": [], "held": []}
        call(store, "memory_branch_create", branch_name="own", parent_branch="side")
        on_main, on_own = clash(store, "side", "main"), clash(store, "side", "own", "two")
        first, second = opened_review(store, "side"), opened_review(store, "own")
        found = waiting(store.repo)
        assert found.document() == {"count": 3, "reviews": [second, first], "held": [on_main]}
        assert [one.branches for one in found.every] == [
            ("own", "main"),
            ("side", "main"),
            ("main",),
        ]
        here = waiting(store.repo, "own")
        assert [one.id for one in here.held] == [on_main, on_own]
        call(store, "memory_branch_protect", branch_name="own", requires=["gate"])
        assert waiting(store.repo) == here, "a protected branch is shared"
        call(store, "review_close", review_id=first)
        call(store, "memory_held", action="dismiss", id=on_main)
        assert [one.id for one in waiting(store.repo).every] == [second, on_own]


def test_a_fork_waits_for_nothing_that_its_parent_does_not(tmp_path: Path) -> None:
    make(tmp_path)
    with opened(tmp_path) as store:
        held = clash(store, "side", "main")
        call(store, "memory_branch_create", branch_name="fork", parent_branch="main")
        assert waiting(store.repo, "fork", "gone").document()["held"] == [held]


def test_a_limited_token_knows_of_what_it_sees(tmp_path: Path) -> None:
    make(tmp_path)
    with opened(tmp_path) as store:
        clash(store, "side", "main")
        opened_review(store, "side")
        limited = scoped(store.repo, Access("bob", branches=("side",)))
        assert waiting(limited).every == ()


def test_each_change_of_what_waits_is_told_once(tmp_path: Path) -> None:
    make(tmp_path)
    with opened(tmp_path) as mine, opened(tmp_path) as others:
        call(others, "memory_branch_create", branch_name="tea", parent_branch="side")
        first = opened_review(others, "side")
        poller = WaitingPoller(mine.repo)
        assert poller.look() is None, "it is how things stand"
        second = opened_review(others, "tea")
        assert _told(poller) == {second}
        assert poller.look() is None
        call(others, "memory_write_fact", fact_text="something else", branch="side")
        assert poller.look() is None, "a branch under review moves, and nothing begins to wait"
        row = call(others, "review_show", review_id=first)["rows"][0]["id"]
        decided = [{"id": row, "take": "skip"}]
        call(others, "review_decide", review_id=first, decisions=decided)
        assert _told(poller) == {first}
        call(others, "review_close", review_id=second)
        assert _told(poller) == {second}
        held = clash(others, "side", "main")
        assert _told(poller) == {held}


def _told(poller: WaitingPoller) -> set[str]:
    found = poller.look()
    assert found is not None
    return {one.id for one in found.changed}


def test_what_was_found_before_a_look_failed_is_told_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path)
    with opened(tmp_path) as store:
        poller = ChangePoller(store.repo).fresh()
        opened_review(store, "side")
        call(store, "memory_write_fact", fact_text="something else", branch="side")
        with monkeypatch.context() as patched:
            patched.setattr(poller, "_moved", _fail)
            with pytest.raises(ConnectionError):
                poller.look()
        first, *moved = poller.look()
        assert isinstance(first, Waits)
        assert len(moved) == 1


def _fail() -> list[object]:
    raise ConnectionError
