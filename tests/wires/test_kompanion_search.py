"""Texts over both wires: upserts, search by text, filter and vector, and promotion to facts."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.forkserver import python
from tests.waiting import until
from tests.wires.http_server import HTTP_DAILY
from tests.wires.kompanion_client import METAL, WOOD, Both, clients, found, model
from tests.wires.kompanion_client import both as both  # noqa: PLC0414 - a fixture
from tests.wires.kompanion_client import shared as shared  # noqa: PLC0414 - a fixture
from tests.wires.mcp_session import environment

TEN = [
    f"The {animal} is an animal that lives in the {place}."
    for animal, place in zip(
        "fox owl bear wolf deer hare lynx boar stag crow".split(),  # noqa: SIM905 - words are read more easily so
        "wood barn cave hill park field rocks marsh glen tower".split(),  # noqa: SIM905 - as above
        strict=True,
    )
]
OTHERS = [f"Server {n} listens on port {n + 4000} behind a proxy." for n in range(60)]


@pytest.fixture(scope="module", params=HTTP_DAILY)
def embedding(request: pytest.FixtureRequest, tmp_path_factory: Any) -> Iterator[Both]:
    with clients(request.param, tmp_path_factory.mktemp("kompanion") / "store", **model()) as both:
        yield both


def items(texts: list[str], **more: Any) -> list[dict[str, Any]]:
    return [{"id": f"n{number}", "text": text, **more} for number, text in enumerate(texts)]


@pytest.mark.line("S3-006")
def test_upserts_change_in_place_and_only_what_differs(both: Both) -> None:
    own, day1 = both
    texts = [f"Memory number {number}." for number in range(1_000)]
    first = own.ok("upsert_memory", **METAL, items=items(texts))
    assert first["upserted"] == 1_000
    assert first["ids"] == [f"n{number}" for number in range(1_000)]
    before = day1.found("memory_log")
    texts[100:110] = [f"Another text {number}." for number in range(10)]
    second = own.ok("upsert_memory", **METAL, items=items(texts))
    assert second["upserted"] == 1_000
    new = [c for c in day1.found("memory_log") if c not in before and c["op"] == "change"]
    assert [commit["line"] for commit in new] == ["change 10 keyed rows"]
    again = own.ok("upsert_memory", **METAL, items=items(texts))
    assert again["written"]["commit"] == second["written"]["commit"] == new[0]["commit"]
    assert day1.ok("memory_list", type="fact", limit=1)["total"] == 1_000
    assert found(own, "Another text 7.", k=1) == ["n107"]
    assert "n107" not in found(own, "Memory number 107.", k=1)


def test_one_bad_item_keeps_all_out(both: Both) -> None:
    bad = [*items(["one", "two"]), {"text": "three", "metadata": {"a": "\0"}}]
    both.kompanion.refused("upsert_memory", "invalid_request", **METAL, items=bad)
    assert both.kompanion.ok("upsert_memory", **METAL, items=[])["upserted"] == 0


@pytest.mark.line("S3-006")
def test_an_id_that_was_made_is_taken_as_one(both: Both) -> None:
    own, day1 = both
    (made,) = own.ok("upsert_memory", **METAL, items=[{"text": "first words"}])["ids"]
    own.ok("upsert_memory", **METAL, items=[{"id": made, "text": "second words"}])
    assert found(own, "words") == [made]
    elsewhere = own.ok("upsert_memory", **WOOD, items=[{"id": made, "text": "their words"}])
    assert elsewhere["ids"] == [made]
    assert day1.ok("memory_get", id=made)["row"]["fact_text"] == "second words"
    assert found(own, "words", **WOOD) == [made]


def test_a_repeated_request_makes_no_second_memory(both: Both) -> None:
    own = both.kompanion
    given = {**METAL, "items": [{"text": "once"}], "request_id": "r1"}
    assert own.ok("upsert_memory", **given)["ids"] == own.ok("upsert_memory", **given)["ids"]
    assert len(found(own, "once")) == 1
    saved = {**METAL, "content": 1, "request_id": "r2", "ttl_seconds": 900}
    assert own.ok("save_context", **saved)["id"] == own.ok("save_context", **saved)["id"]
    own.refused("save_context", "request_reused", **{**saved, "content": 2})
    other = {**given, "items": [{"text": "something else"}]}
    own.refused("upsert_memory", "request_reused", **other)


def test_a_superseded_memory_comes_back_with_another_text_only(both: Both) -> None:
    own, day1 = both
    own.ok("upsert_memory", **METAL, items=items(["a tin roof"]))
    (row,) = day1.ok("memory_list", type="fact")["rows"]
    day1.ok("memory_supersede_fact", fact_id=row["id"], fact_text="something else")
    own.ok("upsert_memory", **METAL, items=items(["a tin roof"]))
    assert found(own, "tin roof") == []
    own.ok("upsert_memory", **METAL, items=items(["a tin roof, painted"]))
    assert found(own, "tin roof") == ["n0"]


@pytest.mark.line("S3-007")
def test_a_filter_narrows_before_the_best_are_chosen(both: Both) -> None:
    """VelesDB#1040: filtering what was found drops what ranks lower."""
    own = both.kompanion
    for start in range(0, 5_000, 1_000):
        some = [
            {"id": f"b{n}", "text": f"tea tea tea {n}", "metadata": {"team": "b", "n": n}}
            for n in range(start, start + 1_000)
        ]
        own.ok("upsert_memory", **METAL, items=some)
    five = [
        {"id": f"a{n}", "text": f"Among very many other words tea {n}", "metadata": {"team": "a"}}
        for n in range(5)
    ]
    own.ok("upsert_memory", **METAL, items=five)
    assert not set(found(own, "tea", k=200)) & {f"a{n}" for n in range(5)}
    narrowed = own.ok("search_memory", **METAL, query={"text": "tea", "filter": {"team": "a"}})
    assert {match["id"] for match in narrowed["matches"]} == {f"a{n}" for n in range(5)}
    assert all(match["metadata"] == {"team": "a"} for match in narrowed["matches"])
    assert found(own, "tea", filter={"n": 4321}) == ["b4321"]
    assert found(own, "tea", filter={"n": "4321"}) == []
    assert (
        found(own, "tea", filter={"team": "a"}, k=2) == found(own, "tea", filter={"team": "a"})[:2]
    )


def test_matches_say_no_more_than_they_have(both: Both) -> None:
    own = both.kompanion
    own.ok("upsert_memory", **METAL, items=[{"id": "x", "text": "bare words"}])
    own.ok("save_context", **METAL, key="k", content={"words": "in a context"})
    answer = own.ok("search_memory", **METAL, query={"text": "bare words context"})
    assert all(set(match) == {"id", "score", "text"} for match in answer["matches"])
    assert {match["text"] for match in answer["matches"]} == {"bare words", "words: in a context"}
    assert answer["read"]["mode"] == "keyword"


@pytest.mark.line("S3-005", "S3-007")
def test_the_vector_of_a_text_finds_what_the_text_finds(embedding: Both) -> None:
    own = embedding.kompanion
    own.ok("upsert_memory", **METAL, items=items(TEN + OTHERS))
    until(lambda: own.ok("warm_cache", **METAL)["queued"] == 0, "all vectors")
    text = "Which animals live in the wild?"
    embedded = own.ok("embed_text", texts=[text, TEN[3]])
    assert embedded["model"] == "minilm-l6-v2-384"
    by_text = found(own, text)
    by_vector = own.ok("search_memory", **METAL, query={"embedding": embedded["vectors"][0]})
    assert {m["id"] for m in by_vector["matches"]} == set(by_text) == {f"n{n}" for n in range(10)}
    assert by_vector["read"]["mode"] == "vector"
    (nearest, *_) = found(own, text, embedding=embedded["vectors"][1])
    assert nearest == "n3"
    refused = own.refused(
        "search_memory", "invalid_request", **METAL, query={"embedding": [1, 2, 3, 4, 5]}
    )
    assert "5 numbers" in refused["message"]
    assert "384" in refused["message"]
    unknown = own.call("embed_text", {"texts": ["a"], "model": "other"}).structured["error"]
    assert unknown["code"] == "unknown_model"
    assert unknown["details"]["model"] == "minilm-l6-v2-384"


def test_a_long_text_has_the_mean_of_its_passages(embedding: Both) -> None:
    own = embedding.kompanion
    long = " ".join(f"Sentence {n} tells of the mill." for n in range(300))
    answer = own.ok("embed_text", texts=["short", long, long[:50]])
    assert "1 of the texts" in answer["read"]["notes"][0]
    lengths = [sum(x * x for x in vector) for vector in answer["vectors"]]
    assert lengths == pytest.approx([1, 1, 1], abs=1e-5)
    own.ok("upsert_memory", **WOOD, items=[{"text": long, "embedding": answer["vectors"][1]}])
    until(lambda: own.ok("warm_cache", **WOOD)["queued"] == 0, "all vectors")
    query = {"embedding": answer["vectors"][1]}
    notes = own.ok("search_memory", **WOOD, query=query, full=True)["read"]["notes"]
    assert notes == [], "it is ours, and was not kept"
    assert own.ok("embed_text", texts=[])["vectors"] == []
    assert len(own.ok("embed_text", texts=["a"] * 256)["vectors"]) == 256


@pytest.mark.parametrize("length", [8, 384])
def test_vectors_of_another_model_are_compared_with_one_another_only(
    embedding: Both, length: int
) -> None:
    own, space = embedding.kompanion, {"namespace": f"model:{length}"}

    def vector(*places: int) -> list[float]:
        return [1.0 if place in places else 0.0 for place in range(length)]

    given = [
        {"id": f"g{n}", "text": text, "embedding": vector(n)} for n, text in enumerate(TEN[:4])
    ]
    own.ok("upsert_memory", **space, items=[*given, *items(OTHERS[:6])])
    until(lambda: own.ok("warm_cache", **space)["queued"] == 0, "all vectors")
    answer = own.ok("search_memory", **space, query={"embedding": vector(2, 5)})
    assert answer["matches"][0]["id"] == "g2"
    assert answer["matches"][0]["score"] == pytest.approx(0.5**0.5, abs=1e-5)
    assert {match["id"] for match in answer["matches"]} == {"g0", "g1", "g2", "g3"}
    (note,) = answer["read"]["notes"]
    assert "4 vectors" in note
    assert "6 memories" in note
    by_text = own.ok("search_memory", **space, query={"text": "Which animals live in the wild?"})
    assert {match["id"] for match in by_text["matches"][:4]} == {"g0", "g1", "g2", "g3"}
    assert by_text["matches"][0]["score"] < 0.9, "the words' own vectors, not the given ones"
    both = {"text": TEN[1], "embedding": vector(3)}
    mixed = own.ok("search_memory", **space, query=both)
    assert mixed["read"]["mode"] == "hybrid"
    assert {match["id"] for match in mixed["matches"][:2]} == {"g1", "g3"}
    ours = own.ok("embed_text", texts=["Which animals live in the wild?"])["vectors"][0]
    own_kind = own.ok("search_memory", **space, query={"embedding": ours})
    assert not own_kind["read"]["notes"]
    assert own_kind["matches"][0]["score"] > 0.3


@pytest.mark.line("S3-009", "S3-010")
def test_promotion_goes_batch_by_batch_and_ends(embedding: Both) -> None:
    own, day1 = embedding
    space = {"namespace": "thread:25"}
    for number in range(25):
        own.ok(
            "save_context", **space, key=f"k{number}", content={"note": f"Bolt {number} is loose."}
        )
    own.ok("save_context", **space, content="a secret bolt", sensitivity="secret")
    own.ok("save_context", **space, content="an old bolt", ttl_seconds=0.001)

    def sync() -> tuple[int, int]:
        done = own.ok("sync_semantic", **space, max_batch=10)
        return done["processed"], done["pending"]

    assert [sync() for _ in range(4)] == [(10, 15), (10, 5), (5, 0), (0, 0)]
    facts = day1.found("memory_search", query="bolt", limit=100)
    promoted = [hit for hit in facts if "is loose" in hit["fact_text"]]
    assert len(promoted) == 25
    assert not [hit for hit in facts if "secret" in hit["fact_text"] or "old" in hit["fact_text"]]
    assert len(found(own, "loose bolt", **space, k=30)) == 25, "each once, as context or as fact"
    own.ok("save_context", **space, key="k7", content={"note": "Bolt 7 is tight."})
    assert sync() == (1, 0)
    texts = json.dumps(day1.found("memory_search", query="bolt 7", limit=100))
    assert "Bolt 7 is tight." in texts
    assert "Bolt 7 is loose." not in texts


def test_a_long_context_becomes_its_passages_and_a_short_one_takes_them_back(
    embedding: Both,
) -> None:
    own, day1 = embedding
    space = {"namespace": "thread:long"}
    long = " ".join(f"Wheel {n} turns left." for n in range(200))
    own.ok("save_context", **space, key="log", content=long)
    assert own.ok("sync_semantic", **space)["processed"] == 1
    passages = day1.found("memory_search", query="wheel turns", limit=100)
    assert len([hit for hit in passages if "turns left" in hit["fact_text"]]) > 3
    own.ok("save_context", **space, key="log", content="Wheel 0 turns left.")
    assert own.ok("sync_semantic", **space)["processed"] == 1
    left = day1.found("memory_search", query="wheel turns", limit=100)
    assert [h["fact_text"] for h in left if "turns left" in h["fact_text"]] == [
        "Wheel 0 turns left."
    ]


def test_a_search_finds_what_a_context_says_now(embedding: Both) -> None:
    own, day1 = embedding
    space = {"namespace": "thread:back"}

    def texts() -> list[str]:
        matches = own.ok("search_memory", **space, query={"text": "Which gate opens at night?"})
        return [match["text"] for match in matches["matches"]]

    for gate in ("The north gate opens at night.", "The south gate opens at night.") * 2:
        own.ok("save_context", **space, key="gate", content=gate)
        assert texts() == [gate]
        assert own.ok("sync_semantic", **space)["processed"] == 1
        assert texts() == [gate]
        facts = day1.found("memory_search", query="gate opens at night", limit=100)
        assert [h["fact_text"] for h in facts if "gate opens" in h["fact_text"]] == [gate]


@pytest.mark.line("S3-008")
@pytest.mark.parametrize("later", [False, True])
def test_what_is_queued_has_no_vector_yet_and_gets_one(tmp_path: Path, *, later: bool) -> None:
    folder = tmp_path / "store"
    with clients("stdio", folder) as (own, _):  # without a model, so nothing is embedded
        own.ok("upsert_memory", **METAL, items=items(TEN))
        mark = own.ok("save_context", **METAL, content="later words")["created_at"]
        own.ok("upsert_memory", **WOOD, items=items(OTHERS[:5]))
        own.ok("save_context", **METAL, content="hidden", sensitivity="secret")

    def queued(**more: str) -> int:
        """By a process without a worker that would embed the texts before the call does."""
        said = json.dumps({**METAL, **more})
        call = [*python(), "-m", "day1", "call", "warm_cache", said]
        env = {**os.environ, **environment(folder, **model())}
        done = subprocess.run(call, env=env, check=True, capture_output=True, cwd=tmp_path)
        return int(json.loads(done.stdout)["queued"])

    assert (queued(since=mark) if later else queued()) == (1 if later else 11)
    assert queued() == 0


@pytest.mark.line("S3-016")
def test_shared_is_what_day1s_own_tools_wrote_and_the_reverse(both: Both) -> None:
    own, day1 = both
    fact = day1.ok("memory_write_fact", fact_text="Ada drinks mint tea.")["id"]
    own.ok("upsert_memory", namespace="shared", items=[{"id": "s", "text": "Bob drinks mint tea."}])
    own.ok("upsert_memory", **METAL, items=[{"id": "m", "text": "Cyd drinks mint tea."}])
    assert set(found(own, "mint tea", namespace="shared")) == {fact, "s"}
    assert set(found(own, "mint tea", namespace=" Shared ")) == {fact, "s"}
    assert found(own, "mint tea") == ["m"]
    assert found(own, "mint tea", namespace="PROJECT:Metal") == ["m"]
    texts = {hit["fact_text"] for hit in day1.found("memory_search", query="mint tea")}
    assert texts == {f"{who} drinks mint tea." for who in ("Ada", "Bob", "Cyd")}
