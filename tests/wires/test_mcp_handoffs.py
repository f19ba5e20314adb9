"""Handoffs over MCP: what one branch found out, frozen for another and copied to it."""

import json
from typing import Any

import pytest

from day1.model.rows.kind import CONVERSATION, FACT, MESSAGE
from day1.services.branches.deleting import delete
from day1.services.branches.lookup import find
from tests.engine import compact
from tests.flows.opened_store import opened
from tests.wires.conftest import Fork, Write
from tests.wires.mcp_session import ISO, Session
from tests.wires.other_processes import judge, rows, same_rows

MARK = "Hmm-78"
"""A thought, which is for nobody else."""


def hand(core: Session, source: str, target: str, **more: Any) -> dict[str, Any]:
    return core.ok("memory_handoff_create", source_branch=source, target_branch=target, **more)


def packet(core: Session, handoff: dict[str, Any]) -> dict[str, Any]:
    return core.ok("memory_handoff_get", handoff_id=handoff["handoff_id"])


def say(core: Session, branch: str, text: str, conversation: str | None = None) -> dict[str, Any]:
    return core.ok(
        "memory_log_message",
        role="assistant",
        content=text,
        thinking=f"{MARK} {text}",
        conversation_id=conversation,
        branch=branch,
    )


@pytest.fixture
def source(core: Session, branch: str, fork: Fork, write: Write) -> str:
    """Forked from `branch`, which had a verified fact and a conversation before."""
    judge(core, branch, "verified", write(branch, "known before"))
    say(core, branch, "said before")
    return fork(branch)


@pytest.fixture
def found(core: Session, source: str, write: Write) -> dict[str, str]:
    """Facts of the source by their verdict; the verified one was edited by another agent."""
    facts = {v: write(source, v, agent_id="ada") for v in ("verified", "unverified", "invalidated")}
    core.ok(
        "memory_update_fact",
        fact_id=facts["verified"],
        category="kept",
        branch=source,
        agent_id="bo",
    )
    for verdict in ("verified", "invalidated"):
        judge(core, source, verdict, facts[verdict])
    return facts


@pytest.mark.line("S1-081", "S1-083")
def test_handoffs_take_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_handoff_create") == {
        "source_branch": "string!",
        "target_branch": "string!",
        "handoff_type": "task_continuation|agent_switch|session_handoff|escalation|null"
        ' = "task_continuation"',
        "include_unverified": "boolean|null = false",
        "context_summary": "string|null = null",
    }
    assert core.takes("memory_handoff_get") == {"handoff_id": "string!"}


@pytest.mark.line("S1-081", "S1-082")
def test_a_handoff_carries_what_its_source_found_out_and_was_verified(
    core: Session, branch: str, source: str, found: dict[str, str]
) -> None:
    talk = say(core, source, "Who?")
    say(core, source, "Ada.", talk["conversation_id"])
    made = hand(core, source, branch, handoff_type="agent_switch", context_summary="Go on.")
    written = made.pop("written")
    assert made.pop("handoff_id").startswith("handoff_")
    assert made == {
        "fact_count": 1,
        "conversation_count": 1,
        "left_out": 2,
        "copied": 4,
        "context_summary": "Go on.",
    }
    assert written["branch"] == branch
    assert "2 facts were left out" in written["notes"][0]
    same_rows(core, source, branch, FACT, {found["verified"]})
    same_rows(core, source, branch, CONVERSATION, {talk["conversation_id"]})
    assert not {found["unverified"], found["invalidated"]} & rows(core, branch, FACT).keys()


@pytest.mark.line("S1-082")
def test_unverified_facts_come_if_they_are_asked_for_and_invalidated_ones_never(
    core: Session, branch: str, source: str, found: dict[str, str]
) -> None:
    made = hand(core, source, branch, include_unverified=True)
    assert (made["fact_count"], made["left_out"]) == (2, 1)
    handed = {f["id"]: f["verification"] for f in packet(core, made)["facts"]}
    assert handed == {found["verified"]: "verified", found["unverified"]: "unverified"}
    assert found["invalidated"] not in rows(core, branch, FACT)


@pytest.mark.line("S1-081", "S1-083")
def test_a_packet_says_what_was_handed_over(
    core: Session, branch: str, source: str, found: dict[str, str]
) -> None:
    first = say(core, source, "Who?")
    second = say(core, source, "Ada.", first["conversation_id"])
    made = hand(core, source, branch)
    assert made["context_summary"] == (
        f"{source} hands over to {branch}: 1 fact and 1 conversation."
    )
    got = packet(core, made)
    assert ISO.fullmatch(got.pop("created_at"))
    assert got.pop("read")["branch"] == source
    (fact,), (talk,) = got.pop("facts"), got.pop("conversations")
    assert got == {
        "handoff_id": made["handoff_id"],
        "handoff_type": "task_continuation",
        "source_branch": source,
        "target_branch": branch,
        "context_summary": made["context_summary"],
        "left_out": 2,
        "size": {"characters": len("verifiedWho?Ada."), "most": 128_000, "left_out": 0},
        "created_by": None,
    }
    assert fact.pop("created_at")
    assert fact == {
        "id": found["verified"],
        "fact_text": "verified",
        "category": "kept",
        "confidence": 1.0,
        "verification": "verified",
        "agent_id": "ada",
    }
    assert (talk["conversation_id"], talk["branch"]) == (first["conversation_id"], source)
    assert [(m["message_id"], m["sequence"], m["content"]) for m in talk["messages"]] == [
        (first["message_id"], 1, "Who?"),
        (second["message_id"], 2, "Ada."),
    ]


def test_of_a_packet_that_is_too_large_the_newest_messages_are_given(
    core: Session, branch: str, source: str, found: dict[str, str]
) -> None:
    long, first = "word " * 6_000, say(core, source, "Where did it begin?")
    for _ in range(5):
        say(core, source, long, first["conversation_id"])
    last = say(core, source, "Where does it end?", first["conversation_id"])
    got = packet(core, hand(core, source, branch))
    (talk,) = got["conversations"]
    assert [fact["id"] for fact in got["facts"]] == [found["verified"]]
    assert talk["messages"][-1]["message_id"] == last["message_id"]
    assert got["size"]["characters"] <= got["size"]["most"] < 5 * len(long)
    assert got["size"]["left_out"] == 7 - len(talk["messages"]) == 1
    assert branch in got["read"]["notes"][0]


@pytest.mark.line("S1-081")
def test_a_conversation_that_went_on_is_handed_over_whole(
    core: Session, branch: str, source: str
) -> None:
    (known,) = core.found("memory_list_conversations", branch=source)
    say(core, source, "said since", known["conversation_id"])
    made = hand(core, source, branch)
    assert (made["conversation_count"], made["copied"]) == (1, 1)
    (talk,) = packet(core, made)["conversations"]
    assert [m["content"] for m in talk["messages"]] == ["said before", "said since"]
    (there,) = core.found("memory_list_conversations", branch=branch)
    assert there["message_count"] == 2


@pytest.mark.line("S1-083")
def test_a_handoff_stays_as_it_was_made(
    core: Session, branch: str, source: str, found: dict[str, str]
) -> None:
    say(core, source, "Who?")
    made = hand(core, source, branch, include_unverified=True)
    before = packet(core, made)
    for side in (source, branch):
        core.ok("memory_update_fact", fact_id=found["verified"], fact_text="other", branch=side)
        core.ok("memory_retract_fact", fact_id=found["unverified"], branch=side)
    talk = before["conversations"][0]["conversation_id"]
    say(core, source, "More.", talk)
    assert packet(core, made) == before
    with opened(core.folder) as store:
        delete(store.repo, find(store.repo, source), "main", 1)
        compact(store.repo.store, core.folder)
    after = packet(core, made)
    assert (after["source_branch"], after["read"]["branch"]) == ("", None)
    gone = {"source_branch": "", "read": {**before["read"], "branch": None}}
    talks = [{**c, "branch": ""} for c in before["conversations"]]
    assert after == {**before, **gone, "conversations": talks}


@pytest.mark.line("S1-081")
def test_a_merge_after_a_handoff_is_silent(
    core: Session, branch: str, source: str, found: dict[str, str]
) -> None:
    say(core, source, "Who?")
    hand(core, source, branch, include_unverified=True)
    again = hand(core, source, branch, include_unverified=True)
    assert (again["fact_count"], again["copied"]) == (2, 0), "the target had all of it"
    merged = core.ok(
        "memory_branch_merge", source_branch=source, target_branch=branch, strategy="auto"
    )
    assert (merged["merged_count"], merged["rejected_count"]) == (1, 0), "the invalidated one"
    for kind in (FACT, CONVERSATION, MESSAGE):
        assert rows(core, source, kind) == rows(core, branch, kind)


@pytest.mark.line("S1-081")
def test_a_row_that_the_target_has_otherwise_is_not_overwritten(
    core: Session, branch: str, source: str, found: dict[str, str]
) -> None:
    hand(core, source, branch)
    core.ok("memory_update_fact", fact_id=found["verified"], fact_text="mine", branch=branch)
    made = hand(core, source, branch)
    assert (made["fact_count"], made["copied"]) == (1, 0)
    assert rows(core, branch, FACT)[found["verified"]]["fact_text"] == "mine"
    assert packet(core, made)["facts"][0]["fact_text"] == "verified"


@pytest.mark.line("S1-081")
def test_superseded_facts_stay_behind_and_main_hands_over_all_it_has(
    core: Session, branch: str, write: Write, fork: Fork
) -> None:
    target = fork(branch)
    old = write(branch, "The port is 80.")
    new = core.ok("memory_supersede_fact", fact_id=old, fact_text="It is 81.", branch=branch)["id"]
    made = hand(core, branch, target, include_unverified=True)
    assert [f["id"] for f in packet(core, made)["facts"]] == [new]
    core.ok("memory_write_fact", fact_text="On main.", branch="main")
    from_main = hand(core, "main", fork(), include_unverified=True)
    active = [f for f in rows(core, "main", FACT).values() if f["status"] == "active"]
    assert from_main["fact_count"] == len(active)


@pytest.mark.line("S1-081", "S1-083")
def test_what_cannot_be_handed_over_is_refused(core: Session, branch: str, fork: Fork) -> None:
    kept = core.ok("memory_template_create", name=branch, source_branch=branch)["branch_name"]
    squashed = fork(branch)
    core.ok("memory_write_fact", fact_text="New.", branch=squashed)
    core.ok("memory_branch_merge", source_branch=squashed, target_branch=branch, strategy="squash")
    for source, target, code in (
        (branch, branch, "invalid_request"),
        (branch, kept, "branch_closed"),
        (branch, squashed, "branch_closed"),
        (branch, "nowhere", "unknown_branch"),
        ("nowhere", branch, "unknown_branch"),
    ):
        core.refused("memory_handoff_create", code, source_branch=source, target_branch=target)
    error = core.refused("memory_handoff_get", "not_found", handoff_id="handoff_x")
    assert error["details"] == {"handoff_id": "handoff_x"}
    assert hand(core, kept, branch)["fact_count"] == 0, "a closed branch may hand over"


@pytest.mark.line("S1-083")
def test_no_thinking_is_handed_over(core: Session, branch: str, source: str) -> None:
    say(core, source, "Who?")
    made = hand(core, source, branch)
    assert MARK not in json.dumps([made, packet(core, made)])


def test_what_two_branches_judged_alike_is_no_conflict(
    core: Session, branch: str, fork: Fork, write: Write
) -> None:
    fact = write(branch, "The mill of Ann was built in 1890 at the river.")
    write(branch, "The mill of Ann was built in 1890.", agent_id="bo")
    source = fork(branch)
    for judged in (source, branch):
        core.ok("verify_fact", fact_id=fact, branch=judged)
    made = hand(core, source, branch, include_unverified=True)
    assert made["written"]["notes"] == []
    bundle = core.ok(
        "knowledge_bundle_create", name="mill", source_branch=source, only_verified=False
    )
    imported = core.ok("knowledge_bundle_import", bundle_id=bundle["id"], target_branch=branch)
    assert imported["left"] == []
