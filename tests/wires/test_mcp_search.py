"""Finding over MCP: search in its three ways, the graph, the timeline."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.wires.conftest import Fork
from tests.wires.mcp_session import ISO, Session
from tests.wires.meaning import endpoint

NULLABLE = "string|null = null"
HIT = {
    "id", "type", "fact_text", "category", "score", "confidence", "status", "verification",
    "passage", "agent_id", "happened_at", "created_at", "revision",
}  # fmt: skip
EDGE = {"source", "target", "relation", "properties", "count", "id"}
MOMENT = {"type", "timestamp", "content", "id", "agent_id", "session_id"}


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
        "include_inactive": "boolean|null = false",
        "wait": "boolean|null = false",
    }


@pytest.fixture(scope="module")
def library(core: Session) -> str:
    """A branch with a few memories."""
    core.ok("memory_branch_create", branch_name="library", parent_branch="empty")
    for text, category, day in (
        ("Ada drinks green tea in the morning.", "preference", "2026-01-10"),
        ("Bo drinks coffee; tea makes him sleepy.", "preference", "2026-02-10"),
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


@pytest.mark.line("S1-005", "S1-019")
def test_null_means_the_default(core: Session, library: str) -> None:
    optional = (
        "search_type",
        "category",
        "limit",
        "time_range",
        "types",
        "at",
        "wait",
        "include_inactive",
    )
    plain = core.ok("memory_search", query="tea", branch=library)
    assert core.ok("memory_search", query="tea", branch=library, **dict.fromkeys(optional)) == plain
    assert len(plain["result"]) == 3


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
        ({"after": "2026-02-10T00:00:00.000001Z"}, {3}),
        ({"before": "2026-02-10"}, {1, 2}),
        ({"before": "2026-02-09T23:59:59Z"}, {1}),
        ({"before": "2026-02-10T02:00:00+02:00"}, {1, 2}),
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
    assert fallen.structured["result"] == by_words["result"]
    assert fallen.structured["read"]["mode"] == "keyword"
    (note,) = fallen.notes
    assert "keyword only" in note


@pytest.fixture(scope="module")
def meaning(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A server with an embedder that knows synonyms."""
    with (
        endpoint() as url,
        Session(
            tmp_path_factory.mktemp("meaning") / "store",
            DAY1_EMBEDDER__KIND="openai",
            DAY1_EMBEDDER__URL=url,
            DAY1_EMBEDDER__MODEL="meaning",
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
    "query", ['"', "AND OR NOT", "tea*", "a:b", "(", "the of and", "  x  ", "-"]
)
def test_any_question_is_a_question(core: Session, library: str, query: str) -> None:
    core.found("memory_search", query=query, branch=library)


@pytest.mark.line("S1-023")
def test_graph_query_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_graph_query") == {
        "entity": "string!",
        "relation_type": NULLABLE,
        "depth": "integer|null 1..5 = 1",
        "branch": NULLABLE,
        "at": NULLABLE,
    }


def relate(core: Session, branch: str, *triples: str, **more: Any) -> None:
    for triple in triples:
        source, relation, target = triple.split()
        core.ok(
            "memory_write_relation",
            source_entity=source,
            relation_type=relation,
            target_entity=target,
            branch=branch,
            **more,
        )


@pytest.mark.line("S1-024", "S1-091")
def test_edges_carry_the_seeds_names(core: Session, branch: str) -> None:
    relate(core, branch, "Auth depends_on User", properties={"why": "login"})
    relate(core, branch, "Auth uses Log")
    edges = core.found("memory_graph_query", entity="Auth", branch=branch)
    assert all(set(edge) == EDGE for edge in edges)
    assert [(e["source"], e["relation"], e["target"], e["properties"]) for e in edges] == [
        ("Auth", "depends_on", "User", {"why": "login"}),
        ("Auth", "uses", "Log", {}),
    ]
    assert core.found("memory_graph_query", entity="auth", branch=branch) == []


@pytest.fixture
def chain(core: Session, branch: str) -> str:
    """a -> b -> c -> d -> e -> f -> g, with a way back from c to a and a side way into b."""
    relate(core, branch, "a to b", "b to c", "c to d", "d to e", "e to f", "f to g")
    relate(core, branch, "c back a", "x into b")
    return branch


@pytest.mark.line("S1-025")
@pytest.mark.parametrize(
    ("entity", "depth", "expected"),
    [
        ("a", None, {"ab", "ca"}),
        ("a", 1, {"ab", "ca"}),
        ("a", 2, {"ab", "ca", "bc", "xb", "cd"}),
        ("a", 3, {"ab", "ca", "bc", "xb", "cd", "de"}),
        ("g", 1, {"fg"}),
        ("g", 5, {"fg", "ef", "de", "cd", "bc", "ca"}),
        ("x", 2, {"xb", "ab", "bc"}),
        ("nobody", 5, set()),
    ],
)
def test_the_graph_is_walked_both_ways_and_ends_on_cycles(
    core: Session, chain: str, entity: str, depth: int | None, expected: set[str]
) -> None:
    edges = core.found("memory_graph_query", entity=entity, depth=depth, branch=chain)
    walked = [edge["source"] + edge["target"] for edge in edges]
    assert len(walked) == len(set(walked))
    assert set(walked) == expected


@pytest.mark.line("S1-025")
def test_the_depth_has_a_cap(core: Session) -> None:
    for depth in (0, 6):
        error = core.refused("memory_graph_query", "invalid_request", entity="a", depth=depth)
        assert error["details"]["problems"][0]["argument"] == "depth"


@pytest.mark.line("S1-023", "S1-025")
def test_nearest_come_first_and_a_relation_type_filters(core: Session, chain: str) -> None:
    def walk(**given: Any) -> list[str]:
        edges = core.found("memory_graph_query", entity="a", depth=3, branch=chain, **given)
        return [edge["source"] + edge["target"] for edge in edges]

    assert walk()[:2] == ["ab", "ca"]
    assert walk()[-1] == "de"
    assert walk(relation_type="to") == ["ab", "bc", "cd"]
    assert walk(relation_type="into") == []


@pytest.mark.line("S1-024")
def test_equal_triples_are_one_edge_with_their_count(core: Session, branch: str) -> None:
    for weight in (1, 2, 3):
        relate(core, branch, "a to b", properties={"weight": weight})
    relate(core, branch, "b to a")
    first, second = core.found("memory_graph_query", entity="a", branch=branch)
    assert (first["source"], first["count"], first["properties"]) == ("a", 3, {"weight": 3})
    assert (second["source"], second["count"]) == ("b", 1)


@pytest.mark.line("S1-026")
def test_timeline_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_timeline") == {
        "session_id": NULLABLE,
        "branch": NULLABLE,
        "after": NULLABLE,
        "before": NULLABLE,
        "limit": "integer|null 1..500 = 50",
        "at": NULLABLE,
    }


@pytest.fixture
def days(core: Session, branch: str) -> str:
    """Facts and observations of several days and two sessions, written out of order."""
    for day, session in ((3, "s-1"), (1, "s-2"), (2, "s-1"), (4, "s-2")):
        given = {"branch": branch, "happened_at": f"2026-05-0{day}", "session_id": session}
        core.ok("memory_write_fact", fact_text=f"fact {day}", **given)
        core.ok(
            "memory_write_observation", observation_type="insight", summary=f"seen {day}", **given
        )
    core.ok("memory_write_fact", fact_text="today", branch=branch)
    return branch


@pytest.mark.line("S1-027")
def test_the_timeline_is_chronological_with_the_seeds_fields(core: Session, days: str) -> None:
    moments = core.found("memory_timeline", branch=days)
    assert all(set(moment) == MOMENT for moment in moments)
    times = [moment["timestamp"] for moment in moments]
    assert times == sorted(times)
    assert [moment["content"] for moment in moments] == [
        "fact 1", "seen 1", "fact 2", "seen 2", "fact 3", "seen 3", "fact 4", "seen 4", "today",
    ]  # fmt: skip
    assert [moment["type"] for moment in moments[:2]] == ["fact", "observation"]
    assert moments[0]["timestamp"] == "2026-05-01T00:00:00.000000+00:00"
    assert "oldest first" in str(core.tools["memory_timeline"].description)


@pytest.mark.line("S1-026")
@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"after": "2026-05-03", "before": "2026-05-03"}, ["fact 3", "seen 3"]),
        ({"before": "2026-05-01"}, ["fact 1", "seen 1"]),
        ({"before": "2026-04-30"}, []),
        ({"after": "2026-05-04T00:00:00.000001Z"}, ["today"]),
        ({"limit": 1}, ["today"]),
        ({"limit": 3, "before": "2026-05-04"}, ["seen 3", "fact 4", "seen 4"]),
        ({"session_id": "s-2"}, ["fact 1", "seen 1", "fact 4", "seen 4"]),
        ({"session_id": "s-2", "after": "2026-05-02", "limit": None}, ["fact 4", "seen 4"]),
        ({"session_id": "nobody"}, []),
    ],
)
def test_a_timeline_is_narrowed_by_session_time_and_limit(
    core: Session, days: str, given: dict[str, Any], expected: list[str]
) -> None:
    moments = core.found("memory_timeline", branch=days, **given)
    assert [moment["content"] for moment in moments] == expected


@pytest.mark.line("S1-026")
def test_a_window_that_ends_before_it_begins_is_refused(core: Session) -> None:
    error = core.refused(
        "memory_timeline", "invalid_request", after="2026-05-02", before="2026-05-01"
    )
    assert "`after`" in error["message"]


@pytest.mark.line("S1-026")
def test_a_timeline_has_fifty_moments_unless_told(core: Session, branch: str) -> None:
    for number in range(52):
        core.ok("memory_write_fact", fact_text=f"{number}", branch=branch)
    moments = core.found("memory_timeline", branch=branch)
    assert [moment["content"] for moment in moments] == [str(n) for n in range(2, 52)]
    assert len(core.found("memory_timeline", branch=branch, limit=500)) == 52


@pytest.mark.line("S1-009")
@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("2026-05-01", "2026-05-01T00:00:00.000000+00:00"),
        ("2026-05-01T10:00:00", "2026-05-01T10:00:00.000000+00:00"),
        ("2026-05-01T10:00:00.5Z", "2026-05-01T10:00:00.500000+00:00"),
        ("2026-05-01T10:00:00+05:30", "2026-05-01T04:30:00.000000+00:00"),
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000+00:00"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999+00:00"),
    ],
)
def test_times_come_back_as_iso_utc(core: Session, branch: str, given: str, shown: str) -> None:
    core.ok("memory_write_fact", fact_text="Then.", happened_at=given, branch=branch)
    (moment,) = core.found("memory_timeline", branch=branch)
    assert moment["timestamp"] == shown
    (hit,) = core.found("memory_search", query="then", search_type="keyword", branch=branch)
    assert hit["happened_at"] == shown
    assert ISO.fullmatch(hit["created_at"])
