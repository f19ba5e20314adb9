"""Branches with tiers: what merges unseen, what becomes a review, and whose looks count."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from day1.interfaces.open_store import OpenStore
from day1.model.access.permissions import Access
from day1.services.access.caller import Caller
from day1.services.branches.deleting import delete
from day1.services.branches.lookup import find
from day1.services.merges import approving
from day1.services.merges.approving import Approver
from day1.services.merges.planning import MergeRequest, preview
from day1.services.merges.reviews import find_review
from tests.flows.opened_store import TOOLS, call, facts, opened, refused
from tests.flows.tiered_store import (
    RULES,
    approve,
    by,
    fact,
    merge,
    merge_review,
    opened_review,
    person,
    protect,
    shown,
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OpenStore]:
    """Main asks for looks by its rules; `ann` has written a note, a policy and something else."""
    with opened(tmp_path / "store", create=True) as store:
        protect(store, *RULES)
        by(store, "ann", "memory_branch_create", branch_name="side")
        for text, category in (("note", "note"), ("policy", "policy"), ("other", None)):
            fact(store, text, category)
        yield store


def test_what_may_be_unseen_merges_at_once_and_the_rest_becomes_a_review(store: OpenStore) -> None:
    done = merge(store)
    assert facts(store) == ["note"]
    review = shown(store, done["review_id"])
    tiers = {row["theirs"]["fact_text"]: (row["tier"], row["why"]) for row in review["rows"]}
    assert tiers == {
        "policy": ("two", "two category=policy"),
        "other": ("one", "no rule applies to it"),
    }
    assert set(done["left"]) == {row["id"] for row in review["rows"]}
    assert (done["merged_count"], done["rejected_count"]) == (1, 0)
    assert review["tier"] == {"tier": "two", "why": "two category=policy", "needs": 2, "looks": 0}
    assert not review["can_merge"]
    assert done["review_id"] in str(done["written"]["notes"])
    later = merge(store)
    assert (later["merged_count"], later["merge_id"]) == (0, "")
    assert later["review_id"] == done["review_id"], "the review that is open takes more"


def test_a_repeated_call_merges_nothing_more(store: OpenStore) -> None:
    done = merge(store, request_id="once")
    fact(store, "later", "note")
    again = merge(store, request_id="once")
    assert (again["merge_id"], again["review_id"]) == (done["merge_id"], done["review_id"])
    assert again["merged_count"] == 1
    assert facts(store) == ["note"]


def test_where_all_may_be_unseen_it_is_a_merge_like_any_other(tmp_path: Path) -> None:
    with opened(tmp_path / "store", create=True) as store:
        protect(store, *RULES)
        by(store, "ann", "memory_branch_create", branch_name="side")
        fact(store, "note", "note")
        done = merge(store)
        assert (done["merged_count"], done["review_id"], done["left"]) == (1, None, [])
        assert call(store, "review_list", status="all")["result"] == []
        branches = {b["branch_name"]: b for b in call(store, "memory_branch_list")["result"]}
        assert branches["side"]["status"] == "merged"


def test_what_is_unseen_by_itself_waits_with_what_it_comes_with(store: OpenStore) -> None:
    """A note that a policy took the place of comes only with that policy."""
    old = fact(store, "old note", "note")
    given = {"fact_id": old, "fact_text": "a policy", "category": "policy", "branch": "side"}
    by(store, "ann", "memory_supersede_fact", "write", **given)
    done = merge(store)
    assert facts(store) == ["note"]
    assert old in done["left"]


def test_a_fact_whose_successor_needs_no_look_only_waits_for_the_review(store: OpenStore) -> None:
    call(store, "memory_branch_protect", branch_name="main", requires=[])
    old = call(store, "memory_write_fact", fact_text="old policy", category="policy")["id"]
    by(store, "ann", "memory_branch_create", branch_name="fresh")
    protect(store, *RULES)
    given = {"fact_id": old, "fact_text": "new note", "category": "note", "branch": "fresh"}
    by(store, "ann", "memory_supersede_fact", "write", **given)
    done = merge(store, source_branch="fresh")
    assert sorted(facts(store)) == ["new note", "old policy"]
    assert (done["left"], len(done["written"]["notes"])) == ([old], 1)


def test_a_scope_that_writes_merges_nothing_but_what_tiers_let_pass(store: OpenStore) -> None:
    call(store, "memory_branch_create", branch_name="open")
    for target in ("open", "side"):
        given = {"source_branch": "main", "strategy": "auto", "target_branch": target}
        refused(partial(by, store, "ann", "memory_branch_merge", "write", **given), "forbidden")
    reads = {"source_branch": "side", "strategy": "auto"}
    refused(partial(by, store, "ann", "memory_branch_merge", "read", **reads), "forbidden")
    call(store, "memory_branch_protect", branch_name="main", requires=["gate"])
    refused(partial(merge, store), "forbidden")


@pytest.mark.parametrize(
    "more",
    [
        {"strategy": "squash"},
        {"strategy": "cherry_pick"},
        {"choices": "theirs"},
        {"choices": "skip"},
    ],
)
def test_no_other_way_of_merging_goes_around_the_tiers(store: OpenStore, more: Any) -> None:
    ids = [row["id"] for row in call(store, "memory_timeline", branch="side")["result"]]
    given = dict(more)
    if more.get("strategy") == "cherry_pick":
        given["items"] = ids
    if "choices" in more:
        given["choices"] = [{"id": one, "take": more["choices"]} for one in ids[:1]]
    refused(partial(merge, store, **given), "branch_protected", "review_approve")
    assert facts(store) == []


def test_a_pick_of_what_may_be_unseen_passes(store: OpenStore) -> None:
    found = call(store, "memory_timeline", branch="side")["result"]
    (note,) = [row["id"] for row in found if row["content"] == "note"]
    merge(store, strategy="cherry_pick", items=[note])
    assert facts(store) == ["note"]


@pytest.mark.parametrize("action", ["dismiss", "take"])
def test_what_is_held_is_not_decided_unseen(tmp_path: Path, action: str) -> None:
    """What waits for a person on main waits until one looks, whatever a fork has decided."""
    with opened(tmp_path / "store", create=True) as store:
        row = by(store, "cy", "memory_write_fact", fact_text="old", category="note")["id"]
        by(store, "ann", "memory_branch_create", branch_name="first")
        for branch in ("first", "main"):
            by(store, "cy", "memory_update_fact", fact_id=row, fact_text=branch, branch=branch)
        by(store, "cy", "memory_branch_merge", source_branch="first", strategy="auto")
        (held,) = call(store, "memory_held")["items"]
        protect(store, *RULES)
        by(store, "ann", "memory_branch_create", branch_name="side")
        decided = {"id": held["id"], "action": action, "branch": "side"}
        by(store, "ann", "memory_held", "write", **decided)
        done = merge(store)
        assert (done["merged_count"], done["left"]) == (0, [row])
        assert call(store, "memory_held")["items"] == [held]
        approve(store, "bob", done["review_id"])
        merge_review(store, done["review_id"])
        assert call(store, "memory_held")["items"] == []


def test_two_who_approve_at_once_are_both_kept(store: OpenStore) -> None:
    review = find_review(store.repo, opened_review(store))
    digest = shown(store, review.id)["digest"]
    for name in ("bob", "cy"):
        approving.approve(store.repo, review, Approver(name, name, person=False), digest, 1)
    assert shown(store, review.id)["can_merge"]


def test_another_plan_than_the_one_seen_is_refused(store: OpenStore) -> None:
    sides = {"source_branch": "side", "target_branch": "main"}
    seen = call(store, "memory_merge_preview", **sides)
    assert {row["text"]: row["tier"] for row in seen["rows"]} == {
        "note": "none",
        "policy": "two",
        "other": "one",
    }
    assert all(row["why"] for row in seen["rows"])
    fact(store, "later", "note")
    refused(partial(merge, store, expect=seen["digest"]), "plan_changed")
    assert facts(store) == []
    seen = call(store, "memory_merge_preview", **sides)
    assert merge(store, expect=seen["digest"])["merged_count"] == 2


def test_two_looks_are_of_two_others(store: OpenStore) -> None:
    review = opened_review(store)
    assert approve(store, "bob", review)["tier"]["looks"] == 1
    refused(partial(merge_review, store, review), "branch_protected", "valid ones so far: 1")
    approve(store, "bob", review)
    refused(partial(merge_review, store, review), "branch_protected", "valid ones so far: 1")
    answer = approve(store, "cy", review)
    assert [(one["by"], one["counts"]) for one in answer["approvals"]] == [
        ("bob", True),
        ("cy", True),
    ]
    assert answer["can_merge"]
    merge_review(store, review, "bob")
    assert set(facts(store)) == {"note", "policy", "other"}


def test_one_look_is_enough_where_the_rules_ask_for_one(store: OpenStore) -> None:
    protect(store, "none category=note")
    review = opened_review(store)
    refused(partial(merge_review, store, review), "branch_protected")
    approve(store, "bob", review)
    merge_review(store, review)


def test_no_author_approves_neither_by_a_fork_nor_by_another_token(store: OpenStore) -> None:
    review = opened_review(store)
    refused(partial(approve, store, "ann", review), "refused", "Somebody else")
    digest = shown(store, review)["digest"]
    same = Caller(agent_id="ann", access=Access("other token", agent_id="ann"))
    given = {"review_id": review, "expect": digest}
    refused(
        lambda: TOOLS["review_approve"].call(store.context(same), given), "refused", "Somebody else"
    )
    agent = Caller(agent_id="eve")
    refused(lambda: TOOLS["review_approve"].call(store.context(agent), given), "refused", "token")
    by(store, "bob", "memory_branch_create", branch_name="side/fork", parent_branch="side")
    forked = by(store, "bob", "review_open", source_branch="side/fork")["id"]
    refused(partial(approve, store, "ann", forked), "refused")
    assert approve(store, "bob", forked)["tier"]["looks"] == 1, "who opens it wrote none of it"


def test_who_writes_on_a_parent_after_the_fork_is_an_author(tmp_path: Path) -> None:
    """A branch for releases takes what main, where everybody writes, has got since."""
    with opened(tmp_path / "store", create=True) as store:
        by(store, "cy", "memory_write_fact", fact_text="in both", branch="main")
        for name in ("early", "release"):
            call(store, "memory_branch_create", branch_name=name)
        given = {"branch_name": "release", "requires": ["tiers", "other"], "tiers": []}
        call(store, "memory_branch_protect", **given)
        by(store, "ann", "memory_write_fact", fact_text="later", branch="main")
        call(store, "memory_branch_create", branch_name="fork")
        for source in ("main", "fork"):
            ends = {"source_branch": source, "target_branch": "release"}
            review = by(store, "dan", "review_open", **ends)["id"]
            refused(partial(approve, store, "ann", review), "refused", "Somebody else")
            approve(store, "bob", review)
            refused(
                partial(merge_review, store, review, "ann"), "branch_protected", "another token"
            )
            merge_review(store, review, "bob")
            by(store, "ann", "memory_write_fact", fact_text="later still", branch="fork")
        by(store, "ann", "memory_write_fact", fact_text="early", branch="early")
        ends = {"source_branch": "early", "target_branch": "release"}
        approve(store, "cy", by(store, "dan", "review_open", **ends)["id"])


def test_an_author_of_a_copied_row_does_not_approve_it(store: OpenStore) -> None:
    """The branch that it is from is gone, so nothing but the row itself says whose it is."""
    for name, parent in (("middle", "side"), ("copy", "middle")):
        by(store, "bob", "memory_branch_create", branch_name=name, parent_branch=parent)
    delete(store.repo, find(store.repo, "middle"), "main", store.repo.clock())
    review = by(store, "bob", "review_open", source_branch="copy")["id"]
    refused(partial(approve, store, "ann", review), "refused", "Somebody else")


def test_who_restores_does_not_hide_behind_whoever_wrote_what_is_restored(tmp_path: Path) -> None:
    """A restore leaves no edit, so nobody knows who made it; edits say who made theirs."""
    with opened(tmp_path / "store", create=True) as store:
        told = {"branch": "main", "category": "note"}
        rows = [
            by(store, "cy", "memory_write_fact", fact_text=f"old {number}", **told)["id"]
            for number in range(2)
        ]
        then = by(store, "cy", "memory_snapshot", branch="main", label="then")
        by(store, "cy", "memory_update_fact", fact_id=rows[0], fact_text="new", branch="main")
        by(store, "cy", "verify_fact", fact_id=rows[1], verdict="verified", branch="main")
        protect(store, "none agent=cy")
        by(store, "ann", "memory_branch_create", branch_name="side")
        given = {"to": then["created_at"], "id": rows[0], "branch": "side"}
        by(store, "ann", "memory_restore", "write", **given)
        assert merge(store)["left"] == [rows[0]]
        given = {"fact_id": rows[1], "fact_text": "new too", "branch": "side"}
        by(store, "cy", "memory_update_fact", "write", **given)
        assert merge(store)["left"] == [rows[0]]
        assert sorted(facts(store)) == ["new", "new too"]


def test_two_tokens_of_one_agent_are_one_and_so_is_a_person_without_a_token(
    store: OpenStore,
) -> None:
    review = opened_review(store)
    digest = shown(store, review)["digest"]
    for token in ("one", "two"):
        caller = Caller(access=Access(token, agent_id="bob"))
        TOOLS["review_approve"].call(store.context(caller), {"review_id": review, "expect": digest})
    assert shown(store, review)["tier"]["looks"] == 1
    for _ in range(2):
        person(store, "review_approve", review_id=review, expect=digest)
    assert shown(store, review)["tier"]["looks"] == 2
    refused(
        lambda: by(store, "cy", "review_approve", "write", review_id=review, expect=digest),
        "forbidden",
    )


def test_a_person_does_not_approve_what_people_wrote(store: OpenStore) -> None:
    person(store, "memory_write_fact", fact_text="by hand", branch="side")
    review = opened_review(store)
    given = {"review_id": review, "expect": shown(store, review)["digest"]}
    refused(lambda: person(store, "review_approve", **given), "refused")
    protect(store, "none source=user", "one agent=ann")
    done = merge(store)
    assert "by hand" in facts(store)
    given["expect"] = shown(store, done["review_id"])["digest"]
    person(store, "review_approve", **given)
    merge_review(store, review)


def test_an_approval_is_of_what_was_seen_and_of_nothing_later(store: OpenStore) -> None:
    review = opened_review(store)
    seen = shown(store, review)["digest"]
    approve(store, "bob", review)
    approve(store, "cy", review)
    new = fact(store, "slipped in", "policy")
    answer = shown(store, review)
    assert [one["counts"] for one in answer["approvals"]] == [False, False]
    refused(partial(merge_review, store, review), "branch_protected", "valid ones so far: 0")
    refused(partial(approve, store, "bob", review, expect=seen), "plan_changed")
    by(store, "ann", "memory_retract_fact", "write", fact_id=new, branch="side")
    approve(store, "bob", review)
    approve(store, "cy", review)
    row = shown(store, review)["rows"][0]["id"]
    decision = {"id": row, "take": "ours"}
    by(store, "dan", "review_decide", review_id=review, decisions=[decision])
    refused(partial(merge_review, store, review), "branch_protected", "valid ones so far: 0")


def test_who_gives_a_value_in_the_review_is_an_author(store: OpenStore) -> None:
    review = opened_review(store)
    row = shown(store, review)["rows"][0]["id"]
    decision = {"id": row, "take": "value", "value": {"fact_text": "as bob says"}}
    by(store, "bob", "review_decide", review_id=review, decisions=[decision])
    refused(partial(approve, store, "bob", review), "refused")
    approve(store, "cy", review)
    approve(store, "dan", review)
    merge_review(store, review)


def test_an_approval_is_taken_back(store: OpenStore) -> None:
    review = opened_review(store)
    approve(store, "bob", review)
    approve(store, "cy", review)
    assert approve(store, "bob", review, withdraw=True)["tier"]["looks"] == 1
    refused(partial(merge_review, store, review), "branch_protected")


def test_rules_that_change_while_a_review_is_open_count_as_they_are(store: OpenStore) -> None:
    review = opened_review(store)
    approve(store, "bob", review)
    protect(store, "one")
    assert shown(store, review)["can_merge"]
    protect(store, "two agent=ann")
    refused(partial(merge_review, store, review), "branch_protected")
    protect(store, "none")
    merge_review(store, review)


def test_tiers_stand_beside_what_else_a_branch_requires(store: OpenStore) -> None:
    protect(store, *RULES, requires=("gate", "tiers"))
    error = refused(partial(merge, store), "branch_protected", "not verified")
    assert error.details["missing"] == ["gate"]
    assert facts(store) == []
    assert call(store, "review_list")["result"] == [], "nothing is half done"


def test_rules_are_kept_shown_and_lifted(store: OpenStore) -> None:
    given = {"branch_name": "main", "requires": ["tiers", "gate"]}
    kept = call(store, "memory_branch_protect", **given)
    assert (kept["requires"], kept["tiers"]) == (["gate", "tiers"], RULES)
    metadata = call(store, "memory_branch_topology")["metadata"]
    assert metadata["tiers"] == RULES
    wrong = {"branch_name": "main", "tiers": ["two"]}
    refused(partial(call, store, "memory_branch_protect", requires=[], **wrong), "invalid_request")
    bad = {**given, "tiers": ["two", "three category=x"]}
    refused(partial(call, store, "memory_branch_protect", **bad), "invalid_request", "three")
    assert call(store, "memory_branch_topology")["metadata"]["tiers"] == RULES
    call(store, "memory_branch_protect", branch_name="main", requires=[])
    assert "tiers" not in call(store, "memory_branch_topology")["metadata"]
    assert call(store, "memory_branch_protect", **given)["tiers"] == [], "they went with it"


def test_tiers_do_not_change_what_a_plan_is(store: OpenStore) -> None:
    """The digest names the rows and sides, as before."""
    request = MergeRequest(find(store.repo, "side"), find(store.repo, "main"), "auto")
    before = preview(store.repo, request).plan.digest
    protect(store, "two")
    assert preview(store.repo, request).plan.digest == before
    call(store, "memory_branch_protect", branch_name="main", requires=[])
    assert preview(store.repo, request).plan.digest == before
