"""No answer of Kompanion holds another namespace's row, whatever was done in both before."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from day1.services.access.caller import Caller
from day1.toolsets.kompanion import KOMPANION
from tests.fakes.embedding_server import embedding_server
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.opened_store import opened
from tests.sampling import EXAMPLES, hold, sampled
from tests.wires.kompanion_client import clients

KEYS = st.sampled_from(["plan", "notes", "a"])
SPACES = st.sampled_from(["metal", "wood"])
WORDS = st.sampled_from(["loose bolt", "oak board", "oil"])
DEEDS = st.one_of(
    st.tuples(st.just("save"), SPACES, KEYS, WORDS, st.sampled_from([None, 0.001, 900.0])),
    st.tuples(
        st.just("upsert"), SPACES, KEYS, WORDS, st.sampled_from([None, [1.0, 2.0], [0.5] * 64])
    ),
    st.tuples(st.just("sync"), SPACES, KEYS, WORDS, st.none()),
    st.tuples(st.just("remove"), SPACES, KEYS, WORDS, st.none()),
)
NUMBERS = count()


Call = Callable[..., dict[str, Any]]
"""Calls a tool of Kompanion by its name."""


@contextmanager
def called_within(folder: Path) -> Iterator[Call]:
    with opened(folder, create=True) as store:

        def call(tool: str, /, **arguments: Any) -> dict[str, Any]:
            ctx = store.context(Caller())
            ctx = replace(ctx, search=replace(ctx.search, embedder=HashingEmbedder()))
            return KOMPANION.tools[tool].call(ctx, arguments)

        yield call


@contextmanager
def called_over(wire: str, folder: Path) -> Iterator[Call]:
    embedder = HashingEmbedder()
    with embedding_server(lambda text: embedder.embed([text])[0].tolist()) as url:
        given = {"KIND": "openai", "URL": url, "MODEL": "m", "DIMENSION": str(embedder.dimension)}
        settings = {f"DAY1_EMBEDDER__{name}": value for name, value in given.items()}
        with clients(wire, folder, **settings) as both:
            yield both.kompanion.ok


@pytest.fixture(scope="module", params=sampled(("within", "stdio", "http"), {"within"}))
def call(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Call]:
    """The tools in this process, and over each wire."""
    folder = tmp_path_factory.mktemp("spaces") / "store"
    wire = request.param
    with called_within(folder) if wire == "within" else called_over(wire, folder) as call:
        yield call


def do(call: Call, space: str, mark: str, deed: tuple[Any, ...]) -> None:
    what, _, key, words, more = deed
    here = {"namespace": space}
    text = f"{words} of {mark}"
    match what:
        case "save":
            said: dict[str, Any] = {} if more is None else {"ttl_seconds": more}
            call("save_context", **here, key=key, content={"text": text}, **said)
        case "upsert":
            item: dict[str, Any] = {"id": key, "text": text, "metadata": {"mark": mark}}
            if more is not None:
                item["embedding"] = more
            call("upsert_memory", **here, items=[item])
        case "sync":
            call("sync_semantic", **here, max_batch=2)
        case "remove":
            call("save_context", **here, key=key, content=[text], sensitivity="secret")


def answers(call: Call, space: str) -> Iterator[dict[str, Any]]:
    here = {"namespace": space}
    yield call("recall_context", **here)
    yield call("recall_context", **here, key="plan")
    for query in (
        {"text": "loose bolt oak"},
        {"text": "oil", "k": 1},
        {"text": "bolt", "filter": {}},
        {"embedding": [0.5] * 64},
        {"text": "bolt", "embedding": [0.25] * 64},
    ):
        yield call("search_memory", **here, query=query)


def rows(answer: dict[str, Any]) -> dict[str, Any]:
    """What was found. A note may name another namespace, whose name is like the one asked for."""
    return {name: part for name, part in answer.items() if name != "read"}


@pytest.mark.line("S3-016")
@pytest.mark.parametrize("examples", EXAMPLES)
def test_a_namespace_never_sees_the_others_rows(call: Call, examples: int) -> None:
    hold(examples, DEEDS, partial(stay_apart, call))


def stay_apart(call: Call, deeds: list[Any]) -> None:
    number = next(NUMBERS)
    marks = {name: f"{name}{number}" for name in ("metal", "wood")}
    for deed in deeds:
        do(call, f"project:{marks[deed[1]]}", marks[deed[1]], deed)
    for name, mark in marks.items():
        (other,) = set(marks.values()) - {mark}
        for answer in answers(call, f"project:{mark}"):
            said = json.dumps(rows(answer))
            assert other not in said, (name, said)
        for shared in answers(call, "shared"):
            assert mark not in json.dumps(rows(shared))
