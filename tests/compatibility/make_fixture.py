"""Make what test_earlier_versions.py opens: a small, rich memory in every format, and its answers.

Run it with the code of the version that is to be kept, and with an empty folder beside this file:

    PYTHONPATH=CLONE_OF_THAT_VERSION python tests/compatibility/make_fixture.py made_by_0_1_0
"""

import json
import lzma
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

Answers = list[dict[str, Any]]
REDACTED = "The password of the printer is swordfish."


class Day1:
    """The command line of the version that PYTHONPATH names, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        """Begin without a store."""
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith("DAY1_")}
        self._env = {**kept, "HOME": str(folder), "DAY1_EMBEDDER__KIND": "none"}

    def __call__(self, *arguments: str) -> str:
        """Run a command; answers what it printed. Exit code 3 says that a merge held something."""
        ran = self._run(arguments, self._env)
        assert ran.returncode in (0, 3), (arguments, ran.stderr)
        return ran.stdout

    def killed(self, at: str, *arguments: str) -> None:
        """Run a command that kills itself at a named point."""
        ran = self._run(arguments, {**self._env, "DAY1_KILL_AT": at})
        assert ran.returncode == -signal.SIGKILL, (arguments, ran.stderr)

    def _run(
        self, arguments: tuple[str, ...], env: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "day1", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=env, capture_output=True, text=True, check=False
        )

    def json(self, *arguments: str) -> Any:
        """Run a command with `--json`."""
        return json.loads(self(*arguments, "--json"))

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call an operation."""
        return json.loads(self("call", tool, json.dumps(arguments)))


def fill(day1: Day1) -> Answers:
    """Make the memory; answers what to ask of it, without the answers."""
    call = day1.call
    day1("init")
    call("memory_branch_protect", branch_name="main", requires=[])
    ada = {"agent_id": "ada", "session_id": "s1"}
    deploy = call(
        "memory_write_fact",
        fact_text="The deploy job waits 20 seconds.",
        category="operations",
        confidence=0.8,
        happened_at="2025-03-01T09:00:00Z",
        **ada,
    )["id"]
    tea = call("memory_write_fact", fact_text="Ada drinks tea.", category="preference", **ada)["id"]
    office = call("memory_write_fact", fact_text="The office is in Oslo.", **ada)["id"]
    wrong = call("memory_write_fact", fact_text="The office has a slide.", **ada)["id"]
    call(
        "memory_write_observation",
        observation_type="tool_use",
        summary="The tests of the deploy job pass.",
        tool_name="Bash",
        raw_input="pytest tests/deploy",
        raw_output="12 passed",
        **ada,
    )
    call("memory_write_observation", observation_type="error", summary="No room on disk.", **ada)
    relation = {"relation_type": "depends_on", "properties": {"since": 2024, "strict": True}}
    call(
        "memory_write_relation", source_entity="Deploy", target_entity="Registry", **relation, **ada
    )
    call("memory_write_relation", source_entity="Registry", target_entity="Disk", **relation)
    said = call(
        "memory_log_message",
        role="user",
        content="How long does the deploy job wait?",
        title="Deploys",
        **ada,
    )
    conversation = said["conversation_id"]
    answered = call(
        "memory_log_message",
        conversation_id=conversation,
        role="assistant",
        content="It waits 20 seconds: the café’s “registry” is slow. 🚀",
        thinking="Look at the facts first.",
        tool_calls=[{"name": "memory_search", "arguments": {"query": "deploy"}}],
        model="some-model",
        **ada,
    )["message_id"]
    before = call("memory_snapshot", label="before")["created_at"]
    newer = call("memory_supersede_fact", fact_id=office, fact_text="The office is in Bergen.")
    call("memory_retract_fact", fact_id=wrong, reason="It was a joke.")
    call("verify_fact", fact_id=tea, verdict="verified", reason="She said so.", **ada)
    call("verify_fact", fact_id=deploy, verdict="verified", scores={"accuracy": 0.9})

    call("memory_branch_create", branch_name="earlier", description="What Bob found.")
    call("memory_branch_enrich", branch_name="earlier", purpose="deploys", tags=["a", "b"])
    for branch, seconds in (("earlier", 30), ("main", 60)):
        text = f"The deploy job waits {seconds} seconds."
        call("memory_update_fact", fact_id=deploy, fact_text=text, branch=branch, reason="Measured")
    bob = {"agent_id": "bob", "session_id": "s2", "branch": "earlier"}
    call("memory_write_fact", fact_text="The deploy job needs 4 GB.", confidence=0.5, **bob)
    call("memory_branch_merge", source_branch="earlier", strategy="auto", agent_id="carol")
    call("memory_update_fact", fact_id=deploy, confidence=0.1, branch="earlier")
    mistake = call("memory_log", branch="earlier", limit=1)["result"][0]["commit"]
    call("memory_revert", commit=mistake, branch="earlier", agent_id="carol")

    call("memory_branch_create", branch_name="review-me")
    bob["branch"] = "review-me"
    call("memory_update_fact", fact_id=tea, fact_text="Ada drinks coffee.", branch="review-me")
    call("memory_update_fact", fact_id=tea, fact_text="Ada drinks water.", category="taste")
    lunch = call("memory_write_fact", fact_text="Lunch is at noon.", category="office", **bob)["id"]
    review = call("review_open", source_branch="review-me", title="Lunch", description="Is it?")
    decisions = [{"id": lunch, "take": "theirs"}]
    call("review_decide", review_id=review["id"], decisions=decisions, agent_id="carol")
    fork = call(
        "memory_fork_conversation", conversation_id=conversation, fork_at_message_id=answered
    )["forked_conversation_id"]
    call("memory_cherry_pick_conversation", conversation_id=fork, target_branch="review-me")
    call("memory_branch_create_curated", branch_name="chosen", fact_ids=[tea])

    objectives = [{"description": "Find out."}, {"description": "Write it down."}]
    task = call("memory_task_create", name="Upgrade", task_type="feature", objectives=objectives)
    task_id = task["task_id"]
    joined = call("memory_task_join", task_id=task_id, agent_id="dan", role="tester")
    dan = {"branch": joined["branch_name"], "agent_id": "dan", "task_id": task_id}
    call("memory_write_fact", fact_text="The upgrade needs a window of an hour.", **dan)
    done = {"objective_id": 0, "status": "completed", "notes": "An hour."}
    call("memory_task_update", task_id=task_id, agent_id="dan", **done)
    types = {"applicable_task_types": ["feature"], "tags": ["start"]}
    call("memory_template_create", name="begin", source_branch="chosen", **types)
    call("memory_template_instantiate", template_name="begin", target_branch_name="begun")
    handoff = call(
        "memory_handoff_create",
        source_branch="main",
        target_branch="begun",
        context_summary="Go on with the deploys.",
    )["handoff_id"]
    call("knowledge_bundle_create", name="Deploys", source_branch="main", only_verified=False)
    for scope, name in (("write", "ada"), ("read", "old")):
        day1("token", "create", name, "--scope", scope)
    day1("token", "revoke", "old")

    secret = call("memory_write_fact", fact_text=REDACTED, **ada)["id"]
    call("memory_snapshot", label="secret")
    call("memory_redact", id=secret, confirm=secret, reason="It was a password.")
    day1("gc", "--purge-redacted")  # commits get other ids, and say which one each of them was
    other = call("memory_write_fact", fact_text="The key is under the mat.", branch="begun")["id"]
    call("memory_redact", id=other, confirm=other, branch="begun")
    merged = call("memory_graph")["merges"][-1]["merge_id"]
    day1("gc")
    call("memory_write_fact", fact_text="This row waits for its commit.", **ada)
    day1("switch", "earlier")

    commit = call("memory_log", branch="main", limit=1)["result"][0]["commit"]
    return questions(
        {"fact": deploy, "other": tea, "new": newer["id"], "redacted": secret, "commit": commit},
        {"task": task_id, "handoff": handoff, "review": review["id"], "before": before},
        {"conversation": conversation, "merge": merged},
    )


def questions(*names: dict[str, str]) -> Answers:
    """What is asked; a command has `--json`, an operation its arguments."""
    of = {name: value for named in names for name, value in named.items()}
    calls: list[tuple[str, dict[str, Any]]] = [
        *(
            ("memory_list", {"type": kind, "branch": branch, "limit": 200})
            for kind in ("fact", "observation", "relation", "conversation", "message")
            for branch in ("main", "review-me")
        ),
        *(("memory_log", {"branch": b, "limit": 100}) for b in ("main", "earlier", "chosen")),
        *(("memory_history", {"id": of[n], "branch": "main"}) for n in ("fact", "new", "redacted")),
        *(("memory_blame", {"id": of[n], "branch": "main"}) for n in ("fact", "other", "redacted")),
        ("memory_get", {"id": of["fact"], "branch": "main", "at": "before"}),
        ("memory_get", {"id": of["fact"], "branch": "main", "at": of["commit"]}),
        ("memory_list", {"type": "fact", "branch": "main", "at": of["before"]}),
        ("memory_search", {"query": "deploy job", "branch": "main", "search_type": "keyword"}),
        ("memory_search", {"query": "office", "branch": "main", "include_inactive": True}),
        ("memory_search", {"query": "disk", "branch": "main", "types": ["observation"]}),
        ("memory_search", {"query": "swordfish", "branch": "main"}),
        ("memory_search_messages", {"query": "registry", "branch": "main", "neighbours": True}),
        ("memory_time_travel", {"timestamp": of["before"], "query": "office", "branch": "main"}),
        ("memory_timeline", {"branch": "main"}),
        ("memory_agent_timeline", {"agent_id": "bob"}),
        ("memory_graph_query", {"entity": "Registry", "depth": 2, "branch": "main"}),
        ("memory_branch_list", {}),
        ("memory_branch_topology", {"include_archived": True}),
        ("memory_graph", {}),
        ("memory_branch_diff", {"source_branch": "review-me", "target_branch": "main"}),
        ("memory_branch_diff", {"source_branch": "main", "target_branch": "earlier"}),
        ("memory_merge_preview", {"source_branch": "review-me"}),
        ("memory_held", {"branch": "main"}),
        ("memory_snapshot_list", {}),
        ("memory_list_conversations", {"branch": "main"}),
        ("memory_session_context", {"session_id": "s1"}),
        ("memory_session_context", {"session_id": "s2"}),
        ("memory_task_status", {"task_id": of["task"]}),
        ("memory_search_task", {"task_id": of["task"], "query": "window"}),
        ("memory_replay_task_type", {"task_type": "feature"}),
        ("memory_template_list", {}),
        ("memory_handoff_get", {"handoff_id": of["handoff"]}),
        ("knowledge_bundle_list", {}),
        ("verify_merge_gate", {"source_branch": "review-me"}),
        ("review_list", {"status": "all"}),
        ("review_show", {"review_id": of["review"]}),
        ("memory_revert", {"commit": of["merge"], "branch": "main", "preview": True}),
        ("token_list", {}),
    ]
    commands = [
        *(("status",), ("branch", "-v"), ("topology",), ("log", "--all"), ("held", "-b", "main")),
        *(("show", of["conversation"], "-b", "main"), ("show", of["commit"])),
        *(("task", "list"), ("diff", "main", "earlier"), ("history", of["other"], "-b", "main")),
        ("search", "deploy", "-b", "main", "--all-types", "--all-states"),
    ]
    return [
        *({"ask": ["call", tool, json.dumps(arguments)]} for tool, arguments in calls),
        *({"ask": [*command, "--json"]} for command in commands),
    ]


def answered(day1: Day1, asked: Answers) -> Answers:
    """The questions with their answers, asked one after the other."""
    answers = [{**one, "answer": json.loads(day1(*one["ask"]))} for one in asked]
    for one in answers:
        one["answer"].pop("store", None)  # where it lies
    return answers


def make(into: Path, work: Path) -> None:
    """Make the four files and their answers in a folder."""
    places = {name: work / name for name in ("made", "unpacked", "imported", "bundled")}
    for place in places.values():
        place.mkdir()
    store, bundle = into / "store.tar.xz", work / "bundle"
    made = Day1(places["made"])
    asked = fill(made)
    with tarfile.open(store, "w:xz", preset=9) as packed:
        packed.add(places["made"] / ".day1", ".day1")
    keep(into / "export.jsonl.xz", made("export", "--all", "--with-thinking"))
    made("backup", str(into / "backup.tar.gz"))
    bundle_id = made.call("knowledge_bundle_list")["bundles"][0]["id"]
    made("bundle", "export", bundle_id, str(bundle))
    keep(into / "bundle.jsonl.xz", bundle.read_text(encoding="utf-8"))

    with tarfile.open(store) as packed:
        packed.extractall(places["unpacked"])
    of_store = answered(Day1(places["unpacked"]), asked)
    bundled = Day1(places["bundled"])
    bundled("init")
    bundled("bundle", "import", str(bundle))
    kinds = ("fact", "relation", "conversation", "message")
    rows = [{"ask": ["call", "memory_list", json.dumps({"type": kind})]} for kind in kinds]
    of_bundle = [  # the commits of a new store have other ids each time
        {**one, "answer": {"rows": one["answer"]["rows"]}} for one in answered(bundled, rows)
    ]
    answers = {"store": of_store, "bundle": of_bundle}
    keep(into / "answers.json.xz", json.dumps(answers, ensure_ascii=False, indent=1))


def interrupted(work: Path) -> Answers:
    """Make a store for each operation that a killed process leaves half done.

    Answers what that version itself said of each, after it had finished or withdrawn the operation.
    """
    begun = Day1(work / "begun")
    begun.folder.mkdir()
    begun("init")
    begun.call("memory_branch_protect", branch_name="main", requires=[])
    tea = begun.call("memory_write_fact", fact_text="Ada drinks tea.")["id"]
    begun.call("memory_branch_create", branch_name="side")
    begun.call("memory_write_fact", fact_text="Tea is green.", branch="side")
    task = {"name": "Upgrade", "task_type": "feature", "objectives": [{"description": "Plan."}]}
    chosen = {"branch_name": "chosen", "fact_ids": [tea]}
    merge = {"source_branch": "side", "strategy": "auto", "agent_id": "carol"}
    redact = {"id": tea, "confirm": tea, "reason": "It was private."}
    killed: dict[str, tuple[str, list[str], list[list[str]]]] = {
        "fork": ("fork.after_deed", _call("memory_task_create", task), []),
        "fill": ("fill.after_rows", _call("memory_branch_create_curated", chosen), []),
        "delete": ("delete.after_deed", ["branch", "-D", "side"], []),
        "merge": ("merge.after_deed", _call("memory_branch_merge", merge), []),
        "retire": ("retire.marked", ["gc", "--retire"], [_call("memory_branch_merge", merge)]),
        "revive": (
            "revive.forked",
            ["switch", "side"],
            [_call("memory_branch_merge", merge), ["gc", "--retire"]],
        ),
        "redact": ("redact.after_intent", _call("memory_redact", redact), []),
        "purge": ("purge.replaced", ["gc", "--purge-redacted"], [_call("memory_redact", redact)]),
    }
    for name, (point, command, before) in killed.items():
        day1 = Day1(work / name)
        shutil.copytree(begun.folder, day1.folder)
        for earlier in before:
            day1(*earlier)
        day1.killed(point, *command)
    asked: Answers = [
        *({"ask": [*command, "--json"]} for command in (["topology"], ["log", "--all"])),
        *({"ask": _call(tool, {})} for tool in ("memory_branch_list", "memory_graph")),
        {"ask": _call("memory_list", {"type": "fact"})},
        {"ask": _call("memory_replay_task_type", {"task_type": "feature"})},
    ]
    answers: Answers = []
    for name in killed:
        copy = Day1(work / "recovered" / name)
        shutil.copytree(work / name, copy.folder)
        answers.append({"operation": name, "answers": answered(copy, asked)})
    return answers


def _call(tool: str, arguments: dict[str, Any]) -> list[str]:
    return ["call", tool, json.dumps(arguments)]


def make_interrupted(into: Path, work: Path) -> None:
    """Make the interrupted stores and their answers in a folder."""
    answers = interrupted(work)
    with tarfile.open(into / "interrupted.tar.xz", "w:xz", preset=9) as packed:
        for one in answers:
            name = one["operation"]
            packed.add(work / name / ".day1", f"{name}/.day1")
    text = json.dumps(answers, ensure_ascii=False, indent=1)
    keep(into / "interrupted.json.xz", text)


def keep(file: Path, text: str) -> None:
    """Write a text packed."""
    file.write_bytes(lzma.compress(text.encode(), preset=9))


if __name__ == "__main__":
    folder = Path(__file__).parent / sys.argv[1]
    folder.mkdir(exist_ok=True)
    working = Path(tempfile.mkdtemp())
    try:
        make(folder, working)
        make_interrupted(folder, working / "interrupted")
    finally:
        shutil.rmtree(working)
