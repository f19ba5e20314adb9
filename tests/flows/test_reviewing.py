"""Two people on one review, step by step, and how much reading a page of it costs."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from day1.errors import Conflict, PlanChanged
from day1.interfaces.open_store import OpenStore
from day1.model.merge.row_merge import Choice
from day1.model.records.review import Review
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.services.merges import reviews
from day1.services.merges.reviews import NewDecision, find_review
from day1.services.rows.recording import NewFact, fact_row
from tests.flows.opened_store import call, opened


@pytest.fixture
def opened_store(tmp_path: Path) -> Iterator[OpenStore]:
    """With a branch `side` of 60 facts, under review."""
    with opened(tmp_path / "store", create=True) as opened_store:
        call(opened_store, "memory_branch_create", branch_name="side")
        with opened_store.repo.store.adding("side") as work:
            made = [
                fact_row(
                    opened_store.repo.new_id("fact", work.now),
                    NewFact(f"fact {n}"),
                    Origin(),
                    work.now,
                )
                for n in range(60)
            ]
            work.add(FACT, made)
        call(opened_store, "review_open", source_branch="side")
        yield opened_store


def review(opened_store: OpenStore) -> Review:
    (found,) = reviews.reviews(opened_store.repo)
    return found


def rows(opened_store: OpenStore, **page: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = call(
        opened_store, "review_show", review_id=review(opened_store).id, **page
    )["rows"]
    return found


def decide(opened_store: OpenStore, seen: Review, row_id: str, by: str) -> None:
    given = [NewDecision(row_id, "*", "skip", Choice(row_id, "skip"))]
    reviews.decide(opened_store.repo, seen, given, (by, None), 1)


def merge(opened_store: OpenStore, seen: Review) -> None:
    reviews.merge_review(opened_store.repo, seen, ("auto", None), (Origin(), None), 2)


def test_a_decision_is_added_to_what_another_decided_meanwhile(opened_store: OpenStore) -> None:
    one, other = (row["id"] for row in rows(opened_store)[:2])
    seen = review(opened_store)
    decide(opened_store, seen, one, "ada")
    decide(opened_store, seen, other, "bo")
    decided = {d.row_id: d.by for d in find_review(opened_store.repo, seen.id).decided}
    assert decided == {one: "ada", other: "bo"}


def test_a_merge_does_not_pass_over_what_another_decided_meanwhile(opened_store: OpenStore) -> None:
    seen = review(opened_store)
    decide(opened_store, seen, rows(opened_store)[0]["id"], "ada")
    with pytest.raises(PlanChanged):
        merge(opened_store, seen)
    assert review(opened_store).status == "open"
    merge(opened_store, review(opened_store))
    assert find_review(opened_store.repo, seen.id).status == "merged"


def test_who_closes_a_review_while_it_is_merged_is_told_so(opened_store: OpenStore) -> None:
    seen = review(opened_store)
    with ThreadPoolExecutor(1) as other:
        came: list[Future[Review]] = []

        def point(name: str) -> None:
            if name == "merge.after_engine":
                given = (opened_store.repo, seen, "bo", "too late", 3)
                came.append(other.submit(reviews.close_review, *given))
                wait(came, 0.5)

        asked: tuple[Any, None] = ("auto", None)
        reviews.merge_review(
            replace(opened_store.repo, point=point), seen, asked, (Origin(), None), 2
        )
        with pytest.raises(Conflict, match="The review is merged"):
            came[0].result(30)
    left = find_review(opened_store.repo, seen.id)
    assert (left.status, left.reason) == ("merged", None)


def test_a_page_reads_no_more_for_more_rows(
    opened_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, counted = opened_store.repo.store, []
    reading = type(store).reading

    def counting(self: Any, ref: Any) -> Any:
        counted.append(ref)
        return reading(self, ref)

    monkeypatch.setattr(type(store), "reading", counting)
    asked = []
    for limit in (1, 60):
        counted.clear()
        assert len(rows(opened_store, limit=limit)) == limit
        asked.append(len(counted))
    assert asked[0] == asked[1]
