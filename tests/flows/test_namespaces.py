"""No answer of Kompanion holds another namespace's row, whatever was done in both before."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import pytest
from hypothesis import strategies as st

from day1.call.context import Caller
from day1.interfaces.open_store import OpenStore
from day1.toolsets.kompanion import KOMPANION
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.flows.opened_store import opened
from tests.sampling import EXAMPLES, hold

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


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenStore]:
    with opened(tmp_path_factory.mktemp("spaces") / "store", create=True) as store:
        yield store


def call(store: OpenStore, tool: str, /, **arguments: Any) -> dict[str, Any]:
    ctx = store.context(Caller())
    ctx = replace(ctx, search=replace(ctx.search, embedder=HashingEmbedder()))
    return KOMPANION.tools[tool].call(ctx, arguments)


def do(store: OpenStore, space: str, mark: str, deed: tuple[Any, ...]) -> None:
    what, _, key, words, more = deed
    here = {"namespace": space}
    text = f"{words} of {mark}"
    match what:
        case "save":
            said: dict[str, Any] = {} if more is None else {"ttl_seconds": more}
            call(store, "save_context", **here, key=key, content={"text": text}, **said)
        case "upsert":
            item: dict[str, Any] = {"id": key, "text": text, "metadata": {"mark": mark}}
            if more is not None:
                item["embedding"] = more
            call(store, "upsert_memory", **here, items=[item])
        case "sync":
            call(store, "sync_semantic", **here, max_batch=2)
        case "remove":
            call(store, "save_context", **here, key=key, content=[text], sensitivity="secret")


def answers(store: OpenStore, space: str) -> Iterator[dict[str, Any]]:
    here = {"namespace": space}
    yield call(store, "recall_context", **here)
    yield call(store, "recall_context", **here, key="plan")
    for query in (
        {"text": "loose bolt oak"},
        {"text": "oil", "k": 1},
        {"text": "bolt", "filter": {}},
        {"embedding": [0.5] * 64},
        {"text": "bolt", "embedding": [0.25] * 64},
    ):
        yield call(store, "search_memory", **here, query=query)


def rows(answer: dict[str, Any]) -> dict[str, Any]:
    """What was found. A note may name another namespace, whose name is like the one asked for."""
    return {name: part for name, part in answer.items() if name != "read"}


@pytest.mark.line("S3-016")
@pytest.mark.parametrize("examples", EXAMPLES)
def test_a_namespace_never_sees_the_others_rows(store: OpenStore, examples: int) -> None:
    hold(examples, DEEDS, partial(stay_apart, store))


def stay_apart(store: OpenStore, deeds: list[Any]) -> None:
    number = next(NUMBERS)
    marks = {name: f"{name}{number}" for name in ("metal", "wood")}
    for deed in deeds:
        do(store, f"project:{marks[deed[1]]}", marks[deed[1]], deed)
    for name, mark in marks.items():
        (other,) = set(marks.values()) - {mark}
        for answer in answers(store, f"project:{mark}"):
            said = json.dumps(rows(answer))
            assert other not in said, (name, said)
        for shared in answers(store, "shared"):
            assert mark not in json.dumps(rows(shared))
