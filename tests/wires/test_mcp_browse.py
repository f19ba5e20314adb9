"""Looking around: rows by id and by page, the log, and the tree of branches; now and then."""

from collections.abc import Iterator

import pytest

from tests.wires.mcp_session import Session


@pytest.fixture(scope="module")
def browse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    folder = tmp_path_factory.mktemp("browse") / "store"
    with Session(folder, toolsets="core,review,browse") as session:
        yield session


def fork(browse: Session, name: str, parent: str = "main") -> str:
    browse.ok("memory_branch_create", branch_name=name, parent_branch=parent)
    return name


def fact(browse: Session, branch: str, text: str, **more: str) -> str:
    written: str = browse.ok("memory_write_fact", fact_text=text, branch=branch, **more)["id"]
    return written


def test_a_row_is_shown_as_it_is_and_as_it_was(browse: Session) -> None:
    branch = fork(browse, "get")
    made = fact(browse, branch, "Tea at four.")
    snapshot = browse.ok("memory_snapshot", label="before tea", branch=branch)
    moment = browse.ok("memory_get", id=made, branch=branch)["row"]["created_at"]
    browse.ok("memory_update_fact", fact_id=made, fact_text="Tea at five.", branch=branch)
    now = browse.ok("memory_get", id=made, branch=branch)
    assert (now["row"]["type"], now["row"]["fact_text"]) == ("fact", "Tea at five.")
    assert now["read"]["branch"] == branch
    commit = snapshot["written"]["commit"]
    for then in (moment, "before tea", snapshot["snapshot_id"], commit, commit[:8]):
        was = browse.ok("memory_get", id=made, branch=branch, at=then)
        assert was["row"]["fact_text"] == "Tea at four.", then
    assert browse.ok("memory_get", id=made, branch=branch, at=commit)["read"]["commit"] == commit


def test_a_row_that_is_not_there_is_not_found(browse: Session) -> None:
    made = fact(browse, fork(browse, "elsewhere"), "Only here.")
    browse.refused("memory_get", "not_found", id=made, branch="main")
    browse.refused("memory_get", "not_found", id="held_1", branch="main")
    browse.refused("memory_get", "not_found", id="nonsense", branch="main")
    browse.refused("memory_get", "not_found", id=made, branch="elsewhere", at="1999-01-01")
    browse.refused("memory_get", "not_found", id=made, branch="elsewhere", at="no such label")


def test_a_list_is_newest_first_in_pages_and_says_how_many_there_are(browse: Session) -> None:
    branch = fork(browse, "pages")
    ids = [fact(browse, branch, f"Fact {n}.") for n in range(5)]
    pages = [
        browse.ok("memory_list", type="fact", branch=branch, offset=offset, limit=2)
        for offset in (0, 2, 4, 6)
    ]
    assert [row["id"] for page in pages for row in page["rows"]] == ids[::-1]
    assert {page["total"] for page in pages} == {5}
    assert browse.ok("memory_list", type="relation", branch=branch)["rows"] == []


def test_a_list_can_leave_out_what_search_leaves_out(browse: Session) -> None:
    branch = fork(browse, "active")
    old, kept = fact(browse, branch, "Old."), fact(browse, branch, "Kept.")
    new = browse.ok("memory_supersede_fact", fact_id=old, fact_text="New.", branch=branch)
    source = fork(browse, "active/source", branch)
    given = {"status": "archived", "verification": "invalidated"}
    browse.ok(
        "memory_branch_merge",
        source_branch=source,
        target_branch=branch,
        strategy="auto",
        choices=[
            {
                "id": fact(browse, source, f"To be {value}."),
                "take": "value",
                "value": {cell: value},
            }
            for cell, value in given.items()
        ],
    )
    live = browse.ok("memory_list", type="fact", branch=branch, active_only=True)
    assert {row["id"] for row in live["rows"]} == {kept, new["id"]}
    assert live["total"] == 2
    assert browse.ok("memory_list", type="fact", branch=branch)["total"] == 5


def test_a_list_of_a_past_state_has_the_rows_of_then(browse: Session) -> None:
    branch = fork(browse, "then")
    first = fact(browse, branch, "First.")
    at = browse.ok("memory_get", id=first, branch=branch)["row"]["created_at"]
    fact(browse, branch, "Second.")
    then = browse.ok("memory_list", type="fact", branch=branch, at=at)
    assert ([row["id"] for row in then["rows"]], then["total"]) == ([first], 1)


def test_the_messages_of_a_conversation_come_in_their_sequence(browse: Session) -> None:
    branch = fork(browse, "talk")
    said = [browse.ok("memory_log_message", role="user", content="one", branch=branch)]
    talk = said[0]["conversation_id"]
    for text in ("two", "three"):
        more = {"content": text, "conversation_id": talk, "branch": branch}
        said.append(browse.ok("memory_log_message", role="assistant", **more))
    browse.ok("memory_log_message", role="user", content="another talk", branch=branch)
    asked = {"type": "message", "branch": branch, "conversation_id": talk}
    page = browse.ok("memory_list", **asked, offset=1, limit=1)
    assert ([row["content"] for row in page["rows"]], page["total"]) == (["two"], 3)
    every = browse.ok("memory_list", **asked)["rows"]
    assert [row["id"] for row in every] == [one["message_id"] for one in said]
    browse.refused("memory_list", "not_found", **{**asked, "branch": "main"})
    browse.refused("memory_list", "invalid_request", **{**asked, "type": "fact"})


def test_the_log_tells_who_did_what_and_goes_on(browse: Session) -> None:
    branch = fork(browse, "log")
    one = fact(browse, branch, "One.", agent_id="ada")
    browse.ok("memory_update_fact", fact_id=one, category="number", branch=branch)
    source = fork(browse, "log/source", branch)
    fact(browse, source, "Two.")
    merged = browse.ok(
        "memory_branch_merge", source_branch=source, target_branch=branch, strategy="auto"
    )
    log = browse.found("memory_log", branch=branch)
    assert [commit["op"] for commit in log[:3]] == ["merge", "change", "add"]
    assert (log[0]["merge_id"], log[0]["source"]) == (merged["merge_id"], source)
    assert len(log[0]["parents"]) == 2
    assert (log[2]["agents"], log[2]["counts"]) == (["ada"], {"facts": 1})
    assert log[2]["merge_id"] is None
    older = browse.found("memory_log", branch=branch, limit=2, before=log[0]["commit"])
    assert older == log[1:3]
    browse.refused("memory_log", "not_found", branch=branch, before="0" * 40)


@pytest.mark.parametrize(
    "agent", ["Ada (laptop)", "(x)", "a <b@c> (d)", '"q" [;:,] \\', "\u202e%)"]
)
def test_an_agent_of_any_name_can_have_a_commit(browse: Session, agent: str) -> None:
    branch = fork(browse, "named-" + agent.encode().hex())
    fact(browse, branch, "Written by the one.", agent_id=agent)
    browse.ok("memory_snapshot", branch=branch)
    assert browse.found("memory_log", branch=branch)[0]["agents"] == [agent]


def test_the_graph_has_forks_and_merges(browse: Session) -> None:
    parent, child = fork(browse, "graph"), fork(browse, "graph/child", "graph")
    fact(browse, child, "Grown.")
    merged = browse.ok(
        "memory_branch_merge", source_branch=child, target_branch=parent, strategy="auto"
    )
    graph = browse.ok("memory_graph", limit=200)
    nodes = {node["branch"]: node for node in graph["branches"]}
    assert nodes["main"]["parent"] is None
    assert (nodes[child]["parent"], nodes[child]["status"]) == (parent, "merged")
    (edge,) = [merge for merge in graph["merges"] if merge["merge_id"] == merged["merge_id"]]
    assert (edge["source"], edge["target"]) == (child, parent)
    assert (edge["merged_count"], edge["commit"]) == (1, nodes[parent]["commit"])
    assert nodes[child]["forked_at"] < nodes[child]["moved_at"] <= edge["at"]


def test_a_small_graph_keeps_main_and_what_moved_last(browse: Session) -> None:
    fact(browse, fork(browse, "latest"), "Just now.")
    browse.ok("memory_snapshot", branch="latest")
    graph = browse.ok("memory_graph", limit=2)
    assert [node["branch"] for node in graph["branches"]] == ["main", "latest"]
    assert graph["left_out"] == len(browse.found("memory_branch_list")) - 2
