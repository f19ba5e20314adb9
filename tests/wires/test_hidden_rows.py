"""Secret and expired rows are in no answer, page, file or index: every reading call, one table."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp.types import ReadResourceRequestParams

from day1.app.open import open_store
from day1.call.context import Context
from day1.call.operation import Effect
from day1.errors import NotFound, Refused
from day1.interfaces.cli.session import Session
from day1.interfaces.mcp import resources
from day1.interfaces.open_store import OpenStore
from day1.model.access.permissions import Access
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, HELD, OBSERVATION
from day1.model.values.ids import content_hash
from day1.model.values.instant import show
from day1.services.access.caller import Caller
from day1.services.branches.lookup import find
from day1.services.exchange.exporting import export_branch, export_store
from day1.services.search.indexing import follow
from day1.services.sharing.bundles import export_bundle
from day1.settings import EmbedderSettings, Settings
from day1.toolsets.kompanion import KOMPANION
from tests.fakes.hashing_embedder import HashingEmbedder
from tests.waiting import until
from tests.wires.command_line import CommandLine
from tests.wires.hidden_reads import NOT_THERE, READS, WITHOUT_WORDS
from tests.wires.hidden_scene import BOTH, TOOLS, Scene, clean
from tests.wires.hidden_scene import scene as scene  # noqa: PLC0414 - a fixture


def learned_again(store: OpenStore) -> None:
    """Index main as it is."""
    repo = store.repo
    follow(repo.store, repo.history, store.search.index, "main", find(repo, "main").id)


def test_all_that_reads_is_asked() -> None:
    reading = {
        name
        for name, tool in TOOLS.items()
        if tool.operation.effect is Effect.READ and f"engram.{name}" not in TOOLS
    }
    assert reading - READS.keys() - NOT_THERE.keys() == WITHOUT_WORDS


@pytest.mark.parametrize("tool", NOT_THERE)
def test_what_is_hidden_is_not_there(scene: Scene, tool: str) -> None:
    with pytest.raises(NotFound) as refused:
        scene.call(tool, **NOT_THERE[tool](scene.ids))
    clean(refused.value.body())


@pytest.mark.parametrize("tool", ["memory_search", "memory_list", "memory_timeline"])
def test_what_a_template_made_has_not_the_words(scene: Scene, tool: str) -> None:
    asked = READS[tool](scene.ids)
    answer = scene.call(tool, **asked, branch=scene.ids["instance"])
    assert "wombat" in json.dumps(
        scene.call("memory_list", type="fact", branch=scene.ids["instance"])
    )
    clean(answer)


@pytest.mark.parametrize("tool", READS)
def test_no_answer_has_the_words(scene: Scene, tool: str) -> None:
    answer = scene.call(tool, **READS[tool](scene.ids))
    if tool == "memory_graph_query":
        answer = answer["result"]
    else:
        answer.pop("query", None)  # the caller's own words
    clean(answer)


@pytest.mark.parametrize("tool", ["memory_history", "memory_blame"])
def test_the_past_of_an_expired_row_says_so(scene: Scene, tool: str) -> None:
    answer = scene.call(tool, id=scene.ids["expired"])
    clean(answer)
    assert "[expired]" in json.dumps(answer)


MARKED = {
    "memory_list": {"[secret]"},
    "memory_timeline": {"[secret]"},
    "memory_agent_timeline": {"[secret]"},
    "memory_branch_diff": {"[secret]", "[expired]"},
    "memory_merge_preview": {"[secret]", "[expired]"},
    "memory_get": {"[secret]"},
}


@pytest.mark.parametrize("tool", MARKED)
def test_a_row_that_is_there_says_why_its_words_are_not(scene: Scene, tool: str) -> None:
    said = json.dumps(scene.call(tool, **READS[tool](scene.ids)))
    assert {mark for mark in ("[secret]", "[expired]") if mark in said} == MARKED[tool]


def test_what_was_merged_and_held_is_told_without_the_words(scene: Scene) -> None:
    scene.call("memory_branch_create", branch_name="merged", parent_branch="main")
    done = scene.call(
        "memory_branch_merge", source_branch="side", target_branch="merged", strategy="auto"
    )
    assert done["rejected_count"] >= 2
    clean(done)
    held = scene.call("memory_held", branch="merged")
    assert {item["present"]["fact_text"] for item in held["items"]} == {"[secret]", "[expired]"}
    clean(held)
    with scene.store.repo.store.reading(Ref(branch="merged")) as reading:
        rows = reading.get(FACT, [scene.ids["secret"], scene.ids["expired"]])
        texts = {str(row["fact_text"]) for row in rows.values()}
        assert texts == {"The quokka PIN is 4.", "The bandicoot left."}  # a merge merges the words
        assert len(reading.find(HELD, Query())) >= 2
    lines = b"".join(export_branch(scene.store.repo.store, scene.store.repo.shown(Ref("merged"))))
    clean(lines.decode())


def test_files_and_resources_have_not_the_words(scene: Scene) -> None:
    repo = scene.store.repo
    clean(b"".join(export_store(repo)).decode())
    clean(b"".join(export_bundle(repo, scene.ids["bundle"])).decode())
    for uri in (
        "day1://branches",
        "day1://branches/main",
        f"day1://snapshots/{scene.ids['snapshot']}",
        f"day1://branches/{scene.ids['instance']}",
        f"day1://branches/main/facts/{scene.ids['secret']}",
        "day1://reviews",
        "day1://prime",
        "day1://branches/side/prime",
    ):
        clean(repr(resources.read(scene.ctx, ReadResourceRequestParams(uri=uri))))
    folder = scene.store.folder
    for file in [*folder.glob("index.db*"), *folder.glob("vectors/*")]:
        content = file.read_bytes()
        assert [word for word in ("quokka", "numbat") if word.encode() in content] == [], file.name


def test_what_is_removed_is_told_without_the_words(scene: Scene) -> None:
    scene.call("memory_branch_create", branch_name="removed", parent_branch="main")
    ids = [scene.ids["secret"], scene.ids["expired"]]
    clean(scene.call("memory_remove", ids=ids, branch="removed"))
    with pytest.raises(NotFound) as again:
        scene.call("memory_remove", ids=ids, branch="removed")
    clean(again.value.body())
    with pytest.raises(Refused) as unmerged:
        scene.call("memory_branch_delete", branch_name="removed")
    clean(unmerged.value.body())
    clean(scene.call("memory_branch_archive", branch_name="removed"))
    clean(scene.call("memory_branch_revive", branch_name="removed"))
    clean(scene.call("memory_branch_delete", branch_name="removed", force=True))


def test_a_bundle_has_no_secret_row(scene: Scene) -> None:
    lines = b"".join(export_bundle(scene.store.repo, scene.ids["bundle"])).decode()
    assert scene.ids["secret"] not in lines
    assert scene.ids["expired"] not in lines
    assert "wombat" in lines


def test_an_expired_row_is_no_row_and_its_own_space_shows_a_secret(scene: Scene) -> None:
    with pytest.raises(NotFound):
        scene.call("memory_get", id=scene.ids["expired"])
    told = scene.call("memory_get", id=scene.ids["secret"], space="shared")["row"]
    assert told["fact_text"] == "The quokka PIN is 4."
    assert (
        scene.call("memory_get", id=scene.ids["secret"], space="*")["row"]["fact_text"]
        == "[secret]"
    )
    with pytest.raises(NotFound):
        scene.call("memory_get", id=scene.ids["secret"], space="project:other")
    with pytest.raises(Refused, match="cannot be verified"):
        scene.call("verify_fact", fact_id=scene.ids["secret"])


def test_only_who_administers_the_store_exports_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli, context = CommandLine(tmp_path), Session.context
    cli("init")

    def limited(session: Session, **more: bool) -> Context:
        ctx = context(session, **more)
        return replace(ctx, caller=replace(ctx.caller, access=Access(scope="merge")))

    monkeypatch.setattr(Session, "context", limited)
    refused = cli.refused("export", "--with-secrets", "-o", "all.jsonl")
    assert (refused["code"], refused["details"]["needs"]) == ("forbidden", "admin")
    assert not (cli.folder / "all.jsonl").exists()
    cli("export", "-o", "all.jsonl")


DIBBLER = "The dibbler has a PIN."


@pytest.fixture
def told(tmp_path: Path) -> Iterator[Scene]:
    """A store of its own, of which no index file has the words when the test has ended."""
    settings = Settings(home=tmp_path / "store", embedder=EmbedderSettings(kind="none"))
    store = open_store(settings, create=True)
    yield Scene(store, store.context(Caller("ada")), {})
    for kind in (FACT, OBSERVATION):
        assert store.search.index.words.known(kind, [content_hash(DIBBLER)]) == {}
    store.close()
    for file in store.folder.glob("index.db*"):
        assert b"dibbler" not in file.read_bytes(), file.name


@pytest.mark.parametrize("strategy", ["auto", "cherry_pick", "squash"])
def test_what_a_merge_makes_secret_leaves_the_index_with_it(told: Scene, strategy: str) -> None:
    fact = told.call("memory_write_fact", fact_text=DIBBLER)["id"]
    told.call("memory_branch_create", branch_name="side", parent_branch="main")
    told.call("memory_update_fact", fact_id=fact, sensitivity="secret", branch="side")
    learned_again(told.store)  # main has it, and no secret
    assert told.call("memory_search", query="dibbler")["result"]
    picked = {"items": [fact]} if strategy == "cherry_pick" else {}
    told.call("memory_branch_merge", **BOTH, strategy=strategy, **picked)


@pytest.mark.parametrize("by", ["itself", "another"])
def test_what_is_only_added_as_a_secret_leaves_the_index(told: Scene, by: str) -> None:
    """It had the words from another branch; the new row is pending, and no commit tells of it."""
    told.call("memory_branch_create", branch_name="side", parent_branch="main")
    told.call("memory_write_fact", fact_text=DIBBLER, branch="side")
    assert told.call("memory_search", query="dibbler", branch="side")["result"]
    assert told.call("memory_search", query="dibbler")["result"] == []
    if by == "another":  # which could not write to this machine's index
        told.store.repo.store.withdraw = lambda *_: None  # type: ignore[attr-defined]  # of the adapter, not of the port
    told.call(
        "memory_write_observation", observation_type="error", summary=DIBBLER, sensitivity="secret"
    )
    if by == "another":
        learned_again(told.store)


def test_what_is_saved_again_as_a_secret_leaves_the_index(told: Scene) -> None:
    context = {"namespace": "shared", "key": "pin", "content": DIBBLER}
    save = KOMPANION.tools["save_context"]
    save.call(told.ctx, context)
    assert told.call("memory_search", query="dibbler", types=["observation"])["result"]
    save.call(told.ctx, {**context, "sensitivity": "secret"})


def test_what_is_hidden_waits_for_no_judge_and_goes_into_no_handoff(told: Scene) -> None:
    for branch in ("side", "bare"):
        told.call("memory_branch_create", branch_name=branch, parent_branch="main")
    here = {"branch": "side"}
    told.call("memory_write_fact", fact_text=DIBBLER, sensitivity="secret", **here)
    told.call("memory_write_fact", fact_text="The wombat digs.", **here)
    gone = told.call("memory_write_fact", fact_text="The quoll left.", **here)["id"]
    end = told.store.repo.clock() + 1_000
    told.call("memory_update_fact", fact_id=gone, expires_at=show(end), **here)
    until(lambda: told.store.repo.clock() > end, "the fact to expire")
    done = told.call("verify_batch", branch_name="side")
    assert (done["total_processed"], done["remaining"]) == (1, 0)
    given = {"source_branch": "side", "target_branch": "bare", "include_unverified": True}
    told.call("memory_handoff_create", handoff_type="escalation", **given)
    with told.store.repo.store.reading(Ref(branch="bare")) as reading:
        assert [row["fact_text"] for row in reading.find(FACT, Query())] == ["The wombat digs."]


def test_a_secret_text_that_has_a_vector_is_shown_to_no_model(told: Scene) -> None:
    """Where vectors are made by an endpoint, the words would leave the machine."""
    asked: list[str] = []

    class Asked(HashingEmbedder):
        def embed(self, texts: Sequence[str]) -> Any:
            asked.extend(texts)
            return super().embed(texts)

    embedder = Asked()
    ctx = replace(told.ctx, search=replace(told.ctx.search, embedder=embedder))
    secret = {"text": DIBBLER, "metadata": {"sensitivity": "secret"}}
    vector = {"embedding": [1.0] * embedder.dimension}
    items = [{"text": "Elms grow.", **vector}, {**secret, **vector}, {"text": "Oaks grow."}]
    KOMPANION.tools["upsert_memory"].call(ctx, {"namespace": "shared", "items": items})
    assert asked == ["Elms grow."]


def test_the_command_line_has_not_the_words(scene: Scene, tmp_path: Path) -> None:
    line = CommandLine(tmp_path)
    line.env["DAY1_HOME"] = str(scene.store.folder)
    for command in (
        ("search", "quokka bandicoot", "--all-types", "--all-states"),
        ("diff", "side", "main"),
        ("diff", scene.ids["commit"]),
        ("show", scene.ids["commit"]),
        ("show", scene.ids["secret"], "--history"),
        ("log",),
        ("merge", "side", "--dry-run"),
        ("held",),
        ("export",),
        ("review", "show", scene.ids["review"]),
    ):
        out = line(*command).out
        if command[0] != "search":
            clean(out)
        else:
            assert "PIN" not in out
    line("show", scene.ids["expired"], code=1)
    assert "quokka PIN is 4" in line("show", scene.ids["secret"], "--space", "shared").out


def test_a_secret_is_one_still_in_a_backup_a_copy_and_an_export_that_was_asked_for(
    tmp_path: Path,
) -> None:
    cli = CommandLine(tmp_path)
    cli("init")
    fact = {"fact_text": DIBBLER, "sensitivity": "secret"}
    row_id = cli.json("call", "memory_write_fact", json.dumps(fact))["id"]
    assert DIBBLER not in cli("export").out
    told = cli("export", "--with-secrets").out
    assert DIBBLER in told
    assert json.loads(told.splitlines()[0])["secrets"] is True
    cli("backup", "whole.tar.gz")
    cli("backup", "whole.tar.gz", "--restore", "--into", "restored")
    cli("copy", str(cli.folder / ".day1"), "copied")
    cli("export", "--all", "--with-secrets", "-o", "all.jsonl")
    cli.env["DAY1_HOME"] = str(cli.folder / "imported")
    cli("init")
    cli("import", "jsonl", "all.jsonl")
    for name in ("restored", "copied", "imported"):
        cli.env["DAY1_HOME"] = str(cli.folder / name)
        assert "dibbler" not in cli("search", "dibbler", "--all-states").out, name
        assert "dibbler" not in cli("export").out, name
        assert "[secret]" in cli("show", row_id).out, name
        assert DIBBLER in cli("show", row_id, "--space", "shared").out, name
        assert cli("export", "--with-secrets").out == told, name
