"""Messages are found over MCP: by words and meaning, with their place and neighbours."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.embedding_server import embedding_server
from tests.forkserver import python
from tests.wires.conftest import Fork
from tests.wires.logged_messages import merge, say, talk
from tests.wires.mcp_session import Session, environment

NULLABLE = "string|null = null"
ROLES = "user|assistant|system|tool"


@pytest.mark.line("S1-065")
def test_search_messages_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_search_messages") == {
        "query": "string!",
        "branch": NULLABLE,
        "space": NULLABLE,
        "conversation_id": NULLABLE,
        "role": f"{ROLES}|null = null",
        "limit": "integer|null 1..200 = 10",
        "search_type": 'hybrid|vector|keyword|null = "hybrid"',
        "neighbours": "boolean|null = false",
        "full": "boolean|null = false",
    }


@pytest.mark.line("S1-065")
def test_messages_are_found_on_their_branch_by_conversation_and_role(
    core: Session, branch: str, fork: Fork
) -> None:
    chat = talk(core, branch, "the gateway waits", "nothing")
    answer = say(core, branch, "gateway: 30 seconds", chat, role="assistant", agent_id="bo")
    other = talk(core, branch, "another gateway")
    talk(core, fork(), "a gateway elsewhere")
    core.ok("memory_write_fact", fact_text="A gateway is no message.", branch=branch)

    def search(**given: Any) -> list[dict[str, Any]]:
        return core.found("memory_search_messages", query="gateway?", branch=branch, **given)

    assert {hit["content"] for hit in search()} == {
        "said the gateway waits",
        "said gateway: 30 seconds",
        "said another gateway",
    }
    assert [hit["conversation_id"] for hit in search(conversation_id=other)] == [other]
    (hit,) = search(role="assistant")
    assert set(hit) == {
        "message_id", "conversation_id", "sequence", "role", "content", "score", "created_at",
        "happened_at", "agent_id", "neighbours",
    }  # fmt: skip
    assert (hit["message_id"], hit["conversation_id"]) == (answer["message_id"], chat)
    assert (hit["sequence"], hit["role"], hit["agent_id"]) == (3, "assistant", "bo")
    assert 0 <= hit["score"] <= 1
    assert hit["neighbours"] is None
    assert search(role="system") == search(conversation_id="conv_x") == []
    assert len(search(limit=2)) == 2
    scores = [hit["score"] for hit in search()]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.line("S1-065")
def test_neighbours_in_time_are_given_when_asked_for(core: Session, branch: str) -> None:
    chat = talk(core, branch, "who drinks zebra milk", "x" * 300)
    say(core, branch, "nobody", chat, role="assistant")

    def neighbours(query: str) -> list[dict[str, Any]]:
        (hit,) = core.found(
            "memory_search_messages", query=query, branch=branch, neighbours=True, limit=1
        )
        found: list[dict[str, Any]] = hit["neighbours"]
        return found

    (after,) = neighbours("zebra")
    assert after["sequence"] == 2
    assert len(after["content"]) <= 202
    (before,) = neighbours("nobody")
    assert before["sequence"] == 2
    (middle,) = core.found(
        "memory_search_messages", query="x" * 300, branch=branch, neighbours=True
    )
    assert [(n["sequence"], n["role"], n["content"]) for n in middle["neighbours"]] == [
        (1, "user", "said who drinks zebra milk"),
        (3, "assistant", "said nobody"),
    ]


@pytest.mark.line("S1-065")
def test_thinking_is_neither_searched_nor_told(core: Session, branch: str) -> None:
    said = say(core, branch, "tea", thinking="hippopotamus", tool_calls=[{"q": "okapi"}])
    for word in ("hippopotamus", "okapi"):
        assert core.found("memory_search_messages", query=word, branch=branch) == []
    answers = [
        core.ok("memory_search_messages", query="tea", branch=branch, neighbours=True),
        core.ok("memory_list_conversations", branch=branch),
        core.ok("memory_branch_diff", source_branch="empty", target_branch=branch),
    ]
    core.ok("memory_retract_fact", fact_id=said["message_id"], branch=branch)
    answers.append(core.ok("memory_branch_diff", source_branch=branch, target_branch="empty"))
    assert "hippopotamus" not in json.dumps(answers)


@pytest.mark.line("S1-065")
def test_messages_are_found_by_meaning(tmp_path: Path) -> None:
    with (
        embedding_server() as url,
        Session(
            tmp_path / "store",
            DAY1_EMBEDDER__KIND="openai",
            DAY1_EMBEDDER__URL=url,
            DAY1_EMBEDDER__MODEL="meaning",
        ) as session,
    ):
        chat = talk(session, "main", "an automobile", "a loaf")
        session.ok("memory_branch_create", branch_name="side")
        say(session, "side", "a vehicle", chat)
        for kind in ("vector", "hybrid"):
            found = session.ok(
                "memory_search_messages", query="car", search_type=kind, branch="side", limit=2
            )
            assert found["read"]["mode"] == kind
            assert {hit["content"] for hit in found["result"]} == {
                "said an automobile",
                "said a vehicle",
            }
        merge(session, "side", "main")
        hits = session.found("memory_search_messages", query="car", limit=2)
        assert sorted(hit["sequence"] for hit in hits) == [1, 3]


@pytest.mark.parametrize("options", [[], ["--all"]])
def test_an_export_has_thinking_only_when_asked(tmp_path: Path, options: list[str]) -> None:
    folder = tmp_path / "store"
    with Session(folder) as session:
        say(session, "main", "tea", thinking="hippopotamus")

    def exported(*more: str) -> str:
        command = [*python(), "-m", "day1", "export", *options, *more]
        done = subprocess.run(
            command, env=environment(folder), capture_output=True, text=True, check=True
        )
        return done.stdout

    assert '"thinking":null' in exported()
    assert '"thinking":"hippopotamus"' in exported("--with-thinking")
