"""What a session begins with in a project that imported its documentation, a week later.

The documentation is day1's own `docs/`, taken in by the importer that `day1 import markdown` runs.
In the week agents look things up in it, find eight things out, and need one table again and again.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.sources.markdown import MarkdownSource
from day1.app.open import open_store
from day1.interfaces.heads import ProcessHead, caller_of
from day1.interfaces.open_store import OpenStore
from day1.model.prime.framing import one_line
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.model.values.instant import DAY, SECOND, parse
from day1.ports.source import PASSAGE
from day1.services.branches.lookup import find
from day1.services.exchange.importing import import_foreign
from day1.settings import EmbedderSettings, SearchSettings, Settings
from day1.toolsets import TOOLSETS

DOCS = Path(__file__).parents[2] / "docs"
MONDAY = parse("2025-05-05T08:00:00Z")
ROW = "Toolset `core` > memory_branch_merge: | argument | type | default | meaning |"
MERGE = "argument type default of memory_branch_merge: strategy auto cherry_pick squash"
QUESTIONS = (
    ("How does a merge treat a row that both branches changed?", "What is a held item?"),
    ("Which settings does the embedder have?", "How is a token revoked?"),
    ("How does day1 back up a store?", "What does memory_timeline answer?"),
    ("Which clients have hooks?", "How are spaces named?"),
    ("What does a review show before a merge?", "How is a secret fact hidden?"),
)
"""What agents ask memory on each day of the week: most answers are passages of the docs."""
FOUND = (
    ("mon", "Staging merges need the token of Ilse, because the gate counts two approvals."),
    ("mon", "The import of the wiki takes 40 s; run it in a branch of its own."),
    ("tue", "The nightly backup stops when /var/backups has less than 2 GB left."),
    ("tue", "Our proxy cuts streams after 60 s: the client needs the polling wire."),
    ("wed", "Held items of the wiki branch are decided by Bram on Thursdays."),
    ("thu", "Spaces are named project:REPOSITORY here; project:web is the old site."),
    ("thu", "The embedder of the CI machines is none, so ranking tests skip there."),
    ("fri", "Token ci-2 was revoked on Friday; the new one is in the vault."),
)


class Project:
    """A store whose clock a test sets; every call is one of an agent."""

    def __init__(self, opened: OpenStore) -> None:
        self.now = MONDAY - DAY
        self.store = replace(
            opened,
            clock=lambda: self.now,
            repo=replace(opened.repo, clock=lambda: self.now),
            search=replace(opened.search, clock=lambda: self.now),
        )

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        self.now += 60 * SECOND
        caller = caller_of(self.store.settings, ProcessHead(self.store.repo, "main"), None)
        answer: dict[str, Any] = TOOLSETS.tools[tool].call(self.store.context(caller), arguments)
        return answer

    def imports_its_docs(self) -> None:
        source = MarkdownSource([DOCS], DOCS.parent)
        repo = self.store.repo
        import_foreign(repo, find(repo, "main"), source, Origin(source="import"), lambda *_: None)

    def lives(self) -> str:
        """A week of sessions; the id of the table that agents looked up on each of five days."""
        row_id = ""
        for day, questions in enumerate(QUESTIONS):
            self.now = MONDAY + day * DAY
            self.primed()
            for question in questions:
                self.call("memory_search", query=question)
            hits = self.call("memory_search", query=MERGE, limit=20)["result"]
            (row_id,) = (hit["id"] for hit in hits if hit["fact_text"].startswith(ROW))
            name = ("mon", "tue", "wed", "thu", "fri")[day]
            for text in (text for at, text in FOUND if at == name):
                self.call("memory_write_fact", fact_text=text, session_id=name)
        return row_id

    def primed(self) -> str:
        text: str = self.call("memory_prime")["text"]
        return text

    def passages(self, text: str) -> list[str]:
        """The passages of the documentation that a prime has, each as its line says it."""
        with self.store.repo.store.reading(Ref(branch="main")) as reading:
            rows = list(reading.scan(FACT, ("fact_text", "category"), Query()))
            every = [one_line(str(said), 200) for said, category in rows if category == PASSAGE]
        assert len(every) > 300
        return [line for line in told(text) if line in every]


def told(text: str) -> list[str]:
    """The facts of a prime, without their dates."""
    return [line[2:].rpartition(" (")[0] for line in text.splitlines() if line[:2] == "- "]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    settings = Settings(embedder=EmbedderSettings(kind="none"), search=SearchSettings(chroma=False))
    opened = open_store(settings, create=True, folder=tmp_path / "store")
    try:
        yield Project(opened)
    finally:
        opened.close()


def test_a_new_project_is_told_none_of_its_documentation(project: Project) -> None:
    project.imports_its_docs()
    assert told(project.primed()) == []


@pytest.mark.parametrize("rated", [True, False])
def test_what_agents_found_out_is_told_and_of_the_docs_what_they_used_and_rated(
    project: Project, *, rated: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    project.imports_its_docs()
    row_id = project.lives()
    used = project.store.prime.uses.most(500)
    assert used[row_id].times == len(QUESTIONS)
    if rated:
        project.call("memory_judge", memory_id=row_id, score=1.0)
    project.now = MONDAY + 7 * DAY
    text = project.primed()
    passages = project.passages(text)
    with capsys.disabled():
        found = sum(fact in told(text) for _, fact in FOUND)
        print(f"\nthe imported docs: {found} of {len(FOUND)} findings are told, and of", end=" ")
        print(f"{len(used)} rows that were used {len(passages)} passages ({rated=})")
    assert {fact for _, fact in FOUND} <= set(told(text))
    assert [row[: len(ROW)] for row in passages] == [one_line(ROW, 200)] * rated
