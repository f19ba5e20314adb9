"""No answer of engram or of day1's own tools in one space holds a row of another one (X6-001)."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import pytest
from hypothesis import strategies as st

from day1.errors import Day1Error
from day1.interfaces.open_store import OpenStore
from day1.services.access.caller import Caller
from day1.toolsets.day1.core import CORE
from day1.toolsets.day1.review import REVIEW
from day1.toolsets.engram import ENGRAM
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.opened_store import opened
from tests.sampling import EXAMPLES, hold

DEEDS = st.tuples(
    st.sampled_from(
        (
            *("lesson", "import", "judge", "insights", "apply"),
            *("fact", "observation", "relation", "update", "supersede", "retract"),
        )
    ),
    st.sampled_from(["metal", "wood", None]),
    st.sampled_from(["loose bolt", "oak board", "oil"]),
    st.sampled_from(["bugfix", "decision"]),
)
NUMBERS = count()
TOOLS = {**CORE.tools, **REVIEW.tools, **{f"engram.{n}": t for n, t in ENGRAM.tools.items()}}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenStore]:
    with opened(tmp_path_factory.mktemp("spaces") / "store", create=True) as store:
        yield store


def call(store: OpenStore, tool: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool, one of engram by its whole name."""
    ctx = store.context(Caller())
    ctx = replace(ctx, search=replace(ctx.search, embedder=HashingEmbedder()))
    return TOOLS[tool].call(ctx, arguments)


class Writer:
    """Does what a sequence says in spaces of its own, and remembers which rows it made."""

    def __init__(self, store: OpenStore, number: int) -> None:
        self.store, self.number = store, number
        self.facts: dict[str | None, list[str]] = {}

    def mark(self, name: str | None) -> str:
        return f"{name or 'shared'}{self.number}"

    def space(self, name: str | None) -> str | None:
        return None if name is None else f"project:{self.mark(name)}"

    def do(self, deed: tuple[str, str | None, str, str]) -> None:
        what, name, words, kind = deed
        text, space = f"{words} of {self.mark(name)}", self.space(name)
        parts = {"context": text, "action": f"used {text}", "result": f"so {text} holds"}
        made = self.facts.setdefault(name, [])
        match what:
            case "lesson":
                given = {**parts, "memory_type": kind, "project": space}
                made.append(call(self.store, "engram.memory_store", **given)["id"])
            case "import":
                row: dict[str, Any] = {"id": f"{text} {kind}", "created_at": "2026-01-02", **parts}
                row |= {"memory_type": kind, "project": space, "score": 0.75}
                call(self.store, "engram.memory_import", version=1, memories=[row])
            case "insights":
                call(self.store, "engram.memory_insights", action="generate")
            case "apply":
                plan = call(self.store, "engram.memory_consolidate")
                call(self.store, "engram.memory_consolidate_apply", expect=plan["digest"])
            case "fact":
                made.append(
                    call(self.store, "memory_write_fact", fact_text=text, space=space)["id"]
                )
            case "observation":
                seen = {"observation_type": "discovery", "summary": text, "space": space}
                call(self.store, "memory_write_observation", **seen)
            case "relation":
                ends = {"source_entity": "bolt", "target_entity": text, "relation_type": "holds"}
                call(self.store, "memory_write_relation", **ends, space=space)
            case _ if made:
                self.change(what, made.pop(), text)

    def change(self, what: str, fact_id: str, text: str) -> None:
        """Change what may be merged or archived by now."""
        try:
            match what:
                case "judge":
                    call(self.store, "engram.memory_judge", memory_id=fact_id, score=0.9)
                case "update":
                    call(self.store, "memory_update_fact", fact_id=fact_id, fact_text=f"{text}!")
                case "supersede":
                    given = {"fact_id": fact_id, "fact_text": f"{text}?"}
                    call(self.store, "memory_supersede_fact", **given)
                case _:
                    call(self.store, "memory_retract_fact", fact_id=fact_id)
        except Day1Error as error:
            assert error.code in {"not_found", "refused", "conflict"}  # noqa: PT017 - others are faults

    def answers(self, name: str) -> Iterator[dict[str, Any]]:
        """What all readers say in one space."""
        space = self.space(name)
        for query in ("loose bolt oak oil", f"what holds {self.mark('wood')}?"):
            yield call(self.store, "engram.memory_search", query=query, project=space, limit=50)
            for more in ({}, {"types": ["fact", "observation"], "include_inactive": True}):
                yield call(self.store, "memory_search", query=query, space=space, limit=50, **more)
        yield call(self.store, "memory_timeline", space=space, limit=500)
        yield call(self.store, "memory_graph_query", entity="bolt", space=space, depth=5)


@pytest.mark.line("X6-001")
@pytest.mark.parametrize("examples", EXAMPLES)
def test_two_spaces_never_see_one_anothers_rows(store: OpenStore, examples: int) -> None:
    hold(examples, DEEDS, partial(stay_apart, store))


def stay_apart(store: OpenStore, deeds: list[Any]) -> None:
    writer = Writer(store, next(NUMBERS))
    for deed in deeds:
        writer.do(deed)
    for name, other in (("metal", "wood"), ("wood", "metal")):
        for answer in writer.answers(name):
            found = json.dumps(answer["result"])
            for stranger in (writer.mark(other), writer.mark(None)):
                assert stranger not in found, (name, found)
    insights = call(store, "engram.memory_insights")["insights"]
    for insight in insights:
        marks = [writer.mark(name) for name in ("metal", "wood", None)]
        assert sum(mark in insight["text"] for mark in marks) <= 1, insight
