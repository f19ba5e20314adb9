"""Reading in order over MCP: the graph around an entity, the timeline, and times."""

from typing import Any

import pytest

from tests.wires.mcp_session import ISO, Session

NULLABLE = "string|null = null"
EDGE = {"source", "target", "relation", "properties", "count", "id"}
MOMENT = {"type", "timestamp", "content", "id", "agent_id", "session_id"}


@pytest.mark.line("S1-023")
def test_graph_query_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_graph_query") == {
        "entity": "string!",
        "relation_type": NULLABLE,
        "depth": "integer|null 1..5 = 1",
        "branch": NULLABLE,
        "at": NULLABLE,
        "space": NULLABLE,
        "as_of_event": NULLABLE,
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
        "space": NULLABLE,
        "as_of_event": NULLABLE,
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
