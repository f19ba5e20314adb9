"""Restoring, compacting and resetting memory by gwt's tools, over stdio and HTTP."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from day1.app.open import open_store
from day1.errors import ConfirmationNeeded
from day1.interfaces.open_store import OpenStore
from day1.services.access.caller import Caller
from day1.settings import EmbedderSettings, Settings
from day1.toolsets.gwt import GWT
from tests.engine import needs_files
from tests.wires.gwt_session import GwtSession, HttpGwtSession, served
from tests.wires.http_server import STDIO_DAILY, HttpServer
from tests.wires.mcp_session import Session

REPLACE = {"mode": "replace", "confirm": "RESTORE_REPLACE"}
COMPACT = {"dry_run": False, "confirm": "COMPACT_WORKING"}
PERSISTENT = {"scope": "persistent", "confirm": "RESET_PERSISTENT"}
LINE = json.dumps({"content": "Herons fish."})
DEEDS: dict[str, tuple[str, dict[str, Any]]] = {
    "RESTORE_REPLACE": ("gwt_restore_memory", {"jsonl": LINE, "mode": "replace"}),
    "COMPACT_WORKING": ("gwt_compact_working_memory", {"max_items": 0, "dry_run": False}),
    "RESET_RUNTIME": ("gwt_reset", {"scope": "runtime"}),
    "RESET_WORKSPACE": ("gwt_reset", {"scope": "workspace"}),
    "RESET_PERSISTENT": ("gwt_reset", {"scope": "persistent"}),
}
"""By string that confirms, the call that needs it."""


@pytest.fixture(params=STDIO_DAILY)
def gwt(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GwtSession]:
    with served(request.param, tmp_path / "store") as session:
        yield session


def notes(gwt: GwtSession, count: int) -> list[str]:
    return [gwt.store(f"Note {n} on the mill.", memory_type="working") for n in range(count)]


def lines(gwt: GwtSession) -> str:
    jsonl: str = gwt.ok("gwt_export_memory")["jsonl"]
    return jsonl


def log(gwt: GwtSession) -> list[tuple[str, str]]:
    """The commits of main, the newest first: what each did, and its line."""
    history = gwt._beside.history
    return [(commit.op, commit.line) for commit in history.log("main")]


def revert(folder: Path, commit: str) -> None:
    """Undo a commit by day1's own tool."""
    with Session(folder, toolsets="review") as day1:
        day1.ok("memory_revert", commit=commit)


@pytest.mark.line("S0-030", "S0-031")
def test_a_restore_replaces_in_one_commit_and_is_undone(gwt: GwtSession) -> None:
    first = gwt.store("The mill in Selm has 90 spindles.", tags=["mill"])
    gwt.store("Its owner is Ada.", link_to=first)
    old, before = lines(gwt), len(log(gwt))
    new = [{"id": "a", "content": "Herons fish.", "linked_ids": ["b"]}]
    new.append({"id": "b", "content": "Storks nest.", "linked_ids": ["a"]})
    done = gwt.ok("gwt_restore_memory", jsonl="\n".join(map(json.dumps, new)), **REPLACE)
    assert (done["status"], done["mode"], done["deleted_count"]) == ("ok", "replace", 2)
    assert (done["imported_count"], done["kept_count"], done["error_count"]) == (2, 0, 0)
    assert (done["backup"]["format"], done["backup"]["item_count"]) == ("gwt-memory-jsonl-v1", 2)
    assert done["backup"]["jsonl"] == old
    assert [len(line["linked_ids"]) for line in gwt.lines()] == [1, 1]
    assert log(gwt)[0] == ("import", "replace 2 memories by 2")
    assert len(log(gwt)) == before + 2, "what was pending, and the replacement"
    back = gwt.ok("gwt_restore_memory", jsonl=old, **REPLACE)
    assert (back["imported_count"], back["deleted_count"]) == (2, 2)
    assert lines(gwt) == old
    revert(gwt.folder, back["written"]["commit"])
    assert {line["content"] for line in gwt.lines()} == {"Herons fish.", "Storks nest."}
    revert(gwt.folder, done["written"]["commit"])
    assert lines(gwt) == old


def test_a_broken_line_removes_nothing_and_is_named(gwt: GwtSession) -> None:
    notes(gwt, 2)
    good = [json.dumps({"content": f"Heron {n}."}) for n in range(9)]
    for number, bad in ((7, "{"), (1, "[]"), (9, '{"content": ""}')):
        file = "\n".join([*good[: number - 1], bad, *good[number:]])
        error = gwt.refused("gwt_restore_memory", "invalid_request", jsonl=file, **REPLACE)
        assert error["mode"] == "replace"
        assert error["error"].startswith(f"Line {number} of `jsonl` cannot be used")
        assert (error["details"]["line"], error["details"]["error_count"]) == (number, 1)
    gwt.refused("gwt_restore_memory", "invalid_request", jsonl="\n", **REPLACE)


def test_a_restore_merges_by_default(gwt: GwtSession) -> None:
    ids = notes(gwt, 2)
    jsonl = f"{lines(gwt)}\n{LINE}\nno"
    done = gwt.ok("gwt_restore_memory", jsonl=jsonl, admit=True)
    assert (done["mode"], done["status"], done["deleted_count"]) == ("merge", "partial", 0)
    assert (done["imported_count"], done["skipped_duplicate_count"]) == (1, 2)
    assert [error["line"] for error in done["errors"]] == [4]
    assert "backup" not in done
    assert {line["id"] for line in gwt.lines()} == {*ids, *done["imported_ids"]}
    waiting = gwt.ok("gwt_inspect", target="buffer")["items"]
    assert [item["id"] for item in waiting][-1:] == done["imported_ids"]
    error = gwt.refused("gwt_restore_memory", "invalid_request", jsonl=LINE, mode="Replace")
    assert error["supported_modes"] == ["merge", "replace"]


@pytest.mark.line("S0-032", "S0-033")
def test_the_oldest_notes_become_one_summary(gwt: GwtSession) -> None:
    ids = notes(gwt, 30)
    before = gwt.everything([])
    dry = gwt.ok("gwt_compact_working_memory")
    assert gwt.everything([]) == before
    assert (dry["status"], dry["max_items"], dry["keep_count"]) == ("dry_run", 20, 20)
    assert (dry["compact_count"], dry["candidate_ids"]) == (10, ids[:10])
    assert dry["backup"]["item_count"] == 10
    done = gwt.ok("gwt_compact_working_memory", **COMPACT)
    assert done["status"] == "compacted"
    assert (done["deleted_count"], done["candidate_ids"]) == (10, ids[:10])
    assert done["backup"] == dry["backup"]
    assert [line["id"] for line in gwt.lines(memory_type="working")] == ids[10:]
    (summary,) = gwt.lines(memory_type="semantic")
    assert (summary["id"], summary["tags"]) == (done["summary_id"], ["compaction:working"])
    assert "Note 9 on the mill." in summary["content"]
    (found,) = gwt.found("gwt_query", query="Summary of working memories", k=1)
    assert found["id"] == done["summary_id"]
    assert log(gwt)[0] == ("change", "compact 10 working memories")
    with Session(gwt.folder, toolsets="browse") as day1:
        row = day1.ok("memory_get", id=done["summary_id"])["row"]
    assert row["detail"]["sources"] == ids[:10]
    back = gwt.ok("gwt_import_memory", jsonl=done["backup"]["jsonl"])
    assert back["imported_ids"] == ids[:10]
    assert gwt.ok("gwt_compact_working_memory", max_items=30, **COMPACT)["summary_id"] is None
    revert(gwt.folder, back["written"]["commit"])
    revert(gwt.folder, done["written"]["commit"])
    assert [line["id"] for line in gwt.lines()] == ids


def test_a_summary_is_hidden_when_a_note_that_it_was_made_of_is_redacted(gwt: GwtSession) -> None:
    ids = notes(gwt, 2)
    done = gwt.ok("gwt_compact_working_memory", max_items=0, **COMPACT)
    assert [line["id"] for line in gwt.lines()] == [done["summary_id"]]
    with Session(gwt.folder, toolsets="review") as day1:
        day1.ok("memory_redact", id=ids[0], confirm=ids[0])
    assert gwt.lines() == []
    assert gwt.found("gwt_query", query="Note on the mill") == []


def test_notes_that_were_removed_and_restored_are_not_lost_in_a_summary(gwt: GwtSession) -> None:
    notes(gwt, 3)
    backup = gwt.ok("gwt_reset", scope="persistent", confirm="RESET_PERSISTENT")["backup"]
    restored = gwt.ok("gwt_import_memory", jsonl=backup["jsonl"])["imported_ids"]
    new = gwt.store("A note that was never removed.", memory_type="working")
    done = gwt.ok("gwt_compact_working_memory", max_items=0, **COMPACT)
    assert (done["candidate_ids"], done["keep_count"]) == ([new], 3)
    assert {line["id"] for line in gwt.lines()} == {*restored, done["summary_id"]}


@pytest.mark.parametrize("most", [-1, 100_001, "few"])
def test_a_number_of_notes_out_of_bounds_is_refused(gwt: GwtSession, most: object) -> None:
    gwt.refused("gwt_compact_working_memory", "invalid_request", max_items=most)


@pytest.mark.line("S0-034", "S0-035", "S0-036")
def test_a_reset_clears_caches_or_the_workspace_and_no_memory(gwt: GwtSession) -> None:
    row_id = gwt.store("mill: Selm\nspindles: 90")
    gwt.ok("gwt_broadcast")
    gwt.ok("gwt_set_goal", description="Find the mill.")
    gwt.ok("gwt_collection_query", operation="count")
    before = gwt.everything([])
    done = gwt.ok("gwt_reset", confirm="RESET_RUNTIME")
    assert (done["status"], done["scope"]) == ("reset", "runtime")
    assert (done["cleared_runtime_items"], done["persistent_memory_deleted"]) == (1, False)
    assert gwt.everything([]) == before
    held = [place["id"] for place in gwt.ok("gwt_inspect")["items"]]
    done = gwt.ok("gwt_reset", scope="workspace", confirm="RESET_WORKSPACE")
    assert (done["scope"], done["evicted_ids"]) == ("workspace", held)
    assert held == [row_id]
    assert gwt.ok("gwt_inspect")["items"] == []
    assert gwt.ok("gwt_inspect", target="goals")["goals"] == []
    assert [line["id"] for line in gwt.lines()] == [row_id]
    error = gwt.refused("gwt_reset", "invalid_request", scope="all", confirm="RESET_ALL")
    assert error["supported_scopes"] == ["runtime", "workspace", "persistent"]


@pytest.mark.line("S0-037", "S0-040")
def test_a_reset_of_a_shared_store_leaves_what_others_wrote(tmp_path: Path) -> None:
    with ExitStack() as entered:
        server = entered.enter_context(HttpServer(tmp_path / "store"))
        admin = server.token("boss")
        tokens = {
            name: server.token(name, scope, admin, agent_id=name)
            for name, scope in (("ada", "merge"), ("bo", "merge"), ("cy", "write"), ("di", "read"))
        }
        clients = {
            name: entered.enter_context(HttpGwtSession(server, path="/mcp/gwt", token=token))
            for name, token in tokens.items()
        }
        ada, bo = clients["ada"], clients["bo"]
        server.ok("memory_write_fact", tokens["ada"], fact_text="Ada likes black tea.")
        first = ada.store("The mill in Selm has 90 spindles.")
        bo.store("Its owner is Ada.", link_to=first)
        ada.store("Oil it weekly.", memory_type="working")
        before = lines(ada)
        for name in ("cy", "di"):
            clients[name].refused("gwt_reset", "forbidden", **PERSISTENT)
            clients[name].refused("gwt_restore_memory", "forbidden", jsonl=LINE, **REPLACE)
        clients["di"].refused("gwt_reset", "forbidden", confirm="RESET_RUNTIME")
        clients["di"].refused("gwt_compact_working_memory", "forbidden", **COMPACT)
        clients["di"].refused("gwt_store", "forbidden", content="Oil it daily.")
        clients["di"].refused("gwt_import_memory", "forbidden", jsonl=LINE)
        done = ada.ok("gwt_reset", **PERSISTENT)
        assert (done["status"], done["persistent_memory_deleted"]) == ("reset", True)
        assert (done["deleted_count"], done["kept_count"]) == (2, 2)
        assert done["backup"]["item_count"] == 2
        left = {line["content"]: line["linked_ids"] for line in ada.lines()}
        assert left == {"Ada likes black tea.": [], "Its owner is Ada.": []}
        (taken,) = server.ok("memory_snapshot_list", admin)["result"]
        assert (taken["id"], taken["label"]) == (done["snapshot_id"], "before a reset")
        server.ok("memory_revert", tokens["ada"], commit=done["written"]["commit"])
        assert lines(ada) == before
        server.ok("memory_branch_protect", admin, branch_name="main", requires=["review"])
        ada.refused("gwt_reset", "branch_protected", **PERSISTENT)
        ada.refused("gwt_restore_memory", "branch_protected", jsonl=LINE, **REPLACE)
        ada.refused("gwt_compact_working_memory", "branch_protected", **COMPACT)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenStore]:
    """A store with memories and a workspace."""
    needs_files()
    home = tmp_path_factory.mktemp("confirmed") / "store"
    store = open_store(Settings(home=home, embedder=EmbedderSettings(kind="none")), create=True)
    for content in ("The mill in Selm.", "Its owner is Ada."):
        called(store, "gwt_store", content=content, memory_type="working")
    called(store, "gwt_broadcast")
    called(store, "gwt_set_goal", description="Find the mill.")
    called(store, "gwt_collection_query", operation="count")
    yield store
    store.close()


def called(store: OpenStore, tool: str, **arguments: Any) -> dict[str, Any]:
    return dict(GWT.tools[tool].call(store.context(Caller("ada")), arguments))


def near(confirm: str) -> st.SearchStrategy[str]:
    """Texts that are nearly the one that confirms."""
    place = st.integers(0, len(confirm) - 1)
    return st.one_of(
        st.sampled_from([confirm.lower(), confirm.title(), "", "true", "yes", *DEEDS]),
        st.tuples(st.text(" \t\n_", max_size=2), st.text(" \t\n_", max_size=2)).map(
            lambda around: f"{around[0]}{confirm}{around[1]}"
        ),
        place.map(lambda n: confirm[:n] + confirm[n + 1 :]),
        place.map(lambda n: confirm[:n] + confirm[n].swapcase() + confirm[n + 1 :]),
        st.tuples(place, st.characters(exclude_categories=["Cs"])).map(
            lambda pair: confirm[: pair[0]] + pair[1] + confirm[pair[0] + 1 :]
        ),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=5).map(lambda s: confirm + s),
    ).filter(lambda text: text != confirm)


def state(store: OpenStore) -> Any:
    """All that a call may change: the rows, the log, the ledger and the caches."""
    rows = called(store, "gwt_export_memory")
    seen = [
        called(store, "gwt_inspect", target=t) for t in ("workspace", "buffer", "goals", "stats")
    ]
    commits = [commit.id for commit in store.repo.history.log("main")]
    ledger = (store.folder / "ledger.db").read_bytes()
    return rows, seen, commits, ledger, len(store.repo.collections)


@pytest.mark.line("S0-038")
@pytest.mark.parametrize("confirm", DEEDS)
def test_what_nearly_confirms_changes_nothing(opened: OpenStore, confirm: str) -> None:
    tool, arguments = DEEDS[confirm]
    before = state(opened)

    @settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
    @given(near(confirm))
    def refused(given_text: str) -> None:
        with pytest.raises(ConfirmationNeeded) as error:
            called(opened, tool, **arguments, confirm=given_text)
        assert error.value.details["required_confirm"] == confirm

    refused()
    with pytest.raises(ConfirmationNeeded):
        called(opened, tool, **arguments)
    assert state(opened) == before


@pytest.mark.parametrize("confirm", DEEDS)
def test_the_error_names_what_confirms(gwt: GwtSession, confirm: str) -> None:
    tool, arguments = DEEDS[confirm]
    error = gwt.refused(tool, "confirmation_needed", **arguments, confirm=confirm.lower())
    assert error["required_confirm"] == confirm
    where = {"gwt_restore_memory": {"mode": "replace"}, "gwt_compact_working_memory": {"scope": "compact"}}  # fmt: skip
    expected = where.get(tool, {"scope": arguments.get("scope")})
    assert {name: error[name] for name in expected} == expected
