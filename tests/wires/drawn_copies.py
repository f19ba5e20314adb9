"""Drawn deeds with marked words: rows are written, others are made of them, and some are hidden.

Each source has a word of its own that nothing else has. A row with such a word was made of that
source, so the word may be read where the source may be read, and nowhere else.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from day1.app.open import open_store
from day1.call.context import Context
from day1.errors import NotFound, Refused
from day1.interfaces.open_store import OpenStore
from day1.model.files.client_event import ClientEvent
from day1.model.records.judgement import Case, Judgement, Score
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, MESSAGE, OBSERVATION, Kind
from day1.model.values.instant import show
from day1.ports.chat import Answer
from day1.services.access.caller import Caller
from day1.services.branches.lookup import find
from day1.services.ingest.session_rows import add_message, message_of
from day1.services.jobs.worker import JobWorker
from day1.services.jobs.workshop import Workshop
from day1.settings import EmbedderSettings, Settings
from tests.engine import store_settings
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.wires.hidden_scene import TOOLS

BRANCHES = ("main", "side")
SPACE, OTHER = "project:metal", "project:wood"


class QuotingJudge:
    """A judge that quotes all that it has read, as a chat model may."""

    name = "quoting"
    stand_in = None

    def clear(self, text: str) -> str:
        return text

    def judge(self, case: Case) -> Judgement:
        reason = "It says: " + "; ".join(one.text for one in case.evidence)
        return Judgement("verified", reason, (Score("accuracy", 0.9, reason),), self.name)


class QuotingChat:
    """A chat model that makes a fact of each message: what stands behind its first words."""

    name = "quoting"

    def ask(self, _instructions: str, data: Any, _schema: Any, _what: str) -> Answer:
        facts = [
            {
                "text": text.removeprefix("As far as I know, the").strip().capitalize(),
                "messages": [n],
            }
            for n, text in enumerate(data["messages"])
        ]
        return Answer({"facts": facts})


@dataclass
class Source:
    """A row with a word of its own."""

    kind: Kind = field(repr=False)
    row_id: str
    mark: str


@dataclass
class Copies:
    """A store, what was written to it, and what was drawn."""

    store: OpenStore
    draw: random.Random
    sources: list[Source] = field(default_factory=list)

    def ctx(self, branch: str | None) -> Context:
        ctx = self.store.context(Caller("ada", "s1", branch=branch))
        search = replace(ctx.search, embedder=HashingEmbedder())
        return replace(ctx, search=search, judge=QuotingJudge())

    def call(self, tool: str, branch: str | None = None, **arguments: Any) -> dict[str, Any]:
        """Call a tool on a branch, which many take as an argument, and others from the caller."""
        named = "branch" in TOOLS[tool].operation.request.model_fields
        given = {"branch": branch} if named and branch is not None else {}
        return TOOLS[tool].call(self.ctx(branch), {**arguments, **given})

    # Writing

    def _mark(self) -> str:
        return f"mark{len(self.sources):04d}{self.draw.randrange(10**6):06d}"

    def _source(self, kind: Kind, row_id: str, mark: str) -> None:
        self.sources.append(Source(kind, row_id, mark))

    def write_context(self, branch: str) -> None:
        mark = self._mark()
        content = {"note": f"The {mark} furnace needs heat. " * 3}
        made = self.call("save_context", namespace=SPACE, key=mark, content=content, branch=branch)
        self._source(OBSERVATION, str(made["id"]), mark)

    def write_lessons(self, branch: str) -> None:
        action = f"Raised the client timeout to {self.draw.randrange(99)} seconds"
        for number in range(3):
            mark = self._mark()
            parts = {"context": f"Upload {mark} failed", "result": f"Upload {mark} passes {number}"}
            made = self.call("memory_store", **parts, action=action, branch=branch)
            self._source(FACT, str(made["id"]), mark)

    def write_observation(self, branch: str) -> None:
        mark = self._mark()
        made = self.call(
            "memory_write_observation",
            observation_type="discovery",
            summary=f"The {mark} service listens on port {self.draw.randrange(9_999)}.",
            session_id="s1",
            branch=branch,
        )
        self._source(OBSERVATION, str(made["id"]), mark)

    def write_fact(self, branch: str) -> None:
        mark = self._mark()
        text = f"The {mark} database has the harbour backups."
        made = self.call("memory_write_fact", fact_text=text, space=SPACE, branch=branch)
        self._source(FACT, str(made["id"]), mark)

    # Deriving

    def promote(self, branch: str) -> None:
        self.call("sync_semantic", namespace=SPACE, branch=branch)

    def generate(self, branch: str) -> None:
        self.call("engram.memory_insights", action="generate", branch=branch)

    def consolidate(self, branch: str) -> None:
        self.call("memory_consolidate", level="session", session_id="s1", branch=branch)

    def hear(self, branch: str) -> None:
        mark = self._mark()
        text = f"Where is the {mark} key?"
        session = f"s{len(self.sources)}"
        event = ClientEvent("prompt", "ada", session, self.store.repo.clock(), turn="t1", text=text)
        message = message_of(event)
        assert message is not None
        add_message(self.store.repo, find(self.store.repo, branch), message)
        self._source(MESSAGE, message.id, mark)

    def compress(self, branch: str) -> None:
        mark, session = self._mark(), f"c{len(self.sources)}"
        said = {"userMessage": f"The {mark} crane lifts {len(self.sources)} tons in Selm."}
        mine: dict[str, Any] = {"agentWallet": "w", "sessionId": session, "branch": branch}
        self.call("compose.turn_record", **mine, turnId="1", **said)
        with self.store.repo.store.reading(Ref(branch=branch)) as reading:
            (row,) = reading.find(MESSAGE, Query(equal={"session_id": session}))
        self._source(MESSAGE, str(row["id"]), mark)
        self.call("compose.sessions_compress", **mine, coordinatorModel="any")

    def extract(self, branch: str) -> None:
        """Record a turn, and let a chat model make a fact of what its user said."""
        mark, session = self._mark(), f"x{len(self.sources)}"
        said = f"As far as I know, the {mark} winch of the quay has 7 ropes."
        mine: dict[str, Any] = {"agentWallet": "w", "sessionId": session, "turnId": "1"}
        ctx = self.ctx(branch)
        jobs = replace(ctx.jobs, chat=QuotingChat(), is_served=lambda: True)
        tool = TOOLS["compose.turn_record"]
        tool.call(replace(ctx, jobs=jobs), {**mine, "branch": branch, "userMessage": said})
        with self.store.repo.store.reading(Ref(branch=branch)) as reading:
            (row,) = reading.find(MESSAGE, Query(equal={"session_id": session}))
        self._source(MESSAGE, str(row["id"]), mark)
        JobWorker(Workshop(self.store.repo, ctx.search, jobs), "tests").run(lambda: False)

    def compact(self, branch: str) -> None:
        """Write a working memory, and turn all of these into one fact, which outlives them."""
        mark = self._mark()
        text = f"The {mark} lathe of the harbour backups hums."
        made = self.call("gwt_store", branch, content=text, memory_type="working")
        self._source(OBSERVATION, str(made["id"]), mark)
        given = {"max_items": 0, "dry_run": False, "confirm": "COMPACT_WORKING"}
        self.call("gwt_compact_working_memory", branch, **given)

    def verify(self, branch: str) -> None:
        made = self.call(
            "memory_write_fact",
            fact_text=f"The harbour backups are in the database {self.draw.randrange(10**6)}.",
            space=SPACE,
            branch=branch,
        )
        self.call("verify_fact", fact_id=made["id"], branch=branch)

    # Hiding

    def _any(self, branch: str, *kinds: Kind) -> Source | None:
        """One of the sources that are on a branch."""
        with self.store.repo.store.reading(Ref(branch=branch)) as reading:
            some = [s for s in self.sources if s.kind in kinds and reading.get(s.kind, [s.row_id])]
        return self.draw.choice(some) if some else None

    def make_secret(self, branch: str) -> None:
        one = self._any(branch, FACT, OBSERVATION)
        if one is not None:
            self.update(one, branch, sensitivity="secret")

    def show_again(self, branch: str) -> None:
        one = self._any(branch, FACT, OBSERVATION)
        if one is not None:
            self.update(one, branch, sensitivity="public", expires_at="never")

    def expire(self, branch: str) -> None:
        one = self._any(branch, FACT, OBSERVATION)
        if one is not None:
            end = show(self.store.repo.clock() + 20_000)
            self.update(one, branch, expires_at=end)

    def move(self, branch: str) -> None:
        one = self._any(branch, FACT, OBSERVATION)
        if one is not None:
            self.update(one, branch, space=OTHER)

    def update(self, one: Source, branch: str, **columns: Any) -> None:
        self.call("memory_update_fact", fact_id=one.row_id, branch=branch, **columns)

    def remove(self, branch: str) -> None:
        one = self._any(branch, FACT, OBSERVATION, MESSAGE)
        if one is not None:
            from day1.model.rows.origin import Origin
            from day1.services.rows.editing import Removal, remove

            remove(
                self.store.repo,
                find(self.store.repo, branch),
                Removal([one.row_id], "not needed"),
                Origin("ada"),
            )

    def redact(self, branch: str) -> None:
        """Redact a source, also one that was removed."""
        if self.sources:
            one = self.draw.choice(self.sources)
            self.call("memory_redact", id=one.row_id, confirm=one.row_id, branch=branch)

    # Going on

    def merge(self, branch: str) -> None:
        other = next(name for name in BRANCHES if name != branch)
        self.call("memory_branch_merge", source_branch=other, target_branch=branch, strategy="auto")

    def revert(self, branch: str) -> None:
        commits = self.call("memory_log", branch=branch, limit=5)["result"]
        one = self.draw.choice([one["commit"] for one in commits])
        self.call("memory_revert", commit=one, branch=branch)

    def fork(self, branch: str) -> None:
        name = f"fork{self.draw.randrange(10**6)}"
        self.call("memory_branch_create", branch_name=name, parent_branch=branch)

    def search(self, branch: str) -> None:
        """So that index and views exist before something is hidden."""
        for words in ("furnace heat", "upload failed", "service port", "harbour backups"):
            self.call("memory_search", query=words, branch=branch, types=["fact", "observation"])


WRITES = ("write_context", "write_lessons", "write_observation", "write_fact")
DERIVES = ("promote", "generate", "consolidate", "hear", "verify", "compress", "extract", "compact")
HIDES = ("make_secret", "expire", "move", "remove", "redact")
GOES_ON = ("merge", "revert", "fork", "search", "show_again")
CANNOT = (NotFound, Refused)
"""What a deed ends in that cannot be done on the branch as it is then."""
DEEDS = (*WRITES, *DERIVES, *DERIVES, *HIDES, *GOES_ON)


@contextmanager
def copies(folder: Path, seed: int, **more: Any) -> Iterator[Copies]:
    """A new store, whose deeds follow from a seed."""
    where = store_settings(folder)
    settings = Settings(home=folder, embedder=EmbedderSettings(kind="none"), store=where, **more)
    store = open_store(settings, create=True)
    try:
        made = Copies(store, random.Random(seed))
        made.call("memory_branch_create", branch_name="side", parent_branch="main")
        yield made
    finally:
        store.close()


def deed(made: Copies, name: str, branch: str) -> None:
    """Do something; what cannot be done then is left."""
    with suppress(*CANNOT):
        getattr(made, name)(branch)
