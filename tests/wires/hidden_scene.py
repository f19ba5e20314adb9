"""A store with rows that are to be seen nowhere: secret ones and expired ones, on every branch."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from day1.app.open import open_store
from day1.call.context import Context
from day1.interfaces.open_store import OpenStore
from day1.model.rows.kind import FACT, OBSERVATION
from day1.model.rows.origin import Origin
from day1.model.values.wallet_space import Owner
from day1.services.access.caller import Caller
from day1.services.branches.lookup import find
from day1.services.rows.editing import Correction, update
from day1.services.rows.recording import NewFact, NewObservation, fact_row, observation_row
from day1.services.skills.mining import Extraction, extract_patterns
from day1.settings import EmbedderSettings, Settings
from day1.toolsets import TOOLSETS
from day1.toolsets.compose import COMPOSE
from day1.toolsets.engram import ENGRAM
from tests.tool_threads import asked, called, write_thread

TOOLS = {
    **TOOLSETS.tools,
    **{f"engram.{name}": tool for name, tool in ENGRAM.tools.items()},
    **{f"compose.{name}": tool for name, tool in COMPOSE.tools.items()},
}
"""Of all toolsets, those of engram and Compose by their whole names."""
WALLET = Owner("w")
BOTH = {"source_branch": "side", "target_branch": "main"}
WORDS = ("quokka", "numbat", "bandicoot", "potoroo")
"""Of a secret fact, a secret observation, an expired fact and an expired observation."""
PAST = 1_700_000_000_000_000


class Scene(NamedTuple):
    store: OpenStore
    ctx: Context
    ids: dict[str, str]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return TOOLS[tool].call(self.ctx, arguments)


def hide(store: OpenStore, branch: str, who: Origin, space: str | None = None) -> list[str]:
    """Write the four rows that are to be seen nowhere."""
    secret: dict[str, Any] = {"sensitivity": "secret", "space": space}
    expired: dict[str, Any] = {"expires_at": PAST, "space": space}
    with store.repo.store.adding(branch) as work:
        new, now = store.repo.new_id, work.now
        facts = [
            fact_row(
                new("fact", now), NewFact("The quokka PIN is 1.", "quokka", **secret), who, now
            ),
            fact_row(new("fact", now), NewFact("The bandicoot is gone.", **expired), who, now),
        ]
        seen = [
            NewObservation("insight", "The numbat PIN is 2.", "numbat", "numbat", **secret),
            NewObservation("insight", "The potoroo is gone.", "potoroo", **expired),
        ]
        rows = [observation_row(new("obs", now), one, who, now) for one in seen]
        work.add(FACT, facts)
        work.add(OBSERVATION, rows)
    return [str(row["id"]) for row in (*facts, *rows)]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """The rows on main, on a task's branch and on a branch that is to be merged, some in conflict."""
    folder = tmp_path_factory.mktemp("hidden")
    settings = Settings(home=folder / "store", embedder=EmbedderSettings(kind="none"))
    store = open_store(settings, create=True)
    scene = Scene(store, store.context(Caller("ada", "s1")), {})
    scene.call("memory_write_fact", fact_text="The wombat digs.")
    task = scene.call("memory_task_create", name="dig", task_type="bug_fix")["task_id"]
    scene.call("memory_task_join", task_id=task, agent_id="ada")
    joined = scene.call("memory_task_status", task_id=task)
    branch = next(b for b in store.repo.history.branches() if b != "main" and "ada" in b)
    first = hide(store, "main", Origin("ada", "s1"))
    hide(store, branch, Origin("ada", "s1", task))
    store.repo.store.commit_pending("main")
    scene.call("memory_branch_create", branch_name="side", parent_branch="main")
    hide(store, "side", Origin("ada", "s1"))
    for where, text in (("side", "The quokka PIN is 3."), ("main", "The quokka PIN is 4.")):
        scene.call("memory_update_fact", fact_id=first[0], fact_text=text, branch=where)
    for where, text in (("side", "The bandicoot went."), ("main", "The bandicoot left.")):
        scene.call("memory_update_fact", fact_id=first[1], fact_text=text, branch=where)
    commit = store.repo.history.branches()["main"]
    scene.ids.update(
        task=task,
        branch=branch,
        secret=first[0],
        expired=first[1],
        commit=commit,
        snapshot=scene.call("memory_snapshot", branch="main", label="kept")["snapshot_id"],
        bundle=scene.call(
            "knowledge_bundle_create", name="b", source_branch="main", only_verified=False
        )["id"],
        review=scene.call("review_open", source_branch="side", target_branch="main")["id"],
    )
    scene.call(
        "memory_template_create", name="digging", source_branch="side", description="To dig."
    )
    made = scene.call(
        "memory_template_instantiate", template_name="digging", target_branch_name="dug"
    )
    scene.ids["instance"] = made["branch_name"]
    scene.ids["handoff"] = scene.call(
        "memory_handoff_create",
        source_branch="side",
        target_branch=branch,
        handoff_type="escalation",
        include_unverified=True,
    )["handoff_id"]
    assert joined
    hide(store, "main", Origin("w", "s1"), WALLET.space)
    working = {"agentWallet": "w", "sessionId": "t1", "context": ["The wombat digs."]}
    scene.call("compose.sessions_working_update", **working)
    scene.ids["pattern"] = _secret_pattern(scene)
    yield scene
    store.close()


def _secret_pattern(scene: Scene) -> str:
    """Find a pattern in two threads, promote it to a skill, and make it secret with other words."""
    repo, origin = scene.store.repo, Origin("w", "s1")
    for thread in ("t1", "t2"):
        lines = [asked(), *called("grep", "edit", "test")]
        write_thread(repo, WALLET, thread, lines, session=thread)
    branch = find(repo, "main")
    (pattern,) = extract_patterns(repo, Extraction(branch, WALLET, origin)).added
    evidence = {"valid": True, "confidence": 0.3, "occurrences": 2, "successRate": 1}
    scene.call(
        "compose.patterns_promote",
        patternId=pattern,
        skillName="Mend",
        validationData={**evidence, "toolSequence": []},
    )
    hidden = {"sensitivity": "secret", "fact_text": "quokka \u2192 numbat"}
    update(repo, branch, Correction(pattern, hidden), origin)
    return pattern


def clean(said: object) -> None:
    text = said if isinstance(said, str) else json.dumps(said, default=str)
    assert [word for word in WORDS if word in text.casefold()] == []
