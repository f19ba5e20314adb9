"""Curation over MCP: a branch of chosen rows only, and what a session left behind."""

import json
from typing import Any

import pytest

from day1.model.rows.kind import CONVERSATION, EDIT, FACT, MESSAGE, OBSERVATION, RELATION
from day1.services.branches.deleting import delete
from day1.services.branches.lookup import find
from day1.services.branches.retiring import retire
from tests.flows.opened_store import opened
from tests.wires.conftest import Fork, Write
from tests.wires.mcp_session import ISO, Session
from tests.wires.other_processes import rows

NULLABLE = "string|null = null"
IDS = "[string]|null = null"
MARK = "Hmm-77"
"""A thought, which is for nobody else."""


def say(core: Session, branch: str, *texts: str, **who: Any) -> tuple[str, list[str]]:
    """Log a conversation; gives its id and those of its messages."""
    said: dict[str, Any] = {"conversation_id": None}
    messages = []
    for text in texts:
        said = core.ok(
            "memory_log_message",
            conversation_id=said["conversation_id"],
            role="user",
            content=text,
            thinking=f"{MARK} {text}",
            branch=branch,
            **who,
        )
        messages.append(said["message_id"])
    return said["conversation_id"], messages


def curate(core: Session, parent: str, **chosen: Any) -> dict[str, Any]:
    return core.ok(
        "memory_branch_create_curated",
        branch_name=f"{parent}/curated",
        parent_branch=parent,
        **chosen,
    )


def left(core: Session, session: str, **limits: Any) -> dict[str, Any]:
    return core.ok("memory_session_context", session_id=session, **limits)


# Curated branches


@pytest.mark.line("S1-068")
def test_curating_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_branch_create_curated") == {
        "branch_name": "string!",
        "parent_branch": 'string|null = "main"',
        "conversation_ids": IDS,
        "fact_ids": IDS,
        "description": NULLABLE,
    }


@pytest.mark.line("S1-068", "S1-069")
def test_a_curated_branch_has_the_chosen_rows_as_they_are_and_no_others(
    core: Session, branch: str, write: Write
) -> None:
    plain = write(branch, "Ada drinks tea.", category="drinks", agent_id="ada")
    edited = write(branch, "Bo drinks tea.", agent_id="ada", happened_at="2020-01-01")
    write(branch, "Cy drinks tea.")
    core.ok(
        "memory_update_fact",
        fact_id=edited,
        fact_text="Bo drinks mate.",
        branch=branch,
        agent_id="bo",
        reason="asked him",
    )
    core.ok("memory_write_observation", observation_type="insight", summary="Tea.", branch=branch)
    core.ok(
        "memory_write_relation",
        source_entity="Ada",
        relation_type="drinks",
        target_entity="tea",
        branch=branch,
    )
    talk, messages = say(core, branch, "Who drinks?", "Ada.", agent_id="cy")
    say(core, branch, "Another.")

    made = curate(
        core, branch, fact_ids=[edited, plain], conversation_ids=[talk], description="The best."
    )
    curated = made["branch_name"]
    assert made.pop("written")["branch"] == curated
    assert made == {"branch_name": f"{branch}/curated", "conversations": 1, "facts": 2}
    chosen = {FACT: {plain, edited}, CONVERSATION: {talk}, MESSAGE: set(messages)}
    for kind in (FACT, CONVERSATION, MESSAGE, OBSERVATION, RELATION):
        there = rows(core, branch, kind)
        assert rows(core, curated, kind) == {i: there[i] for i in chosen.get(kind, set())}
    edits = {i: e for i, e in rows(core, branch, EDIT).items() if e["row_id"] == edited}
    assert rows(core, curated, EDIT) == edits
    assert {e["agent_id"] for e in edits.values()} == {"bo"}

    seen = {m["id"]: m["content"] for m in core.found("memory_timeline", branch=curated)}
    assert seen == {plain: "Ada drinks tea.", edited: "Bo drinks mate."}
    (listed,) = core.found("memory_list_conversations", branch=curated)
    assert (listed["conversation_id"], listed["message_count"]) == (talk, 2)
    (item,) = [b for b in core.found("memory_branch_list") if b["branch_name"] == curated]
    assert (item["parent"], item["description"]) == (branch, "The best.")


@pytest.mark.line("S1-068")
def test_a_chosen_fact_brings_what_supersedes_it(core: Session, branch: str, write: Write) -> None:
    old = write(branch, "The port is 80.")
    new = core.ok("memory_supersede_fact", fact_id=old, fact_text="The port is 81.", branch=branch)
    newest = core.ok(
        "memory_supersede_fact", fact_id=new["id"], fact_text="The port is 82.", branch=branch
    )
    made = curate(core, branch, fact_ids=[old])
    assert made["facts"] == 3
    assert rows(core, made["branch_name"], FACT) == rows(core, branch, FACT)
    hits = core.found("memory_search", query="port", branch=made["branch_name"])
    assert [h["id"] for h in hits] == [newest["id"]], "what is superseded is not found"


@pytest.mark.line("S1-068")
def test_what_cannot_be_curated_is_named_and_nothing_is_made(
    core: Session, branch: str, fork: Fork, write: Write
) -> None:
    here, elsewhere = write(branch, "here"), write(fork(), "elsewhere")
    talk, _ = say(core, branch, "Who?")
    name = f"{branch}/curated"
    chosen = {"branch_name": name, "parent_branch": branch}
    for given, unknown in (
        ({"fact_ids": [here, elsewhere, "fact_x"]}, [elsewhere, "fact_x"]),
        ({"fact_ids": [here], "conversation_ids": [talk, "conv_x"]}, ["conv_x"]),
        ({"fact_ids": [talk]}, [talk]),
    ):
        error = core.refused("memory_branch_create_curated", "not_found", **chosen, **given)
        assert error["details"] == {"ids": unknown}
        assert all(one in error["message"] for one in unknown)
    core.refused(
        "memory_branch_create_curated",
        "unknown_branch",
        branch_name=name,
        parent_branch="nowhere",
    )
    core.refused(
        "memory_branch_create_curated",
        "branch_exists",
        branch_name=branch.upper(),
        parent_branch=branch,
        fact_ids=[here],
    )
    core.refused("memory_branch_create_curated", "invalid_request", branch_name="a b")
    assert curate(core, branch, fact_ids=[here])["facts"] == 1, "the name was not spent"


@pytest.mark.line("S1-069")
def test_a_curated_branch_of_nothing_is_empty(core: Session, branch: str, write: Write) -> None:
    write(branch, "Not chosen.")
    made = curate(core, branch)
    assert (made["facts"], made["conversations"]) == (0, 0)
    assert core.found("memory_timeline", branch=made["branch_name"]) == []
    assert write(made["branch_name"], "New here.")


@pytest.mark.line("S1-069")
def test_merged_back_a_curated_branch_brings_only_what_is_new_on_it(
    core: Session, branch: str, write: Write
) -> None:
    facts = [write(branch, f"fact {number}") for number in range(3)]
    core.ok("memory_update_fact", fact_id=facts[0], confidence=0.5, branch=branch)
    talk, _ = say(core, branch, "Who?", "Ada.")
    made = curate(core, branch, fact_ids=facts[:2], conversation_ids=[talk])
    before = {kind: rows(core, branch, kind) for kind in (FACT, CONVERSATION, MESSAGE, EDIT)}
    back = {"source_branch": made["branch_name"], "target_branch": branch}
    merged = core.ok("memory_branch_merge", **back, strategy="auto")
    assert (merged["merged_count"], merged["rejected_count"]) == (0, 0)
    assert {kind: rows(core, branch, kind) for kind in before} == before

    new = write(made["branch_name"], "found on the curated branch")
    core.ok("memory_update_fact", fact_id=facts[1], category="kept", branch=made["branch_name"])
    merged = core.ok("memory_branch_merge", **back, strategy="auto")
    now = rows(core, branch, FACT)
    assert set(now) == {*facts, new}
    assert (merged["merged_count"], merged["rejected_count"]) == (2, 0)
    assert now[facts[1]]["category"] == "kept"
    assert now[facts[2]] == before[FACT][facts[2]], "what was not chosen is not removed"


# What a session left behind


@pytest.mark.line("S1-070")
def test_a_sessions_context_is_what_it_wrote_on_every_branch_newest_first(
    core: Session, branch: str, fork: Fork, write: Write
) -> None:
    assert core.takes("memory_session_context") == {
        "session_id": "string!",
        "message_limit": "integer|null 1..500 = 50",
        "fact_limit": "integer|null 1..500 = 20",
        "space": "string|null = null",
    }
    session = f"of {branch}"
    who = {"session_id": session, "agent_id": "ada"}
    first = write(branch, "first", category="c", confidence=0.5, **who)
    write(branch, "of another session", session_id="another")
    side = fork(branch)
    seen = core.ok(
        "memory_write_observation",
        observation_type="error",
        summary="401",
        tool_name="curl",
        branch=side,
        **who,
    )
    talk, messages = say(core, side, "one", "two", **who)
    second = write(side, "second", session_id=session, agent_id="bo", task_id="t1")
    third = write(branch, "third", **who)

    found = left(core, session)
    assert ISO.fullmatch(found["session"].pop("started_at"))
    assert set(found["session"].pop("branches")) == {branch, side}
    assert found["session"] == {"session_id": session, "agents": ["ada", "bo"], "tasks": ["t1"]}
    assert [f["id"] for f in found["facts"]] == [third, second, first]
    assert [f["branch"] for f in found["facts"]][:2] == [branch, side]
    assert found["facts"][2] == {
        "id": first,
        "fact_text": "first",
        "category": "c",
        "confidence": 0.5,
        "verification": "unverified",
        "branch": found["facts"][2]["branch"],
        "agent_id": "ada",
        "created_at": found["facts"][2]["created_at"],
    }
    (observation,) = found["observations"]
    assert (observation["id"], observation["branch"]) == (seen["id"], side)
    assert (observation["summary"], observation["tool_name"]) == ("401", "curl")
    (conversation,) = found["conversations"]
    assert (conversation["conversation_id"], conversation["branch"]) == (talk, side)
    assert [(m["message_id"], m["sequence"], m["content"]) for m in conversation["messages"]] == [
        (messages[0], 1, "one"),
        (messages[1], 2, "two"),
    ]
    assert MARK not in json.dumps(found), "nobody's thinking is handed on"


@pytest.mark.line("S1-070")
def test_limits_of_a_context_are_obeyed_with_the_newest(
    core: Session, branch: str, fork: Fork, write: Write
) -> None:
    session = f"of {branch}"
    side = fork(branch)
    facts = [write(side if n % 2 else branch, f"fact {n}", session_id=session) for n in range(6)]
    first, _ = say(core, branch, "a", "b", session_id=session)
    second, messages = say(core, side, "c", "d", "e", session_id=session)
    found = left(core, session, fact_limit=2, message_limit=4)
    assert [f["id"] for f in found["facts"]] == [facts[5], facts[4]]
    assert [
        (c["conversation_id"], [m["sequence"] for m in c["messages"]])
        for c in found["conversations"]
    ] == [(second, [1, 2, 3]), (first, [2])]
    (only,) = left(core, session, message_limit=1)["conversations"]
    assert [(m["message_id"], m["sequence"]) for m in only["messages"]] == [(messages[-1], 3)]
    for wrong in ({"fact_limit": 0}, {"message_limit": 501}):
        core.refused("memory_session_context", "invalid_request", session_id=session, **wrong)


@pytest.mark.line("S1-070")
def test_a_context_says_its_size_and_stays_within_it(
    core: Session, branch: str, write: Write
) -> None:
    session = f"of {branch}"
    for number in range(20):
        write(branch, f"{number} " + "long " * 1_000, session_id=session)
    say(core, branch, *("talk " * 500 for _ in range(3)), session_id=session)
    found = left(core, session)
    messages = [m for c in found["conversations"] for m in c["messages"]]
    texts = [f["fact_text"] for f in found["facts"]] + [m["content"] for m in messages]
    size = found["size"]
    assert size["characters"] == sum(map(len, texts))
    assert size["most"] - 2_100 < size["characters"] <= size["most"] == 32_000
    assert max(map(len, texts)) <= 2_002
    assert all(text.endswith(" \u2026") for text in texts), "a cut text says so"
    assert size["left_out"] == 23 - len(texts) > 0
    assert found["facts"][0]["fact_text"].startswith("19 "), "the newest are those given"


@pytest.mark.line("S1-070")
def test_what_was_retracted_or_superseded_is_not_in_a_context(
    core: Session, branch: str, write: Write
) -> None:
    session = f"of {branch}"
    who = {"session_id": session, "branch": branch}
    gone, old, kept = (write(text=t, **who) for t in ("gone", "old", "kept"))
    core.ok("memory_retract_fact", fact_id=gone, **who)
    new = core.ok("memory_supersede_fact", fact_id=old, fact_text="new", **who)["id"]
    assert [f["id"] for f in left(core, session)["facts"]] == [new, kept]


@pytest.mark.line("S1-070")
def test_a_session_is_found_where_its_branch_was_merged_to(
    core: Session, branch: str, fork: Fork, write: Write
) -> None:
    session, side, further = f"of {branch}", fork(branch), fork(branch)
    fact = write(side, "found out", session_id=session)
    talk, _ = say(core, side, "Who?", session_id=session)
    for source, target in ((side, further), (further, branch)):
        core.ok("memory_branch_merge", source_branch=source, target_branch=target, strategy="auto")
        with opened(core.folder) as store:
            delete(store.repo, find(store.repo, source), "main", 1)
        found = left(core, session)
        assert found["session"]["branches"] == [target]
        assert [(f["id"], f["branch"]) for f in found["facts"]] == [(fact, target)]
        assert [c["conversation_id"] for c in found["conversations"]] == [talk]


@pytest.mark.line("S1-070")
def test_a_session_is_found_on_a_retired_branch(core: Session, branch: str, write: Write) -> None:
    fact = write(branch, "on a branch to retire", session_id=f"of {branch}")
    with opened(core.folder) as store:
        retire(store.repo, find(store.repo, branch), 1)
    found = left(core, f"of {branch}")
    assert [(f["id"], f["branch"]) for f in found["facts"]] == [(fact, branch)]
    assert found["read"]["branch"] == "main"


@pytest.mark.line("S1-070")
def test_a_session_that_wrote_nothing_is_refused(core: Session) -> None:
    error = core.refused("memory_session_context", "not_found", session_id="nobody's")
    assert error["details"] == {"session_id": "nobody's"}
