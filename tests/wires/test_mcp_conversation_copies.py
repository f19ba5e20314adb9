"""Copies of conversations over MCP: forks that share nothing, and picks that are the same rows."""

import pytest

from tests.wires.conftest import Fork
from tests.wires.logged_messages import hits, merge, say, talk, told
from tests.wires.mcp_session import Session

NULLABLE = "string|null = null"
WRITER = dict.fromkeys(("agent_id", "session_id", "task_id"), NULLABLE)


# Fork


@pytest.mark.line("S1-066")
def test_a_fork_copies_up_to_the_message_and_shares_nothing(
    core: Session, branch: str, fork: Fork
) -> None:
    assert core.takes("memory_fork_conversation") == {
        "conversation_id": "string!",
        "fork_at_message_id": "string!",
        "branch": NULLABLE,
        "title": NULLABLE,
        **WRITER,
    }
    chat = talk(core, branch, "a", "b", "c", "d")
    original = hits(core, branch, chat)
    given = {"conversation_id": chat, "fork_at_message_id": original[2]["message_id"]}
    done = core.ok("memory_fork_conversation", branch=branch, title="Again", agent_id="bo", **given)
    forked = done["forked_conversation_id"]
    assert (done["messages_copied"], forked == chat) == (3, False)
    assert done["written"]["branch"] == branch
    assert told(core, branch, forked) == ["a", "b", "c"]
    copies = hits(core, branch, forked)
    assert {h["message_id"] for h in copies} & {h["message_id"] for h in original} == set()
    assert [h["happened_at"] for h in copies] == [h["created_at"] for h in original[:3]]
    assert say(core, branch, "e", forked)["sequence"] == 4
    assert say(core, branch, "f", chat)["sequence"] == 5
    core.ok("memory_retract_fact", fact_id=original[0]["message_id"], branch=branch)
    assert told(core, branch, forked) == ["a", "b", "c", "e"]
    assert told(core, branch, chat) == ["b", "c", "d", "f"]
    (item,) = core.found("memory_list_conversations", branch=branch, agent_id="bo")
    assert (item["conversation_id"], item["title"], item["message_count"]) == (forked, "Again", 4)
    twice = core.ok(
        "memory_fork_conversation",
        conversation_id=forked,
        fork_at_message_id=hits(core, branch, forked)[3]["message_id"],
        branch=branch,
    )
    assert told(core, branch, twice["forked_conversation_id"]) == ["a", "b", "c", "e"]


@pytest.mark.line("S1-066")
def test_a_fork_says_where_it_is_from_and_keeps_who_said_what(
    core: Session, branch: str, fork: Fork
) -> None:
    first = say(core, branch, "a", agent_id="ada", thinking="hm", tool_calls=[1])
    other = fork()
    done = core.ok(
        "memory_fork_conversation",
        conversation_id=first["conversation_id"],
        fork_at_message_id=first["message_id"],
        branch=other,
    )
    state = core.everything([branch, other])
    (was,), (now,) = state[branch]["messages"], state[other]["messages"]
    assert (now["origin_id"], now["origin_branch"]) == (was["id"], branch)
    for column in ("content", "role", "thinking", "tool_calls", "agent_id", "source"):
        assert now[column] == was[column]
    assert now["created_at"] > was["created_at"]
    (conversation,) = state[other]["conversations"]
    assert conversation["id"] == done["forked_conversation_id"] == now["conversation_id"]
    assert conversation["origin_id"] == first["conversation_id"]
    merge(core, other, branch)
    assert told(core, branch, first["conversation_id"]) == ["a"]


@pytest.mark.line("S1-066")
def test_a_fork_of_what_is_not_there_is_refused(core: Session, branch: str) -> None:
    chat, other = talk(core, branch, "a"), talk(core, branch, "b")
    foreign = hits(core, branch, other)[0]["message_id"]
    for conversation, message in ((chat, foreign), (chat, "msg_x"), ("conv_x", foreign)):
        core.refused(
            "memory_fork_conversation",
            "not_found",
            conversation_id=conversation,
            fork_at_message_id=message,
            branch=branch,
        )


# Cherry-pick


def pick(core: Session, chat: str, target: str, **more: int) -> int:
    done = core.ok(
        "memory_cherry_pick_conversation", conversation_id=chat, target_branch=target, **more
    )
    assert done["new_conversation_id"] == chat
    assert done["written"]["branch"] == target
    copied: int = done["messages_copied"]
    return copied


@pytest.mark.line("S1-067")
def test_a_pick_takes_the_range_once_and_a_later_merge_is_silent(
    core: Session, branch: str, fork: Fork
) -> None:
    assert core.takes("memory_cherry_pick_conversation") == {
        "conversation_id": "string!",
        "target_branch": "string!",
        "from_sequence": "integer|null 1.. = null",
        "to_sequence": "integer|null 1.. = null",
        **WRITER,
    }
    target = fork()
    chat = talk(core, branch, "a", "b", "c", "d")
    original = hits(core, branch, chat)
    some = {"conversation_id": chat, "target_branch": target, "from_sequence": 2, "to_sequence": 3}
    first = core.ok("memory_cherry_pick_conversation", **some)
    assert (first["new_conversation_id"], first["messages_copied"]) == (chat, 2)
    assert first["written"]["branch"] == target
    assert told(core, target, chat) == ["b", "c"]
    for here, there in zip(hits(core, target, chat), original[1:3], strict=True):
        assert {**here, "score": 0} == {**there, "score": 0, "sequence": here["sequence"]}
    again = core.ok("memory_cherry_pick_conversation", **some)
    assert again["messages_copied"] == 0
    assert again["written"]["notes"] == ["Nothing new to pick."]
    assert again["written"]["commit"] == first["written"]["commit"]

    assert pick(core, chat, target) == 2, "open at both ends: what was missing"
    assert told(core, target, chat) == ["a", "b", "c", "d"]
    say(core, branch, "e", chat)
    merge(core, branch, target)
    assert told(core, target, chat) == ["a", "b", "c", "d", "e"]
    merge(core, target, branch)
    assert told(core, branch, chat) == ["a", "b", "c", "d", "e"]


@pytest.mark.line("S1-067")
def test_what_is_picked_after_a_gap_follows_in_time(core: Session, branch: str, fork: Fork) -> None:
    target = fork()
    chat = talk(core, branch, "a", "b", "c", "d", "e")
    assert pick(core, chat, target, from_sequence=4) == 2
    assert say(core, target, "own", chat)["sequence"] == 3
    assert pick(core, chat, target, to_sequence=1) == 1
    assert told(core, target, chat) == ["a", "d", "e", "own"]
    assert pick(core, chat, target) == 2
    assert told(core, target, chat) == ["a", "b", "c", "d", "e", "own"]


@pytest.mark.line("S1-067")
def test_a_pick_of_what_is_not_there_is_refused(core: Session, branch: str, fork: Fork) -> None:
    chat, target = talk(core, branch, "a", "b"), fork()
    there = {"conversation_id": chat, "target_branch": target}
    for code, given in (
        ("not_found", {**there, "conversation_id": "conv_x"}),
        ("unknown_branch", {**there, "target_branch": "nowhere"}),
        ("invalid_request", {**there, "from_sequence": 3}),
        ("invalid_request", {**there, "from_sequence": 2, "to_sequence": 1}),
        ("invalid_request", {**there, "from_sequence": 0}),
    ):
        core.refused("memory_cherry_pick_conversation", code, **given)
    assert core.found("memory_list_conversations", branch=target) == []
    here = core.ok("memory_cherry_pick_conversation", conversation_id=chat, target_branch=branch)
    assert here["messages_copied"] == 0, "it is only there"


@pytest.mark.line("S1-066", "S1-067")
def test_the_active_branch_is_looked_at_first(core: Session, branch: str, fork: Fork) -> None:
    chat = talk(core, branch, "a")
    long, target = fork(branch), fork()
    say(core, long, "b", chat)
    with Session(core.folder, DAY1_BRANCH=long) as other:
        assert pick(other, chat, target) == 2
        assert told(other, target, chat) == ["a", "b"]
