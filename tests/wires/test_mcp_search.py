"""Finding over MCP: search in its three ways."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fakes.embedding_server import embedding_server
from tests.wires.conftest import Fork
from tests.wires.mcp_session import ISO, Session, unscored

NULLABLE = "string|null = null"
HIT = {
    "id", "type", "fact_text", "category", "score", "confidence", "status", "verification",
    "passage", "agent_id", "happened_at", "created_at", "revision",
}  # fmt: skip


def texts(hits: list[dict[str, Any]]) -> list[str]:
    return [hit["fact_text"] for hit in hits]


@pytest.mark.line("S1-019")
def test_search_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_search") == {
        "query": "string!",
        "search_type": 'hybrid|vector|keyword|null = "hybrid"',
        "category": NULLABLE,
        "branch": NULLABLE,
        "limit": "integer|null 1..200 = 10",
        "time_range": f"{{after: {NULLABLE}, before: {NULLABLE}}}|null = null",
        "types": "[fact|observation]|null = null",
        "at": NULLABLE,
        "space": NULLABLE,
        "as_of_event": NULLABLE,
        "include_inactive": "boolean|null = false",
        "wait": "boolean|null = false",
        "full": "boolean|null = false",
    }


@pytest.fixture(scope="module")
def library(core: Session) -> str:
    """A branch with a few memories."""
    core.ok("memory_branch_create", branch_name="library", parent_branch="empty")
    for text, category, day in (
        ("Ada drinks green tea in the morning.", "preference", "2026-01-10"),
        ("Bo drinks coffee; tea makes him sleepy.", "preference", "2026-02-10T12:00Z"),
        ("The tea service restarts tea pods when tea runs out.", "architecture", "2026-03-10"),
        ("The billing job runs at night.", "architecture", None),
    ):
        core.ok(
            "memory_write_fact",
            fact_text=text,
            category=category,
            happened_at=day,
            confidence=0.5,
            branch="library",
            agent_id="librarian",
        )
    core.ok(
        "memory_write_observation",
        observation_type="discovery",
        summary="The tea cupboard is empty.",
        branch="library",
    )
    return "library"


@pytest.mark.line("S1-020")
def test_hits_carry_the_seeds_fields_and_come_best_first(core: Session, library: str) -> None:
    hits = core.found("memory_search", query="Does the tea service restart?", branch=library)
    assert len(hits) == 3
    assert hits[0]["fact_text"] == "The tea service restarts tea pods when tea runs out."
    scores = [hit["score"] for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    for hit in hits:
        assert set(hit) == HIT
        assert hit["id"].startswith("fact_")
        assert hit["type"] == "fact"
        assert (hit["status"], hit["verification"]) == ("active", "unverified")
        assert (hit["confidence"], hit["agent_id"]) == (0.5, "librarian")
        assert hit["category"] in {"preference", "architecture"}
        assert ISO.fullmatch(hit["created_at"])
        assert ISO.fullmatch(hit["happened_at"])


@pytest.mark.line("S1-020")
def test_a_model_reads_of_a_hit_what_the_seed_promises_and_what_is_unusual(
    core: Session,
) -> None:
    core.ok("memory_branch_create", branch_name="told", parent_branch="empty")
    said = {"branch": "told", "query": "kettle"}
    core.ok("memory_write_fact", branch="told", fact_text="The kettle is blue.")
    (usual,) = core.call("memory_search", said).document
    assert set(usual) == {"id", "fact_text", "category", "score", "created_at"}
    core.ok(
        "memory_write_observation",
        branch="told",
        observation_type="discovery",
        summary="The kettle hums.",
        happened_at="2026-01-10",
        agent_id="ada",
    )
    (seen,) = core.call("memory_search", {**said, "types": ["observation"]}).document
    assert set(seen) == set(usual) | {"type", "agent_id", "happened_at"}
    new = core.ok(
        "memory_supersede_fact", branch="told", fact_id=usual["id"], fact_text="No kettle"
    )
    hits = core.call("memory_search", {**said, "include_inactive": True}).document
    old, new = ({h["id"]: h for h in hits}[i] for i in (usual["id"], new["id"]))
    assert (old["status"], set(old)) == ("superseded", {*usual, "status"})
    assert set(new) == set(usual)


@pytest.mark.line("S1-005", "S1-019")
def test_null_means_the_default(core: Session, library: str) -> None:
    optional = set(core.takes("memory_search")) - {"query", "branch"}
    plain = core.found("memory_search", query="tea", branch=library)
    null = core.found("memory_search", query="tea", branch=library, **dict.fromkeys(optional))
    assert unscored(null) == unscored(plain)
    assert len(plain) == 3


@pytest.mark.line("S1-019")
def test_a_category_and_a_limit_narrow_a_search(core: Session, library: str) -> None:
    def search(**given: Any) -> list[str]:
        return texts(core.found("memory_search", query="tea", branch=library, **given))

    assert len(search(category="preference")) == 2
    assert search(category="architecture") == [
        "The tea service restarts tea pods when tea runs out."
    ]
    assert search(category="nothing") == []
    assert search(limit=1) == search()[:1]
    assert search(types=["observation"]) == ["The tea cupboard is empty."]
    assert len(search(types=["fact", "observation"])) == 4


@pytest.mark.line("S1-019")
@pytest.mark.parametrize(
    ("window", "months"),
    [
        ({"after": "2026-02-10"}, {2, 3}),
        ({"after": "2026-02-10T12:00:00.000001Z"}, {3}),
        ({"before": "2026-02-10"}, {1, 2}),
        ({"before": "2026-02-09T23:59:59Z"}, {1}),
        ({"before": "2026-02-10T14:00:00+02:00"}, {1, 2}),
        ({"after": "2026-01-11", "before": "2026-03-09"}, {2}),
        ({"after": "2026-01-11", "before": None}, {2, 3}),
        ({}, {1, 2, 3}),
        ({"after": "2027-01-01"}, set()),
    ],
)
def test_each_side_of_a_time_range_works_alone(
    core: Session, library: str, window: dict[str, str | None], months: set[int]
) -> None:
    hits = core.found(
        "memory_search", query="tea", branch=library, time_range=window, category=None
    )
    assert {int(hit["happened_at"][5:7]) for hit in hits} == months


@pytest.mark.line("S1-021")
@pytest.mark.parametrize("search_type", ["hybrid", "vector"])
def test_without_a_model_words_are_searched_and_the_answer_says_so(
    core: Session, library: str, search_type: str
) -> None:
    asked = {"query": "Who drinks tea?", "branch": library}
    by_words = core.ok("memory_search", search_type="keyword", **asked)
    assert by_words["read"]["mode"] == "keyword"
    assert by_words["read"]["notes"] == []
    fallen = core.call("memory_search", {"search_type": search_type, **asked})
    assert unscored(fallen.structured["result"]) == unscored(by_words["result"])
    assert fallen.structured["read"]["mode"] == "keyword"
    (note,) = fallen.notes
    assert "keyword only" in note


@pytest.fixture(scope="module")
def meaning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A server with an embedder that knows synonyms."""
    with (
        embedding_server() as url,
        Session(
            tmp_path_factory.mktemp("meaning") / "store",
            DAY1_EMBEDDER__KIND="openai",
            DAY1_EMBEDDER__URL=url,
            DAY1_EMBEDDER__MODEL="meaning",
            DAY1_SEARCH__WORDS_BOOST="0",  # so that the two scores are all that counts
            DAY1_SEARCH__LENGTH_BOOST="0",
        ) as session,
    ):
        for text in ("The car is red.", "An automobile stood there.", "The loaf tastes good."):
            session.ok("memory_write_fact", fact_text=text)
        assert session.ok("memory_search", query="car", wait=True)["read"]["notes"] == []
        yield session


@pytest.mark.line("S1-021")
def test_each_search_type_changes_the_method(meaning: Session) -> None:
    def search(kind: str | None, query: str = "Which car?") -> list[tuple[str, float]]:
        answer = meaning.ok("memory_search", query=query, search_type=kind, limit=2)
        assert answer["read"]["mode"] == kind or kind is None
        assert answer["read"]["notes"] == []
        return [(hit["fact_text"], hit["score"]) for hit in answer["result"]]

    assert [text for text, _ in search("keyword")] == ["The car is red."]
    by_meaning = search("vector")
    assert by_meaning[0] == ("An automobile stood there.", 1.0)
    assert by_meaning[1][0] == "The car is red."
    assert by_meaning[1][1] < 0.8, "red is another meaning"
    both = dict(search("hybrid"))
    assert both["An automobile stood there."] == pytest.approx(0.7)
    assert both["The car is red."] > 0.7 * by_meaning[1][1], "its word counts as well"
    assert search(None) == search("hybrid")


@pytest.mark.line("S1-022")
def test_search_stays_on_the_branch_that_is_asked(core: Session, branch: str, fork: Fork) -> None:
    core.ok("memory_write_fact", fact_text="Zebras eat grass.", branch=branch)
    child, stranger = fork(branch), fork()
    core.ok("memory_write_fact", fact_text="Zebras eat leaves.", branch=child)
    core.ok("memory_write_fact", fact_text="Zebras eat cake.", branch=stranger)
    core.ok("memory_write_fact", fact_text="Zebras eat everything.", branch=branch)

    def search(where: str) -> set[str]:
        answer = core.ok("memory_search", query="zebras", branch=where)
        assert answer["read"]["branch"] == where
        return set(texts(answer["result"]))

    assert search(branch) == {"Zebras eat grass.", "Zebras eat everything."}
    assert search(child) == {"Zebras eat grass.", "Zebras eat leaves."}
    assert search(stranger) == {"Zebras eat cake."}


@pytest.mark.line("S1-022")
def test_equal_texts_on_two_branches_are_two_memories(core: Session, fork: Fork) -> None:
    ids = {}
    for where in (fork(), fork()):
        wrote = core.ok("memory_write_fact", fact_text="Okapis are shy.", branch=where)
        (hit,) = core.found("memory_search", query="shy okapis", branch=where)
        assert hit["id"] == wrote["id"]
        ids[where] = hit["id"]
    assert len(set(ids.values())) == 2


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        *(('"', 0), ("AND OR NOT", 0), ("tea*", 3), ("a:b", 0), ("(", 0)),
        *(("the of and", 3), ("  x  ", 0), ("-", 0)),
    ],
)
def test_operators_of_an_index_are_words_of_a_query(
    core: Session, library: str, query: str, hits: int
) -> None:
    assert len(core.found("memory_search", query=query, branch=library)) == hits
