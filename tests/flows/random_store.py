"""A store in which all has happened that can, of any size; and whether two of them are the same."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from day1.app.open import open_store, open_with_mask
from day1.errors import Conflict
from day1.home import find_home
from day1.interfaces.open_store import OpenStore
from day1.model.redaction.mask import CLEAR
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, KINDS
from day1.model.values.instant import show
from day1.services.access.calls import now
from day1.services.branches import deleting, lookup, retiring
from day1.services.repository.commit_ids import CARRIED, new_ids, renamed, with_new_ids
from day1.settings import EmbedderSettings, SearchSettings, Settings, settings_at
from tests.flows.opened_store import call

WORDS = (
    *("otter", "river", "holt", "fish", "winter", "deploy", "job", "second", "branch", "merge"),
    *("vault", "queue", "worker", "index", "cache", "token", "retry", "limit", "window", "shard"),
    *("leader", "log", "page", "lock", "clock", "row", "table", "commit", "review"),
)
Ids = dict[str, str]


@contextmanager
def opened_at(where: str | Path, *, create: bool = False) -> Iterator[OpenStore]:
    """The store at an address, searched by keywords only."""
    settings = Settings(embedder=EmbedderSettings(kind="none"), search=SearchSettings(chroma=False))
    store = open_store(settings_at(settings, str(where)), create=create)
    try:
        yield store
    finally:
        store.close()


class RandomTeam:
    """Does what a team does on a store, by chance, the same for the same seed."""

    def __init__(self, store: OpenStore, seed: int = 1) -> None:
        self.store, self.chance = store, random.Random(seed)
        self.branches = ["main"]
        self.facts: list[str] = []
        self.said = 0

    def do(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return call(self.store, tool, **arguments)

    def text(self) -> str:
        self.said += 1
        return f"{' '.join(self.chance.sample(WORDS, 6))} {self.said}."

    def write(self, count: int, branch: str) -> None:
        for _ in range(count):
            agent = self.chance.choice(("ada", "bob (laptop)", None))
            confidence = self.chance.choice((1.0, 0.5, 0.123456789))
            made = self.do(
                "memory_write_fact",
                fact_text=self.text(),
                confidence=confidence,
                branch=branch,
                agent_id=agent,
                session_id="s1",
            )
            self.facts.append(made["id"])

    def some_fact(self, branch: str) -> str:
        """A fact that the branch has."""
        with self.store.repo.store.reading(Ref(branch=branch)) as reading:
            return self.chance.choice([str(i) for (i,) in reading.scan(FACT, ("id",), Query())])

    def change(self, branch: str, row: str | None = None) -> None:
        row = row or self.some_fact(branch)
        with_text = {"fact_text": self.text()} if self.chance.random() < 0.7 else {}
        self.do(
            "memory_update_fact",
            fact_id=row,
            branch=branch,
            category=self.chance.choice(WORDS),
            reason="It was wrong.",
            agent_id="ada",
            **with_text,
        )

    def merge(self, source: str, target: str, strategy: str = "auto", **more: Any) -> None:
        sides = {"source_branch": source, "target_branch": target}
        self.do("memory_branch_merge", **sides, strategy=strategy, agent_id="ada", **more)

    def fork(self, name: str, parent: str) -> None:
        self.do("memory_branch_create", branch_name=name, parent_branch=parent)
        self.branches.append(name)

    def work(self, facts: int, branches: int, merges: int) -> None:
        """So many facts, on so many branches, with so many merges between them; and all else."""
        turns = branches + merges
        self.write(max(10, facts // 4), "main")
        forks = set(self.chance.sample(range(turns), branches - 1))
        for turn in range(turns):
            here = self.chance.choice(self.branches)
            if turn in forks:
                self.fork(f"work/{turn}", here)
            else:
                others = [branch for branch in self.branches if branch != here]
                there = self.chance.choice(others or ["main"])
                if there != here:
                    self._conflict(here, there)
                    self.merge(there, here)
            self.write(facts * 3 // 4 // turns, here)
            self.change(here)
            if turn % 5 == 0:
                self.do("memory_retract_fact", fact_id=self.some_fact(here), branch=here)
                self.do("memory_snapshot", label=f"turn {turn}", branch=here)
        self._talk()
        self._work()
        self._hand_on()
        self._decide()
        self._put_away()
        writable = [name for name in self.branches if name not in {"reviewed", "squashed"}]
        for branch in writable[::2]:
            self.write(3, branch)

    def _conflict(self, one: str, other: str) -> None:
        """Change a fact that both have, on both."""
        with (
            self.store.repo.store.reading(Ref(branch=one)) as a,
            self.store.repo.store.reading(Ref(branch=other)) as b,
        ):
            both = {i for (i,) in a.scan(FACT, ("id",), Query())}
            both &= {i for (i,) in b.scan(FACT, ("id",), Query())}
        row = self.chance.choice(sorted(map(str, both)))
        self.change(one, row)
        self.change(other, row)

    def _talk(self) -> None:
        said = self.do("memory_log_message", role="user", content="Why?", title="A talk")
        talk = said["conversation_id"]
        self.fork("talk", "main")
        for branch in ("main", "talk"):
            for word in ("One", "two"):
                content = f"{word} on {branch}."
                more = {"thinking": "Hm.", "tool_calls": [{"name": word}]}
                self.do(
                    "memory_log_message",
                    role="assistant",
                    content=content,
                    conversation_id=talk,
                    branch=branch,
                    **more,
                )
        self.merge("talk", "main")
        at = {"conversation_id": talk, "fork_at_message_id": said["message_id"]}
        self.do("memory_fork_conversation", **at, branch="talk")
        for name in ("otter", "river"):
            self.do(
                "memory_write_relation",
                source_entity=name,
                target_entity="holt",
                relation_type="near",
                properties={"by": [1, 2.5, None, "ü"]},
            )
        observed = {"observation_type": "tool_use", "raw_input": "ls", "raw_output": "a\nb"}
        self.do("memory_write_observation", summary="It lists.", tool_name="ls", **observed)

    def _work(self) -> None:
        aims = [{"description": "Find it."}, {"description": "Mend it."}]
        task = self.do("memory_task_create", name="Mend", task_type="bug", objectives=aims)
        for agent in ("ada", "bob"):
            joined = self.do("memory_task_join", task_id=task["task_id"], agent_id=agent)
            self.branches.append(joined["branch_name"])
            self.write(2, joined["branch_name"])
        found = self.do("memory_task_status", task_id=task["task_id"])["objectives"]
        done = {"objective_id": found[0]["id"], "status": "completed", "notes": "Found."}
        self.do("memory_task_update", task_id=task["task_id"], **done)
        self.branches.append(task["branch_name"])

    def _hand_on(self) -> None:
        self.do("memory_template_create", name="start", source_branch=self.branches[1])
        used = {"template_name": "start", "target_branch_name": "from-template"}
        self.do("memory_template_instantiate", **used)
        self.branches.append("from-template")
        self.do("knowledge_bundle_create", name="known", source_branch=self.branches[1])
        sides = {"source_branch": self.branches[1], "target_branch": "from-template"}
        said = "What to know."
        self.do("memory_handoff_create", **sides, include_unverified=True, context_summary=said)
        self.do("verify_fact", fact_id=self.some_fact("main"), verdict="verified")
        self.do("memory_supersede_fact", fact_id=self.some_fact("main"), fact_text=self.text())

    def _decide(self) -> None:
        """Reviews, held items, a pick, a revert, a restore, a squash."""
        self.fork("reviewed", "main")
        row = self.some_fact("reviewed")
        self.change("reviewed", row)
        self.change("main", row)
        review = self.do("review_open", source_branch="reviewed", title="Look at it.")["id"]
        value = {"take": "value", "cell": "category", "value": {"category": "decided"}}
        self.do("review_decide", review_id=review, decisions=[{"id": row, **value}])
        self.fork("still-reviewed", "main")
        self.change("still-reviewed")
        self.do("review_open", source_branch="still-reviewed")
        for branch in self.branches:
            items = self.do("memory_held", branch=branch)["items"]
            for item, action in zip(items, ("take", "dismiss"), strict=False):
                try:
                    self.do("memory_held", action=action, id=item["id"], branch=branch)
                except Conflict:
                    continue
        picked = self.branches[2]
        self.write(1, picked)
        self.merge(picked, "main", "cherry_pick", items=[self.facts[-1]])
        last = next(iter(self.store.repo.history.log("main"))).id
        self.do("memory_revert", commit=last)
        self.do("memory_snapshot", label="before", branch="from-template")
        self.change("from-template")
        self.do("memory_restore", to="before", branch="from-template", confirm="from-template")
        self.fork("squashed", "main")
        self.write(2, "squashed")
        self.merge("squashed", "main", "squash")

    def _put_away(self) -> None:
        """Branches that are gone, with all that they had: retired, deleted, merged and deleted."""
        repo = self.store.repo
        for name in ("gone", "left", "lost", "retired"):
            self.fork(name, "main")
            self.write(2, name)
            self.branches.remove(name)
        self.merge("gone", "main")
        deleting.delete(repo, lookup.find(repo, "gone"), "main", now())
        deleting.delete(repo, lookup.find(repo, "left"), "main", now())
        deleting.delete(repo, lookup.find(repo, "lost"), "main", now())
        retiring.retire(repo, lookup.find(repo, "retired"), now())
        self.do("memory_branch_enrich", branch_name="talk", purpose="To talk.", tags=["a"])
        self.do("memory_branch_protect", branch_name="reviewed", requires=["review"])
        repo.ledger.set_head("cli", str(lookup.find(repo, "talk").id))


def ids_between(one: OpenStore, other: OpenStore) -> Ids:
    """The commits of a copy by those of the store that it was made from."""
    first = {lookup.first_commit(one.repo): lookup.first_commit(other.repo)}
    return {**new_ids(other.repo.history), **first}


def rows(store: OpenStore) -> dict[str, Any]:
    """Every row of every branch, as it is stored, and which of them are pending."""
    found: dict[str, Any] = {}
    with open_with_mask(store, CLEAR) as seen:
        for name in sorted(seen.history.branches()):
            with seen.store.reading(Ref(branch=name)) as reading:
                tables = {
                    kind.table: [dict(zip(kind.columns, row, strict=True)) for row in sorted(
                        reading.scan(kind, kind.columns, Query()), key=lambda row: str(row[0])
                    )]
                    for kind in KINDS
                }  # fmt: skip
                found[name] = reading.pending, tables
    return found


def commits(store: OpenStore) -> dict[str, Any]:
    """All that history says, by what it says it of."""
    history = store.repo.history
    heads, tags = history.branches(), history.tags()
    graph = history.graph(sorted({*heads.values(), *tags.values()}))
    known = {
        commit.id: [
            *(commit.op, commit.ts, commit.author, commit.line, list(commit.parents)),
            {name: part for name, part in commit.meta.items() if name != "from"},
        ]
        for commit in graph
        if commit.op != "foreign" and commit.op != "init"
    }
    return {"heads": heads, "tags": tags, "graph": known, "order": list(known)}


def said(store: OpenStore, ids: Ids) -> dict[str, Any]:
    """Every record of the ledger, with these ids for commits."""
    ledger = store.repo.ledger
    found: dict[str, Any] = {
        kind.__name__: [with_new_ids(record, ids) for record in ledger.records(kind)]
        for kind in CARRIED
    }
    return {**found, "heads": ledger.heads()}


def questions(store: OpenStore, count: int, seed: int = 1) -> list[tuple[str, dict[str, Any]]]:
    """So many searches and as many looks into the past, and one of each other question."""
    chance, names = random.Random(seed), sorted(store.repo.history.branches())
    log = list(store.repo.history.log("main"))
    first, last = log[-1].ts, log[0].ts
    asked: list[tuple[str, dict[str, Any]]] = []
    for _ in range(count):
        query = " ".join(chance.sample(WORDS, 3))
        branch = chance.choice(names)
        asked.append(("memory_search", {"query": query, "branch": branch, "limit": 10}))
        at = chance.choice(
            (chance.randint(first, last), chance.choice(log).ts - chance.randint(0, 1))
        )
        past = {"branch": chance.choice(names), "at": show(at), "limit": 500}
        asked.append(("memory_timeline", past))
    with store.repo.store.reading(Ref(branch="main")) as reading:
        facts = [str(i) for (i,) in reading.scan(FACT, ("id",), Query())]
    for row in chance.sample(facts, 10):
        asked += [("memory_history", {"id": row}), ("memory_blame", {"id": row})]
    for name in names:
        if name != "main" and not name.startswith(("template/", "squashed")):
            sides = {"source_branch": name, "target_branch": "main"}
            asked.append(("memory_merge_preview", sides))
        asked += [
            ("memory_held", {"branch": name}),
            ("memory_list_conversations", {"branch": name}),
        ]
    for tool in ("memory_branch_list", "memory_branch_topology", "memory_snapshot_list"):
        asked.append((tool, {}))
    for tool in ("memory_template_list", "knowledge_bundle_list", "review_list"):
        asked.append((tool, {}))
    asked.append(("memory_session_context", {"session_id": "s1"}))
    asked.append(("memory_agent_timeline", {"agent_id": "ada"}))
    asked.append(("memory_graph_query", {"entity": "holt"}))
    return asked


def differences(one: OpenStore, other: OpenStore, ids: Ids, count: int = 100) -> list[str]:
    """In what a copy is not the store that it was made from; nothing, if it is the same."""
    found = [
        f"rows of {name}"
        for (name, ours), theirs in zip(rows(one).items(), rows(other).values(), strict=True)
        if renamed([ours[0].count, ours[1]], ids) != [theirs[0].count, theirs[1]]
    ]
    ours, theirs = commits(one), commits(other)
    graph = {ids[commit]: renamed(made, ids) for commit, made in ours.pop("graph").items()}
    if graph != theirs.pop("graph") or renamed(ours, ids) != theirs:
        found.append("commits")
    here, there = said(one, ids), said(other, {})
    found += [f"records: {kind}" for kind in here if here[kind] != there[kind]]
    for tool, arguments in questions(one, count):
        answer = renamed(call(one, tool, **arguments), ids)
        if answer != call(other, tool, **arguments):
            found.append(f"{tool} {arguments}")
    return found


def without_index(where: Path | str) -> None:
    """Let a store have an index that knows no texts but those that it will be asked for."""
    folder = find_home(settings_at(Settings(), str(where)))
    for path in folder.glob("index.db*"):
        path.unlink()
