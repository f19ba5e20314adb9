"""Protected branches: no operation writes to one, and only merges that fulfil its rules come in."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from day1.call.operation import Effect
from day1.interfaces.open_store import OpenStore
from day1.model.access.permissions import Access
from day1.services.access.caller import Caller
from day1.services.branches.deleting import delete
from day1.services.branches.lookup import find
from day1.services.branches.retiring import retire
from day1.services.upkeep.retirable import retirable_branches
from day1.toolsets import TOOLSETS
from tests.flows.opened_store import call, opened, refused
from tests.wires.conftest import Fork, Write
from tests.wires.diverged_branches import Pair, facts, merge
from tests.wires.mcp_session import Session
from tests.wires.minimal_arguments import Arguments, prepared
from tests.wires.review_calls import decide, shown
from tests.wires.review_calls import opened as review_of

TOOLS = {
    tool.name: tool
    for toolset in TOOLSETS.values()
    if toolset.namespace is TOOLSETS["core"].namespace  # other products' have tests of their own
    for tool in toolset.tools.values()
}
DIRECT: dict[str, Arguments] = {
    "memory_write_fact": {},
    "memory_write_observation": {},
    "memory_write_relation": {},
    "memory_consolidate": {},
    "memory_log_message": {},
    "memory_fork_conversation": {},
    "memory_cherry_pick_conversation": {},
    "verify_fact": {},
    "verify_batch": {},
    "memory_handoff_create": {},
    "knowledge_bundle_import": {},
    "memory_update_fact": {},
    "memory_supersede_fact": {},
    "memory_retract_fact": {},
    "memory_remove": {"branch": "protected"},
    "memory_restore": {},
    "memory_held": {"action": "dismiss", "id": "held_0"},
    "memory_branch_merge": {},
}
"""What writes to a branch, with what is needed for that beside `least`."""
ELSEWHERE = {
    *("memory_branch_create", "memory_branch_create_curated", "memory_template_instantiate"),
    *("memory_template_create", "memory_task_create", "memory_task_join", "memory_task_update"),
    *("memory_branch_switch", "memory_branch_enrich", "memory_snapshot", "memory_branch_protect"),
    *("knowledge_bundle_create", "memory_redact", "token_create", "token_revoke"),
    *("memory_branch_delete", "memory_branch_archive", "memory_branch_revive"),
    *("knowledge_bundle_deprecate", "memory_template_deprecate"),
    *("review_open", "review_decide", "review_approve", "review_close"),
}
"""What writes to new branches, or beside all of them."""
ALLOWED = {"review_merge", "memory_revert"}
"""What a protected branch is there for, and what undoes that."""
OWN: list[dict[str, Any]] = [
    {"take": "value", "value": {"fact_text": "of one's own"}},
    {"take": "delete"},
]
"""Decisions for what neither side has."""


def protect(core: Session, branch: str, *requires: str) -> None:
    core.ok("memory_branch_protect", branch_name=branch, requires=requires)


def test_every_operation_that_writes_is_sorted() -> None:
    """A new one belongs in one of the tables, and is tried then."""
    writing = {name for name, t in TOOLS.items() if t.operation.effect is not Effect.READ}
    assert writing == DIRECT.keys() | ELSEWHERE | ALLOWED


@pytest.fixture(scope="module")
def guarded(core: Session) -> tuple[str, dict[str, Arguments]]:
    """A protected branch, and arguments with which every tool would write to it."""
    branch = "protected"
    core.ok("memory_branch_create", branch_name=branch, parent_branch="empty")
    given = prepared(core, branch)
    task = given["memory_consolidate"]["task_id"]
    core.ok(
        "memory_write_observation",
        observation_type="insight",
        summary="Tea is drunk.",
        task_id=task,
        branch=branch,
    )
    given["memory_consolidate"] |= {"branch": branch}
    for tool in ("memory_cherry_pick_conversation", "knowledge_bundle_import"):
        given[tool] |= {"target_branch": branch}
    protect(core, branch, "review")
    return branch, given


@pytest.mark.parametrize("tool", DIRECT)
def test_nothing_writes_to_a_protected_branch(
    core: Session, guarded: tuple[str, dict[str, Arguments]], tool: str
) -> None:
    branch, given = guarded
    error = core.refused(tool, "branch_protected", **{**given[tool], **DIRECT[tool]})
    assert branch in error["message"]
    assert "review_open" in error["message"]


def test_protection_is_shown_set_and_lifted(core: Session, branch: str) -> None:
    protect(core, branch, "other", "review")
    tree = core.ok("memory_branch_topology", root_branch=branch)
    assert tree["metadata"]["protection"] == ["review", "other"]
    core.refused("memory_write_fact", "branch_protected", fact_text="x", branch=branch)
    core.refused("memory_branch_protect", "invalid_request", branch_name=branch, requires=["luck"])
    protect(core, branch)
    core.ok("memory_write_fact", fact_text="x", branch=branch)


@pytest.mark.parametrize("strategy", ["auto", "squash", "cherry_pick"])
def test_no_strategy_merges_without_a_review(core: Session, pair: Pair, strategy: str) -> None:
    protect(core, pair.target, "review")
    items = {"items": [pair.changed]} if strategy == "cherry_pick" else {}
    error = core.refused(
        "memory_branch_merge",
        "branch_protected",
        source_branch=pair.source,
        target_branch=pair.target,
        strategy=strategy,
        choices=None if items else [{"id": pair.conflict, "take": "ours"}],
        **items,
    )
    assert error["details"]["missing"] == ["review"]


def test_a_review_merges_once_every_conflict_is_decided_or_held_on_purpose(
    core: Session, pair: Pair
) -> None:
    protect(core, pair.target, "review")
    review = review_of(core, pair.source, pair.target)
    seen = shown(core, review)
    assert (seen["requires"], list(seen["missing"]), seen["can_merge"]) == (
        ["review"],
        ["review"],
        False,
    )
    error = core.refused("review_merge", "branch_protected", review_id=review)
    assert "take=skip" in error["message"]
    assert decide(core, review, pair.conflict, "skip")["can_merge"]
    assert core.ok("review_merge", review_id=review)["rejected_count"] == 1


def test_the_gate_lets_verified_facts_pass(core: Session, fork: Fork, write: Write) -> None:
    target = fork()
    source = fork(target)
    fact = write(source, "new")
    pair = Pair(source, target, fact, fact, fact, fact)
    protect(core, target, "gate")
    both = {"source_branch": source, "target_branch": target}
    core.refused("memory_branch_merge", "branch_protected", **both, strategy="auto")
    verdict = {"verdict": "verified", "reason": "seen"}
    core.ok("verify_fact", fact_id=fact, branch=source, **verdict)
    assert core.ok("verify_merge_gate", **both)["can_merge"]
    merge(core, pair)
    assert fact in facts(core, target)


def test_what_is_held_on_a_protected_branch_is_decided_on_a_fork(core: Session, pair: Pair) -> None:
    merge(core, pair)
    protect(core, pair.target, "review")
    (item,) = core.ok("memory_held", branch=pair.target)["items"]
    take = {"action": "take", "id": item["id"]}
    core.refused("memory_held", "branch_protected", **take, branch=pair.target)
    fork = f"{pair.target}/held"
    core.ok("memory_branch_create", branch_name=fork, parent_branch=pair.target)
    core.ok("memory_held", **take, branch=fork)
    review = review_of(core, fork, pair.target)
    assert [row["group"] for row in shown(core, review)["rows"]] == ["changed"]
    core.ok("review_merge", review_id=review)
    assert facts(core, pair.target)[pair.conflict] == "conflict, source"
    assert core.ok("memory_held", branch=pair.target)["items"] == []


def test_a_protected_branch_is_neither_squashed_away_nor_merged_by_nobody(
    core: Session, fork: Fork, write: Write
) -> None:
    guarded = fork()
    other = fork(guarded)
    write(guarded, "new")
    protect(core, guarded, "other")
    both = {"source_branch": guarded, "target_branch": other}
    core.refused("memory_branch_merge", "refused", **both, strategy="squash")
    core.ok("memory_branch_merge", **both, strategy="auto")
    write(other, "newer")
    both = {"source_branch": other, "target_branch": guarded}
    error = core.refused("memory_branch_merge", "branch_protected", **both, strategy="auto")
    assert "token" in error["message"]


def test_who_may_merge_may_undo_a_merge_and_bring_nothing_new(tmp_path: Path) -> None:
    with opened(tmp_path / "store", create=True) as store:
        fact = write_by(store, None, "main", "old")
        fork_by(store, "ann", "side")
        by(store, "ann", "memory_update_fact", fact_id=fact, fact_text="new", branch="side")
        call(store, "memory_branch_protect", branch_name="main", requires=["other"])
        merge_id = merge_by(store, "bob", "side")["merge_id"]
        writer = Caller(access=Access("bob", scope="write"))
        undo = TOOLS["memory_revert"]
        refused(lambda: undo.call(store.context(writer), {"commit": merge_id}), "forbidden")
        for own in OWN:
            choices = [{"id": fact, **own}]
            refused(
                partial(by, store, "bob", "memory_revert", commit=merge_id, choices=choices),
                "branch_protected",
            )
        by(store, "bob", "memory_revert", commit=merge_id)
        found = call(store, "memory_timeline")["result"]
        assert [memory["content"] for memory in found] == ["old"]


# By tokens


def by(store: OpenStore, token: str | None, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool as the bearer of a token does."""
    caller = Caller(agent_id=token, access=Access(token))
    answer: dict[str, Any] = TOOLS[tool].call(store.context(caller), arguments)
    return answer


def merge_by(store: OpenStore, token: str | None, source: str, **more: Any) -> dict[str, Any]:
    given = {"source_branch": source, "strategy": "auto", **more}
    return by(store, token, "memory_branch_merge", **given)


def fork_by(store: OpenStore, token: str, name: str, parent: str = "main") -> None:
    by(store, token, "memory_branch_create", branch_name=name, parent_branch=parent)


def write_by(store: OpenStore, token: str | None, branch: str, text: str = "new") -> str:
    made: str = by(store, token, "memory_write_fact", fact_text=text, branch=branch)["id"]
    return made


def test_another_token_than_the_authors_must_merge(tmp_path: Path) -> None:
    with opened(tmp_path / "store", create=True) as store:
        call(store, "memory_branch_protect", branch_name="main", requires=["other"])
        fork_by(store, "ann", "side")
        fact = write_by(store, "ann", "side")
        for token in ("ann", None):
            refused(partial(merge_by, store, token, "side"), "branch_protected", "token")
    with opened(tmp_path / "store") as store:  # who wrote is known to the next process
        for more in ({}, {"strategy": "cherry_pick", "items": [fact]}):
            refused(partial(merge_by, store, "ann", "side", **more), "branch_protected")
        assert merge_by(store, "bob", "side")["merged_count"] == 1


@pytest.mark.parametrize("wrote", ["edit", "retract", "decide", "verify", "pick"])
def test_whoever_changes_a_branch_is_an_author(tmp_path: Path, wrote: str) -> None:
    with opened(tmp_path / "store", create=True) as store:
        fact = write_by(store, None, "main", "old")
        talk = by(store, None, "memory_log_message", role="user", content="Tea?")
        fork_by(store, "ann", "side")
        fork_by(store, "ann", "talk")
        write_by(store, "ann", "side")
        ways: dict[str, tuple[str, dict[str, Any]]] = {
            "edit": ("memory_update_fact", {"fact_id": fact, "category": "x"}),
            "retract": ("memory_retract_fact", {"fact_id": fact}),
            "decide": ("memory_held", {"action": "dismiss", "id": "held_0"}),
            "verify": ("verify_fact", {"fact_id": fact, "verdict": "verified", "reason": "r"}),
            "pick": (
                "memory_cherry_pick_conversation",
                {"conversation_id": talk["conversation_id"], "target_branch": "side"},
            ),
        }
        tool, given = ways[wrote]
        where = {} if "target_branch" in given else {"branch": "side"}
        if wrote == "decide":
            refused(lambda: by(store, "bob", tool, **given, **where), "not_found")
        else:
            by(store, "bob", tool, **given, **where)
        call(store, "memory_branch_protect", branch_name="main", requires=["other"])
        refused(lambda: merge_by(store, "bob", "side"), "branch_protected")
        merge_by(store, "cy", "side")


def test_a_fork_or_a_merge_is_no_way_around_for_the_author(tmp_path: Path) -> None:
    with opened(tmp_path / "store", create=True) as store:
        write_by(store, "cy", "main", "old")
        call(store, "memory_branch_protect", branch_name="main", requires=["other"])
        fork_by(store, "ann", "side")
        write_by(store, "ann", "side")
        fork_by(store, "ann", "side/fork", "side")
        fork_by(store, "bob", "gathered")
        merge_by(store, "bob", "side", target_branch="gathered")
        for source in ("side/fork", "gathered"):
            refused(partial(merge_by, store, "ann", source), "branch_protected")
        merge_by(store, "cy", "side/fork")  # what she wrote on main is there already
        write_by(store, "dan", "gathered")
        merge_by(store, "bob", "gathered")


@pytest.mark.parametrize("own", OWN, ids=["value", "delete"])
def test_who_opened_the_review_or_wrote_in_it_does_not_merge_it(tmp_path: Path, own: Any) -> None:
    with opened(tmp_path / "store", create=True) as store:
        fact = write_by(store, None, "main", "old")
        fork_by(store, "ann", "side")
        for branch in ("side", "main"):
            by(store, "ann", "memory_update_fact", fact_id=fact, fact_text=branch, branch=branch)
        requires = ["review", "other"]
        call(store, "memory_branch_protect", branch_name="main", requires=requires)
        review = by(store, "bob", "review_open", source_branch="side")["id"]
        decision = {"id": fact, **own}
        by(store, "cy", "review_decide", review_id=review, decisions=[decision])
        for token in ("ann", "bob", "cy", None):
            missing = by(store, token, "review_show", review_id=review)["missing"]
            assert list(missing) == ["other"]
            refused(
                partial(by, store, token, "review_merge", review_id=review),
                "branch_protected",
            )
        assert by(store, "dan", "review_show", review_id=review)["can_merge"]
        by(store, "dan", "review_merge", review_id=review)


@pytest.mark.parametrize("own", OWN, ids=["value", "delete"])
def test_what_one_decides_alone_is_for_others_to_merge(tmp_path: Path, own: Any) -> None:
    with opened(tmp_path / "store", create=True) as store:
        fact = write_by(store, None, "main", "old")
        fork_by(store, "ann", "side")
        by(store, "ann", "memory_update_fact", fact_id=fact, fact_text="new", branch="side")
        call(store, "memory_branch_protect", branch_name="main", requires=["other"])
        choices = [{"id": fact, **own}]
        refused(lambda: merge_by(store, "bob", "side", choices=choices), "branch_protected")
        fork_by(store, "ann", "gathered")
        merge_by(store, "bob", "side", choices=choices, target_branch="gathered")
        refused(lambda: merge_by(store, "bob", "gathered"), "branch_protected")
        merge_by(store, "cy", "gathered")


def test_a_protected_branch_is_neither_retired_nor_deleted(tmp_path: Path) -> None:
    with opened(tmp_path / "store", create=True) as store:
        call(store, "memory_branch_create", branch_name="side")
        call(store, "memory_branch_enrich", branch_name="side", ttl_days=1)
        call(store, "memory_branch_protect", branch_name="side", requires=["gate"])
        later = store.context(Caller()).clock() + 3 * 86_400_000_000
        assert retirable_branches(store.repo, "main", later) == []
        refused(
            lambda: retire(store.repo, find(store.repo, "side"), later),
            "branch_protected",
            "memory_branch_protect(",
        )
        refused(
            lambda: delete(store.repo, find(store.repo, "side"), "main", later), "branch_protected"
        )
