"""What a session, an agent and tasks wrote is told by space: the one asked for, or the caller's."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.rows.rows import SqlReading
from day1.app.open import open_store
from day1.call.context import Context
from day1.services.access.caller import Caller
from day1.settings import EmbedderSettings, Settings
from day1.toolsets import TOOLSETS
from tests.fakes.hashing_embedder import HashingEmbedder

A, B = "project:a", "project:b"
SAID = {A: "alpaca", B: "bison", None: "camel"}


@pytest.fixture
def ctx(tmp_path: Path) -> Iterator[Context]:
    settings = Settings(home=tmp_path / "store", embedder=EmbedderSettings(kind="none"))
    store = open_store(settings, create=True)
    made = store.context(Caller("ada", "s1"))
    for number in "12":
        task = call(made, "memory_task_create", name=f"t{number}", task_type="fix")["task_id"]
        for space, animal in SAID.items():
            mine = {"space": space or "shared", "task_id": task}
            call(made, "memory_write_fact", fact_text=f"The {animal} eats hay {number}.", **mine)
            seen = {"observation_type": "error", "summary": f"The {animal} kicks."}
            call(made, "memory_write_observation", **seen, **mine)
            same = {"observation_type": "insight", "summary": "All of them spit."}
            call(made, "memory_write_observation", **same, **mine)
            said = {"role": "user", "content": f"Feed the {animal}.", "space": mine["space"]}
            call(made, "memory_log_message", **said)
    yield made
    store.close()


def call(ctx: Context, tool: str, **arguments: Any) -> dict[str, Any]:
    return TOOLSETS.tools[tool].call(ctx, arguments)


ASKED: dict[str, dict[str, Any]] = {
    "memory_session_context": {"session_id": "s1"},
    "memory_agent_timeline": {"agent_id": "ada"},
    "memory_replay_task_type": {"task_type": "fix"},
    "memory_consolidate": {"level": "session", "session_id": "s1", "branch": "main"},
}


@pytest.mark.parametrize("way", ["argument", "caller"])
@pytest.mark.parametrize("tool", ASKED)
@pytest.mark.parametrize("space", [A, None])
def test_only_the_space_that_is_asked_for_is_told(
    ctx: Context, tool: str, way: str, space: str | None
) -> None:
    name, more = space or "shared", {}
    if way == "caller":
        ctx = replace(ctx, caller=replace(ctx.caller, space=name))
    else:
        more = {"space": name}
    said = str(call(ctx, tool, **ASKED[tool], **more))
    told = {animal for animal in SAID.values() if animal in said}
    assert told == {SAID[space]}


def test_the_counts_of_a_replay_are_of_the_space(ctx: Context) -> None:
    tasks = call(ctx, "memory_replay_task_type", task_type="fix", space=A)["tasks"]
    assert [task["counts"]["facts"] for task in tasks] == [1, 1]
    assert [task["counts"]["observations"] for task in tasks] == [2, 2]


def test_all_of_the_spaces_are_told_unasked(ctx: Context) -> None:
    for tool, arguments in ASKED.items():
        said = str(call(ctx, tool, **arguments))
        assert [animal for animal in SAID.values() if animal not in said] == [], tool


def test_what_two_spaces_say_alike_is_a_fact_of_each(ctx: Context) -> None:
    asking = replace(ctx, caller=replace(ctx.caller, space="project:other"))
    done = call(asking, "memory_consolidate", **ASKED["memory_consolidate"], space="*")
    assert done["new_facts"] == 6
    listed = call(ctx, "memory_list", type="fact", limit=50)["rows"]
    made = {fact["id"] for fact in done["facts"]}
    spaces = [row.get("space") for row in listed if row["id"] in made]
    assert sorted(map(str, spaces)) == ["None", "None", A, A, B, B]
    alike = [row.get("space") for row in listed if row["fact_text"] == "All of them spit."]
    assert sorted(map(str, alike)) == ["None", A, B]


@pytest.mark.parametrize("by_vector", [False, True])
def test_a_fact_of_another_space_says_nothing_here(ctx: Context, *, by_vector: bool) -> None:
    """Neither its text, nor one like it, nor that an observation there became a fact."""
    said = "All of them spit."
    if by_vector:
        ctx = replace(ctx, search=replace(ctx.search, embedder=HashingEmbedder()))
        said = "All of them: spit."  # the same words, and another text
    call(ctx, "memory_write_fact", fact_text=said, space=B)
    asked = ASKED["memory_consolidate"]
    assert call(ctx, "memory_consolidate", **asked, space=A)["new_facts"] == 2
    done = call(ctx, "memory_consolidate", **asked, space="*")
    alike = [fact for fact in done["facts"] if fact["fact_text"] == "All of them spit."]
    assert (done["new_facts"], len(alike)) == (3, 1), "B has such a fact, and A has one by now"


@pytest.mark.parametrize(
    ("more", "new", "by_vector"),
    [
        ({}, 0, False),
        ({"valid_until": "2999-01-01"}, 0, True),
        ({"valid_until": "2020-01-01"}, 1, False),
        ({"valid_until": "2020-01-01"}, 1, True),
        ({"sensitivity": "secret"}, 1, True),
    ],
)
def test_what_is_seen_after_a_fact_has_ended_is_news(
    ctx: Context, more: dict[str, str], new: int, *, by_vector: bool
) -> None:
    if by_vector:
        ctx = replace(ctx, search=replace(ctx.search, embedder=HashingEmbedder()))
    said, own = "Yaks grunt.", {"space": "project:other"}
    call(ctx, "memory_write_fact", fact_text=said, **own, **more)
    call(ctx, "memory_search", query="yaks", **own)  # so that there are vectors
    call(ctx, "memory_write_observation", observation_type="insight", summary=said, **own)
    asked = {**ASKED["memory_consolidate"], **own}
    assert call(ctx, "memory_consolidate", **asked)["new_facts"] == new
    assert call(ctx, "memory_search", query="yaks", **own)["result"] or not new


def test_a_fact_lasts_as_long_as_the_observations_that_say_it(ctx: Context) -> None:
    ends = {"Llamas hum.": ("2998-01-01", "2999-01-01"), "Yaks grunt.": ("2998-01-01", None)}
    for text, some in ends.items():
        for number, end in enumerate(some):
            seen = {"observation_type": "insight", "summary": text, "space": "project:other"}
            call(
                ctx,
                "memory_write_observation",
                **seen,
                expires_at=end,
                request_id=f"{text}{number}",
            )
    asked = {**ASKED["memory_consolidate"], "space": "project:other"}
    done = call(ctx, "memory_consolidate", **asked)
    assert (done["new_facts"], done["duplicates_merged"]) == (2, 2)
    rows = call(ctx, "memory_list", type="fact", space="project:other")["rows"]
    found = {row["fact_text"]: row.get("expires_at") for row in rows}
    assert found == {"Llamas hum.": "2999-01-01T00:00:00.000000+00:00", "Yaks grunt.": None}
    assert call(ctx, "memory_consolidate", **asked)["new_facts"] == 0


def test_only_where_a_space_is_empty_all_rows_are_looked_through(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"query": "zebra", "types": ["fact", "observation"]}
    none = call(ctx, "memory_search", **asked, space="project:aa")
    assert none["read"]["notes"][-1].startswith(
        "Nothing is in the space project:aa. Similar: project:a ("
    )
    monkeypatch.setattr(SqlReading, "tally", None)
    found = call(ctx, "memory_search", **asked, space=A)
    assert (found["result"], [n for n in found["read"]["notes"] if "space" in n]) == ([], [])
