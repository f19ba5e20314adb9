"""Conversations over MCP: log and list them, and merge continuations of one."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.wires.conftest import Fork
from tests.wires.logged_messages import hits, merge, say, talk, told
from tests.wires.mcp_session import ISO, Session
from tests.wires.raw_pipe import RawPipe

NULLABLE = "string|null = null"
ROLES = "user|assistant|system|tool"
WRITER = dict.fromkeys(("agent_id", "session_id", "task_id"), NULLABLE)


# Log


@pytest.mark.line("S1-062")
def test_log_message_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_log_message") == {
        "conversation_id": NULLABLE,
        "role": f"{ROLES}!",
        "content": "string!",
        "thinking": NULLABLE,
        "tool_calls": "[any]|null = null",
        "model": NULLABLE,
        "branch": NULLABLE,
        "title": NULLABLE,
        "happened_at": NULLABLE,
        "space": NULLABLE,
        **WRITER,
    }


@pytest.mark.line("S1-062", "S1-063")
def test_a_conversation_begins_with_its_first_message_and_goes_on(
    core: Session, branch: str
) -> None:
    first = say(core, branch, "hello")
    assert set(first) == {"message_id", "conversation_id", "sequence", "written"}
    assert first["message_id"].startswith("msg_")
    assert first["conversation_id"].startswith("conv_")
    assert first["sequence"] == 1
    assert first["written"]["branch"] == branch
    assert first["written"]["pending"] == 2, "the conversation and its message"
    again = say(core, branch, "hello", first["conversation_id"])
    assert again["conversation_id"] == first["conversation_id"]
    assert (again["sequence"], again["written"]["pending"]) == (2, 3)
    other = say(core, branch, "hello")
    assert (other["conversation_id"] != first["conversation_id"], other["sequence"]) == (True, 1)
    assert told(core, branch, first["conversation_id"]) == ["hello", "hello"]


@pytest.mark.line("S1-062")
def test_all_of_a_message_is_kept_as_it_was_logged(core: Session, branch: str) -> None:
    calls = [{"name": "read", "arguments": {"b": 1, "a": [None, True, "é"]}}, "bare", 7]
    said = say(
        core,
        branch,
        "  北京 \U0001f680\n",
        role="assistant",
        thinking="First I looked.",
        tool_calls=calls,
        model="model-1",
        happened_at="2026-03-01T12:00:00+02:00",
        agent_id="ada",
        session_id="s-1",
    )
    (row,) = core.everything([branch])[branch]["messages"]
    assert row["content"] == "said   北京 \U0001f680\n"
    assert (row["role"], row["model"], row["thinking"]) == (
        "assistant",
        "model-1",
        "First I looked.",
    )
    assert json.loads(row["tool_calls"]) == calls
    assert row["tool_calls"] == json.dumps(
        calls, ensure_ascii=False, sort_keys=True, separators=(",", ":")
    )
    assert (row["agent_id"], row["session_id"], row["previous_id"]) == ("ada", "s-1", None)
    (hit,) = hits(core, branch, said["conversation_id"])
    assert hit["happened_at"] == "2026-03-01T10:00:00.000000+00:00"
    assert (hit["agent_id"], hit["role"]) == ("ada", "assistant")


@pytest.mark.line("S1-062")
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"content": ""}, "content"),
        ({"content": " \n"}, "content"),
        ({"content": None}, "content"),
        ({"content": "a\0b"}, "content"),
        ({"role": "robot"}, "role"),
        ({"role": None}, "role"),
        ({"thinking": "a\0b"}, "thinking"),
        ({"thinking": "x" * 32_769}, "thinking"),
        ({"tool_calls": {"name": "read"}}, "tool_calls"),
        ({"tool_calls": [{"n": 2**53 + 1}]}, "tool_calls"),
        ({"tool_calls": [{"a\0b": 1}]}, "tool_calls"),
        ({"tool_calls": ["x" * 32_768]}, "tool_calls"),
        ({"conversation_id": ""}, "conversation_id"),
    ],
)
def test_a_message_out_of_bounds_is_refused_by_argument(
    core: Session, branch: str, arguments: dict[str, Any], named: str
) -> None:
    given = {"role": "user", "content": "Tea?", "branch": branch, **arguments}
    error = core.refused("memory_log_message", "invalid_request", **given)
    assert [p["argument"].split(".")[0] for p in error["details"]["problems"]] == [named]


@pytest.mark.line("S1-062")
def test_half_a_character_in_a_message_is_refused(tmp_path: Path) -> None:
    with RawPipe(tmp_path / "store") as pipe:
        for rest in ('"content":"\\ud83c"', '"content":"a","tool_calls":["\\ud83c"]'):
            result = pipe.call("memory_log_message", f'{{"role":"user",{rest}}}')
            assert result["structuredContent"]["error"]["code"] == "invalid_request"
        listed = pipe.call("memory_list_conversations", "{}")
        assert listed["structuredContent"]["result"] == []


@pytest.mark.line("S1-062")
def test_a_message_to_a_conversation_of_another_branch_names_the_branches_that_have_it(
    core: Session, branch: str, fork: Fork
) -> None:
    other = fork()
    chat = talk(core, branch, "a")
    child = fork(branch)
    asked = {"role": "user", "content": "b", "conversation_id": chat}
    error = core.refused("memory_log_message", "not_found", branch=other, **asked)
    assert set(error["details"]["branches"]) == {branch, child}
    assert branch in error["message"]
    unknown = {**asked, "conversation_id": "conv_x"}
    error = core.refused("memory_log_message", "not_found", branch=branch, **unknown)
    assert error["details"]["branches"] == []
    error = core.refused("memory_log_message", "invalid_request", branch=branch, title="t", **asked)
    assert "title" in error["message"]


@pytest.mark.line("S1-063")
def test_two_processes_that_log_at_once_make_one_chain(
    core: Session, branch: str, tmp_path: Path
) -> None:
    chat = talk(core, branch, "start")
    each = 25
    places: list[int] = []
    with Session(core.folder) as other:

        def log(session: Session, name: str) -> None:
            for number in range(each):
                places.append(say(session, branch, f"{name} {number}", chat)["sequence"])

        threads = [
            threading.Thread(target=log, args=pair) for pair in ((core, "one"), (other, "two"))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(places) == list(range(2, 2 * each + 2)), "no place is given twice"
        said = told(other, branch, chat)
    assert said == told(core, branch, chat)
    assert [s for s in said if s.startswith("one")] == [f"one {n}" for n in range(each)]
    assert [s for s in said if s.startswith("two")] == [f"two {n}" for n in range(each)]
    chain = [hit["message_id"] for hit in hits(core, branch, chat)]
    rows = {row["id"]: row for row in core.everything([branch])[branch]["messages"]}
    assert [rows[i]["previous_id"] for i in chain] == [None, *chain[:-1]]


@pytest.mark.line("S1-062", "S1-063")
def test_a_conversation_goes_on_after_a_restart(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    with Session(folder) as first:
        chat = talk(first, "main", "a", "b")
    with Session(folder) as second:
        assert say(second, "main", "c", chat)["sequence"] == 3
        assert told(second, "main", chat) == ["a", "b", "c"]


# Merged continuations


@pytest.mark.line("S1-062", "S1-063")
def test_two_continuations_are_merged_whole_the_targets_first(
    core: Session, branch: str, fork: Fork
) -> None:
    chat = talk(core, branch, "a", "b")
    side = fork(branch)
    # By time they alternate, and the source's begins.
    for text, where in (("s1", side), ("t1", branch), ("s2", side), ("t2", branch)):
        say(core, where, text, chat)
    merge(core, side, branch)
    assert told(core, branch, chat) == ["a", "b", "t1", "t2", "s1", "s2"]
    assert told(core, side, chat) == ["a", "b", "s1", "s2"]
    assert say(core, branch, "c", chat)["sequence"] == 7
    assert say(core, branch, "d", chat)["sequence"] == 8
    assert told(core, branch, chat) == ["a", "b", "t1", "t2", "s1", "s2", "c", "d"]

    merge(core, branch, side)  # the other way: what was there stays first
    assert told(core, side, chat) == ["a", "b", "s1", "s2", "c", "d", "t1", "t2"]
    assert say(core, side, "e", chat)["sequence"] == 9
    merge(core, side, branch)
    assert told(core, branch, chat) == ["a", "b", "t1", "t2", "e", "s1", "s2", "c", "d"]


@pytest.mark.line("S1-063")
def test_a_branch_forked_after_a_merge_reads_the_same_order(
    core: Session, branch: str, fork: Fork
) -> None:
    chat = talk(core, branch, "a")
    side, third = fork(branch), fork(branch)
    for text, where in (("x1", third), ("s1", side), ("t1", branch)):
        say(core, where, text, chat)
    merge(core, side, branch)
    merge(core, third, branch)
    whole = ["a", "t1", "s1", "x1"]
    assert told(core, branch, chat) == whole
    child = fork(branch)
    assert told(core, child, chat) == whole
    assert say(core, child, "c", chat)["sequence"] == 5
    merge(core, child, branch)
    assert told(core, branch, chat) == [*whole, "c"]


# List


@pytest.mark.line("S1-064")
def test_list_conversations_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_list_conversations") == {
        "branch": NULLABLE,
        "session_id": NULLABLE,
        "agent_id": NULLABLE,
        "task_id": NULLABLE,
        "space": NULLABLE,
        "limit": "integer|null 1..200 = 20",
    }


@pytest.mark.line("S1-064")
def test_conversations_are_listed_with_counts_the_most_active_first(
    core: Session, branch: str, fork: Fork
) -> None:
    old = talk(core, branch, "a", "b")
    long = "  words\n" * 30
    titled = core.ok(
        "memory_log_message", role="user", content="x", title="Tea time", branch=branch
    )["conversation_id"]
    talk(core, fork(), "elsewhere")
    wordy = core.ok("memory_log_message", role="user", content=long, branch=branch)
    last = say(core, branch, "c", old)
    answer = core.ok("memory_list_conversations", branch=branch)
    assert answer["read"]["branch"] == branch
    found = answer["result"]
    assert [c["conversation_id"] for c in found] == [old, wordy["conversation_id"], titled]
    assert [c["message_count"] for c in found] == [3, 1, 1]
    assert found[0]["title"] == "said a"
    assert found[1]["title"].startswith("words words ")
    assert len(found[1]["title"]) <= 62
    assert found[2]["title"] == "Tea time"
    assert {c["branch"] for c in found} == {branch}
    assert set(found[0]) == {
        "conversation_id", "title", "branch", "session_id", "agent_id", "task_id",
        "message_count", "created_at", "updated_at",
    }  # fmt: skip
    assert ISO.fullmatch(found[0]["updated_at"])
    assert found[0]["created_at"] < found[0]["updated_at"]
    (newest,) = [h for h in hits(core, branch, old) if h["message_id"] == last["message_id"]]
    assert found[0]["updated_at"] == newest["created_at"]
    assert [
        c["conversation_id"]
        for c in core.found("memory_list_conversations", branch=branch, limit=2)
    ] == [old, wordy["conversation_id"]]


@pytest.mark.line("S1-064")
def test_conversations_are_found_by_who_began_them(core: Session, branch: str) -> None:
    ada = say(core, branch, "a", agent_id="ada", session_id="s-1", task_id="t-1")
    bo = say(core, branch, "b", agent_id="bo", session_id="s-1")
    say(core, branch, "c", ada["conversation_id"], agent_id="bo")

    def listed(**given: Any) -> list[str]:
        found = core.found("memory_list_conversations", branch=branch, **given)
        return [c["conversation_id"] for c in found]

    one, other = ada["conversation_id"], bo["conversation_id"]
    assert listed() == listed(session_id="s-1") == [one, other]
    assert listed(agent_id="ada") == listed(task_id="t-1") == [one]
    assert listed(agent_id="bo", session_id="s-1") == [other]
    assert listed(agent_id="bo", task_id="t-1") == []
    (item,) = core.found("memory_list_conversations", branch=branch, agent_id="ada")
    assert (item["agent_id"], item["session_id"], item["task_id"]) == ("ada", "s-1", "t-1")


@pytest.mark.line("S1-064")
def test_an_old_conversation_that_goes_on_is_listed_before_many_newer_ones(
    core: Session, branch: str
) -> None:
    old = say(core, branch, "old", agent_id="ada")["conversation_id"]
    other = talk(core, branch, "other")
    newer = [talk(core, branch, f"new {n}") for n in range(4)]
    for n in range(30):
        say(core, branch, f"more {n}", newer[-1])
    say(core, branch, "again", old)
    say(core, branch, "busy", newer[-1])

    def listed(**given: Any) -> list[str]:
        found = core.found("memory_list_conversations", branch=branch, **given)
        return [c["conversation_id"] for c in found]

    assert listed(limit=2) == [newer[-1], old]
    assert listed(limit=1, agent_id="ada") == [old]
    assert listed() == [newer[-1], old, *newer[-2::-1], other]
