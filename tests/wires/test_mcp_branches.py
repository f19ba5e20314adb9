"""Branches over MCP: create, list, switch, draw, note; and that they are isolated and free."""

from pathlib import Path
from typing import Any

import pytest

from day1.adapters.versioned.doltlite.store import DoltLiteStore
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.services.rows.recording import NewFact, fact_row
from tests.engine import needs_files
from tests.wires.conftest import EMPTY, Fork
from tests.wires.mcp_session import ISO, Session

NULLABLE = "string|null = null"


def listed(core: Session, name: str) -> dict[str, Any]:
    (item,) = [b for b in core.found("memory_branch_list") if b["branch_name"] == name]
    return item


def texts(core: Session, branch: str | None = None) -> list[str]:
    return [moment["content"] for moment in core.found("memory_timeline", branch=branch)]


@pytest.mark.line("S1-028")
def test_branch_create_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_branch_create") == {
        "branch_name": "string!",
        "parent_branch": 'string|null = "main"',
        "at": NULLABLE,
        "description": NULLABLE,
    }


@pytest.mark.line("S1-005", "S1-028", "S1-029")
@pytest.mark.parametrize("given", [{}, {"parent_branch": None, "description": None}])
def test_a_branch_forks_from_main_unless_told(core: Session, given: dict[str, None]) -> None:
    name = f"from-main-{len(given)}"
    made = core.ok("memory_branch_create", branch_name=name, **given)
    assert set(made) == {"branch_name", "created_at", "parent", "written"}
    assert made["branch_name"] == name
    assert ISO.fullmatch(made["created_at"])
    item = listed(core, name)
    assert (item["parent"], item["description"]) == ("main", "")
    assert item["created_at"] == made["created_at"]


@pytest.mark.line("S1-028")
def test_a_branch_keeps_its_parent_and_purpose(core: Session, branch: str) -> None:
    name = f"{branch}/below"
    core.ok("memory_branch_create", branch_name=name, parent_branch=branch, description="Try tea.")
    item = listed(core, name)
    assert (item["parent"], item["description"]) == (branch, "Try tea.")


@pytest.mark.line("S1-030")
def test_branches_do_not_see_each_others_writes(core: Session, branch: str, fork: Fork) -> None:
    core.ok("memory_write_fact", fact_text="before", branch=branch)
    child = fork(branch)
    core.ok("memory_write_fact", fact_text="on the parent", branch=branch)
    core.ok("memory_write_fact", fact_text="on the child", branch=child)
    core.ok("memory_write_observation", observation_type="error", summary="child's", branch=child)
    assert texts(core, branch) == ["before", "on the parent"]
    assert texts(core, child) == ["before", "on the child", "child's"]
    assert texts(core, EMPTY) == []


@pytest.mark.line("S1-030")
def test_creating_a_branch_costs_the_same_at_10_and_at_2000_rows(tmp_path: Path) -> None:
    needs_files()
    folder, grown = tmp_path / "store", []
    with Session(folder) as session:
        for name, rows in (("a", 5), ("b", 5), ("c", 1_990)):
            add_facts(folder, rows, name)
            session.ok("memory_snapshot")  # commits the rows, so that the fork need not
            before = stored(folder)
            session.ok("memory_branch_create", branch_name=name)
            grown.append(stored(folder) - before)
        for name, rows in (("a", 5), ("b", 10), ("c", 500)):
            assert len(session.found("memory_timeline", branch=name, limit=500)) == rows
    # The list of branches is written anew each time, and one name longer.
    assert grown[2] - grown[1] == grown[1] - grown[0] < 128
    assert grown[2] < 2_048, "bytes, where 2,000 rows take some 500,000"


def add_facts(folder: Path, count: int, name: str) -> None:
    """Another process's writes, many in one unit."""
    store = DoltLiteStore(folder, lambda: 0)
    with store.adding("main") as work:
        work.add(
            FACT,
            [
                fact_row(f"fact_{name}{n:06}", NewFact(f"fact {n}"), Origin(), work.now)
                for n in range(count)
            ],
        )
    store.close()


def stored(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.glob("memory.db*"))


@pytest.mark.line("S1-031")
@pytest.mark.parametrize("name", ["main", "MAIN", EMPTY, EMPTY.title()])
def test_a_taken_name_is_refused_whatever_its_case(core: Session, name: str) -> None:
    error = core.refused("memory_branch_create", "branch_exists", branch_name=name)
    assert error["details"]["branch"] == name.lower()


@pytest.mark.line("S1-031")
def test_an_unknown_parent_is_refused(core: Session) -> None:
    error = core.refused(
        "memory_branch_create", "unknown_branch", branch_name="orphan", parent_branch="nobody"
    )
    assert error["details"] == {"branch": "nobody"}
    assert "memory_branch_list" in error["message"]


@pytest.mark.line("S1-031")
@pytest.mark.parametrize(
    "name",
    [
        "", " ", "a b", "a/", "/a", "a//b", "../a", "a/../b", "a..b", "-a", ".a", "a.", "a.lock",
        "a.lock/b", "ä", "a'b", 'a"b', "a;b", "a`b", "a%b", "a:b", "a~1", "a\0b", "HEAD",
        "working", "a" * 101, "0" * 40, "g" * 32,
    ],
)  # fmt: skip
def test_an_invalid_name_is_refused(core: Session, name: str) -> None:
    core.refused("memory_branch_create", "invalid_request", branch_name=name)


@pytest.mark.line("S1-031")
@pytest.mark.parametrize(
    "name", ["task/fix-login/alice", "task/fix-login", "_a", "1.2.3", "z" * 100]
)
def test_slashes_and_plain_letters_make_a_name(core: Session, name: str) -> None:
    assert core.ok("memory_branch_create", branch_name=name)["branch_name"] == name
    wrote = core.ok("memory_write_fact", fact_text="Here.", branch=name)
    assert wrote["written"]["branch"] == name


@pytest.mark.line("S1-032")
def test_branch_list_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_branch_list") == {"status": "active|merged|archived|null = null"}


@pytest.mark.line("S1-032", "S1-042")
def test_branch_list_filters_by_status(core: Session, branch: str, fork: Fork) -> None:
    merged = fork(branch)
    core.ok("memory_write_fact", fact_text="Ada.", branch=merged)
    core.ok("memory_branch_merge", source_branch=merged, target_branch=branch, strategy="auto")

    def names(**given: Any) -> set[str]:
        return {item["branch_name"] for item in core.found("memory_branch_list", **given)}

    every = names()
    assert names(status=None) == every
    assert {"main", EMPTY, branch, merged} <= every
    assert merged in names(status="merged")
    assert merged not in names(status="active")
    assert {"main", branch} <= names(status="active")
    assert names(status="active") | names(status="merged") == every
    assert names(status="archived") == set()


@pytest.mark.line("S1-033")
def test_main_is_listed_without_a_parent(core: Session) -> None:
    items = core.found("memory_branch_list")
    assert items[0]["branch_name"] == "main"
    assert items[0]["parent"] == ""
    assert items[0]["status"] == "active"
    assert items[0]["active"] is True
    assert [item["branch_name"] for item in items if item["active"]] == ["main"]
    assert [item["created_at"] for item in items] == sorted(item["created_at"] for item in items)
    for item in items:
        assert set(item) == {
            "branch_name", "parent", "status", "description", "created_at", "commit", "closed",
            "active",
        }  # fmt: skip


@pytest.mark.line("S1-071")
def test_branch_topology_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_branch_topology") == {
        "root_branch": 'string|null = "main"',
        "max_depth": "integer|null 0..100 = 10",
        "include_archived": "boolean|null = false",
    }


@pytest.mark.line("S1-071")
def test_the_topology_is_the_tree_below_a_root(core: Session, branch: str, fork: Fork) -> None:
    left, right = fork(branch), fork(branch)
    leaf = fork(left)
    core.ok("memory_branch_enrich", branch_name=leaf, owner="ada", tags=["x"])
    tree = core.ok("memory_branch_topology", root_branch=branch)
    assert set(tree) == {"branch_name", "children", "status", "metadata", "read"}
    assert tree["read"]["branch"] == branch
    assert shape(tree) == (branch, [(left, [(leaf, [])]), (right, [])])
    below = tree["children"][0]["children"][0]
    assert set(below) == {"branch_name", "children", "status", "metadata"}
    assert below["status"] == "active"
    assert below["metadata"] == {"purpose": None, "owner": "ada", "ttl_days": None, "tags": ["x"]}


@pytest.mark.line("S1-005", "S1-071")
def test_the_topology_ends_at_its_depth(core: Session, branch: str, fork: Fork) -> None:
    child = fork(branch)
    fork(child)

    def tree(depth: int | None) -> Any:
        return shape(core.ok("memory_branch_topology", root_branch=branch, max_depth=depth))

    assert tree(0) == (branch, [])
    assert tree(1) == (branch, [(child, [])])
    assert tree(None) == tree(10)
    assert len(tree(10)[1][0][1]) == 1
    whole = core.ok("memory_branch_topology", root_branch=None, include_archived=None)
    assert whole["branch_name"] == "main"
    assert EMPTY in {node["branch_name"] for node in whole["children"]}


def shape(node: dict[str, Any]) -> tuple[str, list[Any]]:
    return (node["branch_name"], [shape(child) for child in node["children"]])


@pytest.mark.line("S1-072")
def test_branch_enrich_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("memory_branch_enrich") == {
        "branch_name": "string!",
        "purpose": NULLABLE,
        "owner": NULLABLE,
        "ttl_days": "integer|null 1..36500 = null",
        "tags": "[string]|null = null",
    }


@pytest.mark.line("S1-005", "S1-072")
def test_notes_that_are_given_are_set_and_the_others_kept(core: Session, branch: str) -> None:
    def enrich(**notes: Any) -> dict[str, Any]:
        answer = core.ok("memory_branch_enrich", branch_name=branch, **notes)
        assert set(answer) == {"branch_name", "metadata", "read"}
        assert answer["branch_name"] == branch
        metadata: dict[str, Any] = answer["metadata"]
        return metadata

    nothing: dict[str, Any] = {"purpose": None, "owner": None, "ttl_days": None, "tags": []}
    assert enrich() == nothing
    assert enrich(purpose="Try tea.", tags=["a", "b"]) == {
        **nothing, "purpose": "Try tea.", "tags": ["a", "b"],
    }  # fmt: skip
    assert enrich(owner="team tea", ttl_days=30, purpose=None, tags=None) == {
        "purpose": "Try tea.", "owner": "team tea", "ttl_days": 30, "tags": ["a", "b"],
    }  # fmt: skip
    assert enrich(tags=[])["tags"] == []
    assert enrich()["owner"] == "team tea"


@pytest.mark.line("S1-072")
@pytest.mark.parametrize(
    ("notes", "code"),
    [
        ({"ttl_days": 0}, "invalid_request"),
        ({"ttl_days": 36_501}, "invalid_request"),
        ({"tags": [""]}, "invalid_request"),
        ({"owner": "o" * 256}, "invalid_request"),
        ({"branch_name": "nobody"}, "unknown_branch"),
    ],
)
def test_unsound_notes_are_refused(core: Session, notes: dict[str, Any], code: str) -> None:
    core.refused("memory_branch_enrich", code, **{"branch_name": EMPTY, **notes})
