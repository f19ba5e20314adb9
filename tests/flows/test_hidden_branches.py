"""Two stores that differ in hidden branches alone give a limited token the same answers.

Every tool is called: a new one must be entered in `CALLS`.
"""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from day1.call.operation import Effect
from day1.call.toolset import Tool
from day1.errors import Day1Error
from day1.interfaces.open_store import OpenStore
from day1.model.access.permissions import Access
from day1.model.branches.branch import MAIN
from day1.model.rows.origin import Origin
from day1.model.values.wallet_space import Owner
from day1.services.access.caller import Caller
from day1.services.archives.archiving import Archiving, create_archive
from day1.services.branches import retiring
from day1.services.branches.lookup import find
from day1.services.skills.mining import Extraction, extract_patterns
from day1.toolsets import LISTS
from day1.toolsets.over_http import TOOLSETS
from tests.engine import needs_files
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.compose_calls import COMPOSE_CALLS, OF_W, SAID, SESSION, TURN
from tests.flows.gwt_calls import GWT_CALLS
from tests.flows.opened_store import opened
from tests.tool_threads import FIX, asked, called, write_thread

Ids = dict[str, Any]
LIMITED = Access("token_1", "admin", ("mine/*",))
MINE = "mine/a"
TOOLS: dict[str, Tool] = {
    tool.qualified_name: tool
    for tool in (
        *(tool for toolset in TOOLSETS.values() for tool in toolset.tools.values()),
        *LISTS["combined"],
    )
}
LESSON = {"context": "Tea is cold", "action": "Made it anew", "result": "Hot tea"}
OTHER = {"context": "The deploy waits", "action": "Gave it memory", "result": "It runs"}
WALLET = Owner("ann")
RESTARTED = {"context": "Tea was late", "action": "Asked Ada", "result": "Tea in time"}


def deed(store: OpenStore, name: str, /, branch: str = MAIN, **arguments: Any) -> dict[str, Any]:
    """What somebody without limits does."""
    caller = Caller(agent_id="ann", session_id="s1", branch=branch)
    answer: dict[str, Any] = TOOLS[name].call(store.context(caller), arguments)
    return answer


def make(store: OpenStore) -> Ids:
    """What the limited token sees, and what it was forked from."""
    ids: Ids = {"shared": deed(store, "core.memory_write_fact", fact_text="Ada likes tea.")["id"]}
    ids["lesson"] = deed(store, "engram.memory_store", **LESSON)["id"]
    for name in ("mine/a", "mine/b"):
        deed(store, "core.memory_branch_create", branch_name=name, parent_branch=MAIN)
    job = {"type": "decay_update", "agentWallet": "ann"}
    ids["job"] = deed(store, "compose.jobs_create", MINE, **job)["jobId"]
    made = deed(store, "compose.schedules_create", MINE, agentWallets=["ann"])
    ids["schedule"] = made["scheduleIds"][-1]
    for text in ("Ada likes black tea.", "Bo likes the deploy job.", "The gate opens at nine."):
        ids["fact"] = deed(store, "core.memory_write_fact", MINE, fact_text=text)["id"]
    tea = {"source_entity": "Ada", "relation_type": "likes", "target_entity": "tea"}
    deed(store, "core.memory_write_relation", MINE, **tea)
    deed(store, "core.memory_write_observation", MINE, observation_type="insight", summary="Tea!")
    said = deed(store, "core.memory_log_message", MINE, role="user", content="Is there tea?")
    ids |= {"conversation": said["conversation_id"], "message": said["message_id"]}
    ids["old"] = deed(store, "core.memory_write_fact", MINE, fact_text="Cy drinks milk.")["id"]
    changed = deed(store, "review.memory_update_fact", MINE, fact_id=ids["old"], category="drink")
    ids["commit"] = changed["written"]["commit"]
    ids["snapshot"] = deed(store, "core.memory_snapshot", MINE, label="first")["snapshot_id"]
    bundle = deed(store, "core.knowledge_bundle_create", name="tea", source_branch=MINE)
    ids["bundle"] = bundle["id"]
    deed(store, "core.memory_write_fact", "mine/b", fact_text="Dee drinks tea.")
    deed(store, "review.memory_update_fact", "mine/b", fact_id=ids["shared"], category="theirs")
    deed(store, "review.memory_update_fact", MINE, fact_id=ids["shared"], category="ours")
    handoff = {"source_branch": "mine/b", "target_branch": MINE}
    ids["handoff"] = deed(store, "core.memory_handoff_create", **handoff)["handoff_id"]
    ids["review"] = deed(store, "review.review_open", **handoff)["id"]
    deed(store, "engram.memory_store", MINE, **OTHER)
    deed(store, "engram.memory_judge", MINE, memory_id=ids["shared"], score=0.4, query="tea")
    deed(store, "engram.memory_search", MINE, query="who likes tea?")
    deed(store, "kompanion.save_context", MINE, key="k", content={"tea": "black"}, namespace="n")
    deed(
        store,
        "kompanion.upsert_memory",
        MINE,
        items=[{"id": "m", "text": "Tea at five."}],
        namespace="n",
    )
    for thread in ("t1", "t2"):
        write_thread(
            store.repo, WALLET, thread, [asked(), *called(*FIX)], branch=MINE, session=thread
        )
    archived = create_archive(store.repo, Archiving(find(store.repo, MINE), WALLET, Origin("ann")))
    assert archived is not None
    ids["archive"] = archived.archive_id
    extraction = Extraction(find(store.repo, MINE), WALLET, Origin("ann"))
    (ids["pattern"],) = extract_patterns(store.repo, extraction).added
    for name in store.repo.history.branches():  # else who forks it from hidden/x commits it
        store.repo.store.commit_pending(name)
    return ids


def hide(store: OpenStore, ids: Ids) -> None:
    """What is done on branches that the limited token does not see."""
    deed(store, "core.memory_branch_create", branch_name="hidden/x", parent_branch=MINE)
    for thread in ("t1", "t3"):
        lines = [asked(), *called(*FIX), asked("Hidden 3.")]
        write_thread(store.repo, WALLET, thread, lines, branch="hidden/x", session=thread)
    for branch in (MAIN, "hidden/x"):
        for number in range(30):
            deed(store, "core.memory_write_fact", branch, fact_text=f"Tea number {number}, secret.")
        deed(
            store,
            "core.memory_write_fact",
            branch,
            fact_text="The gate opens at nine.",
            category="pinned",
        )
        deed(
            store,
            "core.memory_write_relation",
            branch,
            source_entity="Ada",
            relation_type="hides",
            target_entity="cake",
        )
        deed(
            store, "core.memory_write_observation", branch, observation_type="insight", summary="X"
        )
        deed(store, "core.memory_log_message", branch, role="user", content="Hidden tea?")
        deed(store, "core.memory_snapshot", branch, label="secret")
        deed(store, "core.knowledge_bundle_create", branch, name="secret", source_branch=branch)
        # By the same agent, too, of which the newest vote counts.
        for agent, query in (("ann", "tea"), ("bo", "tea"), ("bo", None)):
            caller = Caller(agent_id=agent, branch=branch)
            arguments = {"memory_id": ids["shared"], "score": 1.0, "query": query}
            TOOLS["engram.memory_judge"].call(store.context(caller), arguments)
        for query in ("who likes tea?", "deploy", "gate"):
            deed(store, "engram.memory_search", branch, query=query)
        deed(store, "compose.jobs_create", branch, type="consolidate", agentWallet="ann")
        deed(store, "compose.schedules_create", branch, agentWallets=["ann", "bo"])
        deed(store, "engram.memory_store", branch, **RESTARTED)
        deed(store, "engram.memory_insights", branch, action="generate")
        deed(store, "engram.memory_consolidate", branch)
        deed(store, "kompanion.save_context", branch, key="k", content={"tea": "no"}, namespace="n")
        deed(
            store,
            "kompanion.upsert_memory",
            branch,
            namespace="n",
            items=[{"id": "m", "text": "Tea never."}],
        )
        deed(store, "kompanion.sync_semantic", branch, namespace="n")
        deed(store, "compose.turn_record", branch, userMessage="A secret turn.", **TURN)
        deed(store, "compose.transcript_store", branch, messages=[SAID], tokenCount=9, summary="A secret.", **SESSION)  # fmt: skip
        deed(store, "compose.sessions_working_update", branch, sessionId="s1", context=["secret"], **OF_W)  # fmt: skip
    deed(store, "core.memory_branch_create", branch_name="hidden/gone", parent_branch=MINE)
    deed(store, "review.memory_branch_delete", branch_name="hidden/gone")
    task = deed(
        store,
        "core.memory_task_create",
        name="secret",
        task_type="bug_fix",
        objectives=[{"description": "Hide."}],
    )
    deed(store, "core.memory_task_join", task_id=task["task_id"], agent_id="ann")
    deed(store, "core.memory_template_create", name="tea", source_branch=MAIN)
    deed(store, "core.memory_branch_create", branch_name="hidden/y", parent_branch=MINE)
    deed(store, "core.memory_write_fact", "hidden/y", fact_text="Retired.")
    both = {"source_branch": "hidden/y", "target_branch": "hidden/x"}
    deed(store, "core.memory_handoff_create", **both)
    deed(store, "review.review_open", source_branch="hidden/x", target_branch=MAIN)
    deed(store, "review.memory_update_fact", "hidden/y", fact_id=ids["shared"], category="held")
    deed(store, "review.memory_update_fact", "hidden/x", fact_id=ids["shared"], category="kept")
    deed(store, "core.memory_branch_merge", strategy="auto", **both)
    deed(store, "core.verify_fact", "hidden/x", fact_id=ids["fact"])
    deed(store, "review.memory_branch_protect", branch_name=MAIN, requires=["review"])
    deed(store, "admin.token_create", name="root", scope="admin")
    retiring.retire(store.repo, find(store.repo, "hidden/y"), store.clock())
    store.repo.ledger.set_head("ann", find(store.repo, "hidden/x").id)


BOTH = {"source_branch": "mine/b", "target_branch": MINE}
CALLS: dict[str, Any] = {
    "core.memory_search": [{"query": q} for q in ("likes tea", "gate", "the deploy job", "milk")],
    "core.memory_graph_query": {"entity": "Ada"},
    "core.memory_timeline": {},
    "core.memory_branch_list": {},
    "core.memory_branch_diff": [BOTH, {"source_branch": "hidden/x", "target_branch": MINE}],
    "core.memory_snapshot_list": {},
    "core.memory_time_travel": {"timestamp": "2100-01-01", "query": "tea"},
    "core.memory_task_status": {"task_id": "task_1"},
    "core.memory_search_task": {"task_id": "task_1", "query": "tea"},
    "core.memory_agent_timeline": {"agent_id": "ann"},
    "core.memory_replay_task_type": {"task_type": "bug_fix"},
    "core.memory_list_conversations": {},
    "core.memory_search_messages": {"query": "tea"},
    "core.memory_session_context": {"session_id": "s1"},
    "core.memory_branch_topology": [{"root_branch": MINE}, {"root_branch": MAIN}, {}],
    "core.memory_template_list": {},
    "core.verify_merge_gate": BOTH,
    "core.memory_handoff_get": lambda ids: {"handoff_id": ids["handoff"]},
    "core.knowledge_bundle_list": {},
    "review.memory_merge_preview": BOTH,
    "review.review_list": {},
    "review.review_show": lambda ids: {"review_id": ids["review"]},
    "review.memory_history": lambda ids: [{"id": ids["shared"]}, {"id": ids["fact"]}],
    "review.memory_blame": lambda ids: [{"id": ids["shared"]}, {"id": ids["message"]}],
    "browse.memory_get": lambda ids: {"id": ids["shared"]},
    "browse.memory_list": [{"type": kind} for kind in ("fact", "observation", "relation")],
    "browse.memory_log": {},
    "browse.memory_graph": {},
    "admin.token_list": {},
    "recall.memory_prime": {},
    "recall.memory_recall_hint": {"prompt": "Who likes black tea?"},
    "kompanion.recall_context": {"namespace": "n", "key": "k"},
    "kompanion.embed_text": {"text": "tea"},
    "kompanion.search_memory": {"namespace": "n", "query": "tea"},
    "kompanion.warm_cache": {"namespace": "n"},
    "engram.memory_search": [{"query": q} for q in ("likes tea", "gate", "deploy")],
    "engram.memory_status": {},
    "engram.memory_config": {},
    "engram.memory_export": {},
    "engram.memory_consolidate_preview": [{}, {"stale_days": 0, "min_score": 1.0}],
    "engram.memory_consolidate": [{}, {"stale_days": 0, "min_score": 1.0}],
    "combined.memory_search": {"query": "likes tea"},
    # What writes, in an order in which each can be called.
    "core.memory_write_fact": [{"fact_text": "Tea number 3, secret."}, {"fact_text": "Ada!"}],
    "core.memory_write_observation": {"observation_type": "insight", "summary": "Tea."},
    "core.memory_write_relation": {
        "source_entity": "Ada",
        "target_entity": "cake",
        "relation_type": "hides",
    },
    "core.memory_branch_create": [
        {"branch_name": "mine/c", "parent_branch": MINE},
        {"branch_name": "hidden/x", "parent_branch": MINE},
    ],
    "core.memory_branch_switch": [{"branch_name": "hidden/x"}],
    "core.memory_snapshot": {"label": "secret"},
    "core.memory_task_create": {"name": "secret", "parent_branch": MINE},
    "core.memory_task_join": {"task_id": "task_1", "agent_id": "ann"},
    "core.memory_task_update": {"task_id": "task_1", "objective_id": 0, "status": "completed"},
    "core.memory_consolidate": {"level": "session", "session_id": "s1"},
    "core.memory_log_message": {"role": "user", "content": "Tea?"},
    "core.memory_fork_conversation": lambda ids: {
        "conversation_id": ids["conversation"],
        "fork_at_message_id": ids["message"],
    },
    "core.memory_cherry_pick_conversation": lambda ids: {
        "conversation_id": ids["conversation"],
        "target_branch": "mine/b",
    },
    "core.memory_branch_create_curated": lambda ids: {
        "branch_name": "mine/curated",
        "parent_branch": MINE,
        "fact_ids": [ids["fact"]],
    },
    "core.memory_branch_enrich": {"branch_name": MINE, "owner": "ann"},
    "core.memory_template_create": {"name": "tea", "source_branch": MINE},
    "core.memory_template_instantiate": {"template_name": "tea", "target_branch_name": "mine/t"},
    "core.verify_fact": lambda ids: {"fact_id": ids["fact"]},
    "core.verify_batch": {"branch_name": MINE},
    "core.memory_handoff_create": {**BOTH, "request_id": "h"},
    "core.knowledge_bundle_create": {"name": "secret", "source_branch": MINE},
    "core.knowledge_bundle_import": lambda i: {"bundle_id": i["bundle"], "target_branch": "mine/b"},
    "kompanion.save_context": {"namespace": "n", "key": "k", "content": {"tea": "no"}},
    "kompanion.upsert_memory": {"namespace": "n", "items": [{"id": "m", "text": "Tea never."}]},
    "kompanion.sync_semantic": {"namespace": "n"},
    "engram.memory_store": [RESTARTED, {"fact_text": "x"}],
    "engram.memory_judge": lambda ids: [
        {"memory_id": ids["shared"], "score": 0.9, "query": "tea"},
        {"memory_id": ids["lesson"], "query": "tea"},
    ],
    "engram.memory_import": {"memories": [{"id": "1", "result": "Tea.", "score": 0.5}]},
    "engram.memory_insights": [{"action": "generate"}, {"action": "list"}],
    "engram.memory_consolidate_apply": {"archive_stale": True},
    "review.memory_update_fact": lambda ids: {"fact_id": ids["fact"], "category": "gate"},
    "review.review_approve": lambda ids: {"review_id": ids["review"], "expect": "none"},
    "review.review_open": {"source_branch": MINE, "target_branch": "mine/b"},
    "review.review_decide": lambda ids: {
        "review_id": ids["review"],
        "decisions": [{"id": ids["shared"], "take": "theirs"}],
    },
    "review.review_merge": lambda ids: {"review_id": ids["review"]},
    "core.memory_branch_merge": {**BOTH, "strategy": "auto"},
    "review.memory_held": {},
    "review.review_close": lambda ids: {"review_id": ids["review"]},
    "review.memory_branch_protect": [{"branch_name": "mine/c", "requires": []}],
    "review.memory_supersede_fact": lambda ids: {"fact_id": ids["old"], "fact_text": "Tea."},
    "review.memory_retract_fact": lambda ids: {"fact_id": ids["fact"]},
    "review.memory_remove": lambda ids: {"ids": [ids["old"]], "reason": "It was wrong."},
    "keyed.entry_put": lambda _: {"entries": [{"key": "k", "value": {"n": "oil"}}]},
    "keyed.entry_get": lambda _: {"keys": [{"key": "k"}]},
    "keyed.entry_find": lambda _: {"query": "oil lathe"},
    "keyed.entry_spaces": lambda _: {},
    "keyed.entry_remove": lambda _: {"keys": [{"key": "k"}]},
    "keyed.entry_sweep": lambda _: {},
    "keyed.message_append": lambda _: {"key": "k", "messages": [{"role": "user", "content": "o"}]},
    **{f"keyed.message_{name}": {"key": "k"} for name in ("list", "chain", "remove")},
    "library.branch_moment": lambda _: {},
    "library.rows_apply": lambda ids: {
        "changes": [
            {"action": "add", "fact_text": "Tea number 3, secret."},
            {"action": "update", "id": ids["fact"], "category": "gates"},
        ],
    },
    "review.memory_branch_archive": [{"branch_name": "mine/c"}, {"branch_name": "hidden/x"}],
    "review.memory_branch_revive": [
        {"branch_name": "mine/c"},
        {"branch_name": "hidden/x"},
        {"branch_name": "hidden/gone", "deleted": True},
    ],
    "review.memory_branch_delete": [
        {"branch_name": "mine/c"},
        {"branch_name": "hidden/x", "force": True},
    ],
    "review.knowledge_bundle_deprecate": lambda ids: {"bundle_id": ids["bundle"]},
    "review.memory_template_deprecate": [{"name": "tea"}, {"name": "secret"}],
    "review.memory_revert": lambda ids: {"commit": ids["commit"]},
    "review.memory_restore": lambda ids: {"to": ids["snapshot"], "confirm": MINE},
    "review.memory_redact": lambda ids: {"id": ids["fact"], "confirm": ids["fact"]},
    **COMPOSE_CALLS,
    **GWT_CALLS,
    "admin.token_create": {"name": "root", "scope": "read"},
    "admin.token_revoke": {"name": "root"},
}
_MADE = re.compile(
    r"\"(avgSearchLatencyMs|activation_level|recency)\": [0-9.]+|\"all_scores\": {[^}]*}|"
    r"\"score\": [0-9.]+(?=,\s+\"(parts|preview|agent|memory_type)\")|"  # of a workspace: recency
    r"\b[a-z]+_[0-9A-HJKMNP-TV-Z]{26}\b|\b[0-9a-v]{32,64}\b"
    r"|\b20\d\d-\d\d-\d\dT[0-9:.]+(\+00:00|Z)|\"revision\": \"[^\"]*\""
    r"|\b1\d{12}\b"  # milliseconds
)
"""What two stores call alike deeds otherwise: ids, commits and times of what was just written."""


def test_every_tool_is_called() -> None:
    assert CALLS.keys() == TOOLS.keys()


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[tuple[OpenStore, OpenStore, Ids]]:
    """A store, and one that has more on hidden branches."""
    needs_files()
    with opened(tmp_path / "without", create=True) as store:
        store.search = replace(store.search, embedder=HashingEmbedder())
        ids = make(store)
    shutil.copytree(tmp_path / "without", tmp_path / "with")
    with opened(tmp_path / "without") as without, opened(tmp_path / "with") as more:
        instant = without.clock()
        for store in (without, more):
            store.search = replace(store.search, embedder=HashingEmbedder())
        hide(more, ids)
        for store in (without, more):
            store.clock = lambda: instant + 60_000_000
            store.search = replace(store.search, clock=store.clock)
            store.repo = replace(store.repo, clock=store.clock)
        yield without, more, ids


def answered(store: OpenStore, tool: Tool, arguments: Ids) -> str:
    """What a client with the limited token is answered, as text."""
    caller = Caller(agent_id="ann", session_id="s1", branch=MINE, access=LIMITED)
    try:
        answer = tool.call(store.context(caller), arguments)
    except Day1Error as error:
        return json.dumps(error.body(), indent=1)
    return json.dumps(answer, indent=1)


def given(name: str, ids: Ids) -> list[Ids]:
    arguments = CALLS[name](ids) if callable(CALLS[name]) else CALLS[name]
    return arguments if isinstance(arguments, list) else [arguments]


def test_no_answer_depends_on_what_is_hidden(stores: tuple[OpenStore, OpenStore, Ids]) -> None:
    without, more, ids = stores
    reading = [name for name in CALLS if TOOLS[name].operation.effect is Effect.READ]
    for name in [*reading, *reading, *(name for name in CALLS if name not in reading)]:
        for arguments in given(name, ids):
            one = answered(without, TOOLS[name], arguments)
            other = answered(more, TOOLS[name], arguments)
            if name not in reading:
                one, other = _MADE.sub("made", one), _MADE.sub("made", other)
            assert one == other, (name, arguments)
            assert name not in reading or "secret" not in one, name
