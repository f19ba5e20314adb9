"""Redaction over MCP: from the moment it answers, no tool and no file gives the words back."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from day1.call.operation import Effect
from day1.toolsets import operations
from tests.forkserver import python
from tests.wires.mcp_session import Session, environment

SECRET = "plover4711"
"""A word that stands in everything that is redacted, and nowhere else."""
FIRST = f"The vault opens with {SECRET}."
KEPT = "The vault is in the cellar."


TELLING = {
    *("memory_search", "memory_timeline", "memory_graph_query", "memory_time_travel"),
    *("memory_branch_diff", "memory_merge_preview", "memory_held", "memory_history"),
    *("memory_list_conversations", "memory_search_messages", "memory_agent_timeline"),
    *("memory_session_context", "memory_handoff_get", "review_show"),
    *("memory_get", "memory_list"),
}
"""Tools that give the word until it is redacted."""


TOOLSETS = "core,review,browse"


class Told(NamedTuple):
    """A store in which the word was everywhere."""

    core: Session
    redacted: dict[str, str]
    """Ids by what they are of."""
    before: str
    """A time at which nothing was redacted."""
    names: dict[str, str]
    """Ids of what was made of it (bundle, handoff, review, task), and the time of a snapshot."""


def write(core: Session, text: str, branch: str = "main", **more: Any) -> str:
    made: str = core.ok("memory_write_fact", fact_text=text, branch=branch, **more)["id"]
    return made


def told(core: Session) -> tuple[dict[str, str], dict[str, str]]:
    """Say the word on main, on branches, in snapshots, held items, copies and ledger records."""
    core.ok("memory_branch_create", branch_name="empty")
    by = {"agent_id": "ada", "session_id": "s1"}
    ids = {"fact": write(core, FIRST, category=SECRET, **by)}
    write(core, KEPT, **by)
    ids["observation"] = core.ok(
        "memory_write_observation",
        observation_type="tool_use",
        summary=f"Saw {SECRET}.",
        tool_name=SECRET,
        raw_input=SECRET,
        raw_output=f"It was {SECRET}.",
        **by,
    )["id"]
    ids["relation"] = core.ok(
        "memory_write_relation",
        source_entity=SECRET,
        target_entity="vault",
        relation_type="opens",
        properties={"code": SECRET},
    )["id"]
    said = core.ok(
        "memory_log_message",
        role="assistant",
        content=f"Try {SECRET}.",
        thinking=f"Perhaps {SECRET}.",
        tool_calls=[{"try": SECRET}],
        title=f"About {SECRET}",
        **by,
    )
    ids |= {"message": said["message_id"], "conversation": said["conversation_id"]}
    names = {
        "told": core.ok("memory_snapshot", label="told")["created_at"],
        "bundle": core.ok("knowledge_bundle_create", name="vault", source_branch="main")["id"],
        "task": core.ok("memory_task_create", name="vault", task_type="bug_fix")["task_id"],
    }
    core.ok("memory_branch_create", branch_name="side")
    core.ok("memory_branch_create", branch_name="gone")
    core.ok("memory_template_create", name="vault", source_branch="main")
    core.ok(
        "memory_fork_conversation",
        conversation_id=ids["conversation"],
        fork_at_message_id=ids["message"],
        branch="side",
    )
    names["handoff"] = core.ok(
        "memory_handoff_create",
        source_branch="side",
        target_branch="gone",
        include_unverified=True,
        context_summary=f"Know this: {FIRST} And go.",
    )["handoff_id"]
    for branch, word in (("side", "then"), ("main", "now"), ("gone", "never")):
        text = f"The vault {word} opens with {SECRET}."
        core.ok(
            "memory_update_fact",
            fact_id=ids["fact"],
            fact_text=text,
            reason=f"not {SECRET}" if branch == "main" else None,
            branch=branch,
        )
    core.ok("memory_branch_merge", source_branch="side", target_branch="main", strategy="auto")
    held = core.ok("memory_held")["items"]
    assert SECRET in json.dumps(held)
    names["review"] = core.ok("review_open", source_branch="gone", target_branch="main")["id"]
    said_so = {"take": "value", "cell": "fact_text", "value": {"fact_text": f"Or {SECRET}?"}}
    core.ok("review_decide", review_id=names["review"], decisions=[{"id": ids["fact"], **said_so}])
    ids["old"] = write(core, f"An old {SECRET}.")
    core.ok("memory_supersede_fact", fact_id=ids["old"], fact_text="Nothing of it.")
    return ids, names


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    with Session(tmp_path_factory.mktemp("redacted") / "store", toolsets=TOOLSETS) as core:
        ids, names = told(core)
        write(core, FIRST, "gone")  # the same text, as another memory
        before = core.ok("memory_write_fact", fact_text="Meanwhile.")["created_at"]
        there = Told(core, ids, before, names)
        telling = {tool for tool, arguments in reads(there) if tells(core, tool, arguments)}
        assert telling >= TELLING, "they gave the word while nothing was redacted"
        for row_id in ids.values():
            done = core.ok("memory_redact", id=row_id, confirm=row_id, reason="It was a code.")
            assert (done["masked"], done["already"], done["purged"]) == (True, False, False)
        yield there


def tells(core: Session, tool: str, arguments: dict[str, Any]) -> bool:
    """Whether an answer has the word in it, but for the entity that it names again."""
    answer = core.call(tool, arguments)
    if answer.is_error:  # a row that a branch never had
        assert answer.structured["error"]["code"] == "not_found", (tool, answer.structured)
    given = json.dumps(answer.structured).replace(json.dumps(arguments.get("entity")), "")
    return SECRET in given


def reads(there: Told) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every reading tool with arguments under which it gave the word, or might."""
    both = {"source_branch": "side", "target_branch": "main"}
    for branch in ("main", "side", "gone"):
        here = {"branch": branch}
        for at in (None, there.before, there.names["told"]):
            for types in ("fact", "observation"):
                past = {"types": [types], "at": at, "include_inactive": True, **here}
                yield "memory_search", {"query": f"vault {SECRET} opens", **past}
            yield "memory_timeline", {"at": at, "limit": 500, **here}
            for entity in ("vault", SECRET):
                yield "memory_graph_query", {"entity": entity, "at": at, **here}
        yield "memory_time_travel", {"timestamp": there.before, "query": SECRET, **here}
        yield "memory_list_conversations", here
        yield "memory_search_messages", {"query": f"try {SECRET}", "neighbours": True, **here}
        yield "memory_snapshot_list", here
        yield "verify_merge_gate", {"source_branch": branch, "target_branch": "empty"}
        yield "memory_branch_diff", {"source_branch": branch, "target_branch": "empty"}
        for row_id in there.redacted.values():
            yield "memory_history", {"id": row_id, **here}
            yield "memory_blame", {"id": row_id, **here}
            for at in (None, there.before, "told"):
                yield "memory_get", {"id": row_id, "at": at, **here}
        for kind in ("fact", "observation", "relation", "conversation", "message"):
            for at in (None, there.before, "told"):
                yield "memory_list", {"type": kind, "at": at, **here}
        yield "memory_log", here
        yield "memory_held", here
    for tool in ("memory_branch_diff", "memory_merge_preview"):
        yield tool, both
        yield tool, {"source_branch": "gone", "target_branch": "main"}
    yield "memory_graph", {}
    yield "memory_branch_list", {}
    yield "memory_branch_topology", {}
    yield "memory_template_list", {}
    yield "knowledge_bundle_list", {}
    yield "memory_task_status", {"task_id": there.names["task"]}
    yield "memory_search_task", {"task_id": there.names["task"], "query": SECRET}
    yield "memory_agent_timeline", {"agent_id": "ada"}
    yield "memory_replay_task_type", {"task_type": "bug_fix"}
    yield "memory_session_context", {"session_id": "s1"}
    yield "memory_handoff_get", {"handoff_id": there.names["handoff"]}
    yield "review_list", {}
    yield "review_show", {"review_id": there.names["review"]}


def test_no_reading_tool_gives_the_words_back(store: Told) -> None:
    asked = set()
    for tool, arguments in reads(store):
        assert not tells(store.core, tool, arguments), (tool, arguments)
        asked.add(tool)
    reading = {op.name for op in operations(TOOLSETS) if op.effect is Effect.READ}
    assert reading <= asked, "a new tool that reads is to be asked here too"
    assert SECRET not in store.core.log.read_text()


def test_what_is_redacted_reads_so_and_the_rest_as_before(store: Told) -> None:
    texts = {r["id"]: r["content"] for r in store.core.found("memory_timeline", limit=500)}
    assert texts[store.redacted["fact"]] == "[redacted]"
    assert {KEPT, "Meanwhile.", "Nothing of it."} <= set(texts.values())
    handed = store.core.ok("memory_handoff_get", handoff_id=store.names["handoff"])
    assert handed["context_summary"] == "Know this: [redacted] And go."


def test_no_file_that_leaves_the_store_has_the_words(store: Told, tmp_path: Path) -> None:
    out, other = tmp_path / "all.jsonl", tmp_path / "other"
    bundle, taken = tmp_path / "vault.bundle", store.names["bundle"]
    day1(store.core.folder, "export", "--all", "--with-thinking", "--output", str(out))
    day1(store.core.folder, "bundle", "export", taken, str(bundle))
    for file in (out, bundle):
        assert SECRET not in file.read_text()
        assert "[redacted]" in file.read_text()
    day1(other, "import", "jsonl", str(out))
    day1(other, "bundle", "import", str(bundle))
    assert SECRET not in day1(other, "export")
    log = json.loads(day1(store.core.folder, "log", "--json"))
    changes = [commit["commit"] for commit in log["result"] if commit["op"] in {"change", "merge"}]
    shown = [("show", name) for name in (store.redacted["fact"], *changes)]
    commands = (*shown, ("log",), ("diff", "told"), ("diff", "main", "gone"), ("held",))
    said = day1(store.core.folder, program=(*_EACH, json.dumps(commands)))
    assert said.count("SAID") == len(commands)
    assert SECRET not in said


def test_the_index_has_none_of_the_words(store: Told) -> None:
    store.core.found("memory_search", query="vault")
    for file in store.core.folder.glob("index.db*"):
        assert SECRET.encode() not in file.read_bytes()


_EACH = (
    "-c",
    "import json, sys; from day1.app.cli import run\n"
    "for words in json.loads(sys.argv[1]): sys.exit(words) if run(words) else print('SAID')",
)
"""Many commands in one process: most of a command's time goes into its start."""


def day1(folder: Path, *arguments: str, program: tuple[str, ...] = ("-m", "day1")) -> str:
    """Run a command in a process of its own on a store."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(
        [*python(), *program, *arguments],
        env=environment(folder, PATH=os.environ["PATH"]),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def fact(core: Session, branch: str) -> str:
    """A fact of its own words: what is redacted is so in the whole store."""
    return write(core, f"Otters sleep on {branch}.", branch)


def test_redact_takes_a_confirmation(core: Session, branch: str, fact: str) -> None:
    asked = core.refused("memory_redact", "confirmation_needed", id=fact, branch=branch)
    assert asked["details"] == {"confirm": fact}
    assert "cannot be undone" in asked["message"]
    core.refused("memory_redact", "confirmation_needed", id=fact, confirm=branch, branch=branch)
    core.refused("memory_redact", "not_found", id="fact_0", confirm="fact_0", branch=branch)
    why = f"because Otters sleep on {branch}."
    said = core.refused("memory_redact", "invalid_request", id=fact, confirm=fact, reason=why)
    assert "Otters" not in json.dumps(said)


def test_redacting_again_is_harmless(core: Session, branch: str, fact: str) -> None:
    done = core.ok("memory_redact", id=fact, confirm=fact, branch=branch)
    assert (done["texts"], done["rows"], done["branches"]) == (1, 1, 1)
    assert "purging" in done["written"]["notes"][0]
    again = core.ok("memory_redact", id=fact, confirm=fact, branch=branch)
    assert again == {**done, "already": True}


def test_a_redacted_text_that_is_written_again_is_masked(
    core: Session, branch: str, fact: str
) -> None:
    """The same text is masked, and no duplicate of anything; the row's new text is shown."""
    core.ok("memory_redact", id=fact, confirm=fact)
    again = core.ok("memory_write_fact", fact_text=f"Otters sleep on {branch}.", branch=branch)
    assert again["near_duplicate_of"] is None
    core.ok("memory_update_fact", fact_id=fact, fact_text=f"{branch} is a holt.", branch=branch)
    texts = {r["id"]: r["content"] for r in core.found("memory_timeline", branch=branch)}
    assert texts == {fact: f"{branch} is a holt.", again["id"]: "[redacted]"}
    assert [h["id"] for h in core.found("memory_search", query="holt", branch=branch)] == [fact]
    assert core.found("memory_search", query="otters sleep redacted", branch=branch) == []
    before = core.found("memory_timeline", branch=branch, at=again["created_at"])
    assert {row["content"] for row in before} == {"[redacted]"}


def test_another_process_sees_a_redaction_at_once(tmp_path: Path) -> None:
    with Session(tmp_path / "store") as core:
        row = write(core, FIRST)
        write(core, KEPT)
        assert len(core.found("memory_search", query="vault")) == 2  # and holds what it read
        day1(core.folder, "redact", row[-6:], "--confirm", row[-6:], "--reason", "a code")
        assert [h["fact_text"] for h in core.found("memory_search", query="vault")] == [KEPT]
        assert {r["content"] for r in core.found("memory_timeline")} == {"[redacted]", KEPT}
