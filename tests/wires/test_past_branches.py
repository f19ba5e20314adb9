"""A branch from a past state: each read of it is the read of its source as of then."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import day1
from day1 import errors
from tests.wires.command_line import CommandLine
from tests.wires.http_server import HttpServer
from tests.wires.mcp_session import Session
from tests.wires.python_places import QUIET

KINDS = ("fact", "observation", "relation", "conversation", "message")


def newest(memory: day1.Branch) -> str:
    """The time of the newest write of a branch."""
    return str(memory.call("branch_moment")["newest"])


def told(memory: day1.Memory) -> list[str]:
    """Write rows of every kind, several in one commit in the end; give the time after each."""
    first = memory.add("The lathe needs oil.", category="shop")
    times = [newest(memory)]
    for number in range(2):
        memory.observe(f"The mill ran {number} hours.", "discovery")
        times.append(newest(memory))
        memory.relate(f"mill {number}", "stands_beside", "lathe")
        times.append(newest(memory))
        memory.say(None, "user", f"Is mill {number} oiled?", title="Mills")
        times.append(newest(memory))
        memory.set(f"k{number}", {"n": number}, space="shop/keys")
        times.append(newest(memory))
    memory.update(first.id, text="The lathe needs no oil.")
    times.append(newest(memory))
    memory.set("k0", {"n": 9}, space="shop/keys")
    times.append(newest(memory))
    memory.retract(memory.add("The lathe is new.").id)
    memory.add("The lathe is old.")
    return times


def reads(state: Any) -> dict[str, Any]:
    """What the methods that read answer about a state, without where it was read."""
    talks = [row["id"] for row in state.rows("conversation")]
    return {
        "rows": {kind: list(state.rows(kind)) for kind in KINDS},
        "each": [state.row(row["id"]).row for kind in KINDS for row in state.rows(kind)],
        "timeline": list(state.timeline()),
        "search": [hit.id for hit in state.search("oil lathe mill hours", limit=50)],
        "graph": list(state.graph("lathe")),
        "messages": [list(state.messages(talk)) for talk in talks],
        "entries": list(state.entries(under="shop")),
        "spaces": list(state.spaces()),
        "key": state.get("k0", space="shop/keys"),
    }


def test_each_read_of_the_branch_is_the_read_of_then(memory: day1.Memory) -> None:
    times = told(memory)
    present = reads(memory)
    for number, time in enumerate(times):
        before = datetime.fromisoformat(time) - timedelta(microseconds=1)
        for at in (time, before):
            fork = memory.create_branch(f"{memory.name}/{number}/{at == time}", at=at)
            then = reads(memory.as_of(at))
            assert reads(fork) == then
            assert reads(fork.as_of(at)) == then
            if number:
                earlier = times[number // 2]
                assert reads(fork.as_of(earlier)) == reads(memory.as_of(earlier))
    assert reads(memory) == present


def test_the_branch_grows_by_itself_and_merges(memory: day1.Memory) -> None:
    kept = memory.add("The press is red.")
    at = newest(memory)
    memory.add("The press is loud.")
    memory.update(kept.id, text="The press is blue.")
    fork = memory.create_branch(f"{memory.name}/then", at=at)
    fork.add("The press is heavy.")
    assert [row["fact_text"] for row in fork.rows("fact")] == [
        "The press is heavy.",
        "The press is red.",
    ]
    assert [row["fact_text"] for row in fork.diff().new_facts] == ["The press is heavy."]
    assert [row["effect"] for row in fork.preview().rows] == ["new"]
    merge = fork.merge()
    assert (merge.merged_count, merge.held_count) == (1, 0)
    assert {row["fact_text"] for row in memory.rows("fact")} == {
        "The press is blue.",
        "The press is loud.",
        "The press is heavy.",
    }


def test_before_the_first_commit_the_branch_is_empty(memory: day1.Memory) -> None:
    memory.add("The saw is sharp.")
    fork = memory.create_branch(f"{memory.name}/then", at="1999-01-01")
    assert not fork.rows("fact")
    fork.add("The saw is new.")
    assert fork.merge().merged_count == 1


def test_what_cannot_be_made_says_what_to_do(memory: day1.Memory) -> None:
    memory.add("The drill hums.")
    at, names = newest(memory), [f"{memory.name}/{name}" for name in ("once", "late")]
    memory.create_branch(names[0], at=at)
    with pytest.raises(errors.BranchExists):
        memory.create_branch(names[0], at=at)
    with pytest.raises(errors.InvalidRequest, match="in the future") as caught:
        memory.create_branch(names[1], at=datetime.now(UTC) + timedelta(days=2))
    assert caught.value.code == "invalid_request"
    with pytest.raises(errors.InvalidRequest, match="no zone"):
        memory.create_branch(names[1], at=datetime(2026, 1, 1))
    with pytest.raises(errors.InvalidRequest, match="ISO 8601"):
        memory.create_branch(names[1], at="yesterday")
    with pytest.raises(errors.UnknownBranch):
        memory.create_branch(names[1], source="nobody", at=at)
    assert names[1] not in {item.branch_name for item in memory.branches()}


def test_a_repeated_request_makes_the_branch_once(memory: day1.Memory) -> None:
    times = told(memory)
    name, request = f"{memory.name}/then", f"then {memory.name}"
    fork = memory.create_branch(name, at=times[2], request_id=request)
    fork.add("The fork has more.")
    again = memory.create_branch(name, at=times[2], request_id=request)
    assert reads(again) == reads(fork)
    for at in (times[3], None):
        with pytest.raises(errors.RequestReused):
            memory.create_branch(name, at=at, request_id=request)


def test_a_closed_or_protected_source_can_be_forked(memory: day1.Memory) -> None:
    guarded, squashed = (memory.create_branch(f"{memory.name}/{name}") for name in "ab")
    squashed.add("The forge is hot.")
    at = newest(squashed)
    squashed.add("The forge is cold.")
    squashed.merge(guarded.name, strategy="squash")
    later = newest(guarded)
    guarded.protect(["review"])
    for source, time, texts in (
        (squashed, at, {"The forge is hot."}),
        (guarded, later, {"The forge is hot.", "The forge is cold."}),
    ):
        fork = memory.create_branch(f"{source.name}/then", source=source.name, at=time)
        assert {row["fact_text"] for row in fork.rows("fact")} == texts
        assert fork.add("The forge is lit.")


def test_what_is_redacted_is_hidden_on_the_branch(memory: day1.Memory) -> None:
    gone, late = memory.add("The code is plover."), memory.add("The key is grackle.")
    at = newest(memory)
    memory.add("The door is oak.")
    memory.redact(gone.id, reason="a secret", confirm=gone.id)
    fork = memory.create_branch(f"{memory.name}/then", at=at)
    memory.redact(late.id, reason="a secret", confirm=late.id)
    assert [row["fact_text"] for row in fork.rows("fact")] == ["[redacted]"] * 2
    assert reads(fork) == reads(memory.as_of(at))
    assert not fork.search("plover grackle")
    fork.add("The door is open.")
    assert fork.merge().held_count == 0


def test_the_asynchronous_library_forks_the_past(tmp_path: Path) -> None:
    async def forked() -> set[str]:
        async with await day1.aconnect(tmp_path / "store", settings=QUIET) as memory:
            await memory.add("The anvil rings.")
            at = (await memory.call("branch_moment"))["newest"]
            await memory.add("The anvil is old.")
            fork = await memory.create_branch("then", at=at)
            return {row["fact_text"] for row in await fork.rows("fact")}

    assert asyncio.run(forked()) == {"The anvil rings."}


def test_mcp_takes_the_time(core: Session, branch: str) -> None:
    made = core.ok("memory_write_fact", fact_text="The vice is tight.", branch=branch)
    core.ok("memory_write_fact", fact_text="The vice is loose.", branch=branch)
    name = f"{branch}/then"
    answer = core.ok(
        "memory_branch_create", branch_name=name, parent_branch=branch, at=made["created_at"]
    )
    assert (answer["parent"], answer["written"]["branch"]) == (branch, name)
    assert [row["id"] for row in core.found("memory_timeline", branch=name)] == [made["id"]]
    tree = core.ok("memory_branch_topology", root_branch=name)
    assert tree["metadata"]["began_at"] == made["created_at"]
    core.refused("memory_branch_create", "invalid_request", branch_name=f"{name}/no", at="no time")


def test_a_token_that_sees_some_branches_forks_only_their_past(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        admin = server.token("root")
        server.ok("memory_branch_create", admin, branch_name="mine/work")
        times = {}
        for name in ("main", "mine/work"):
            server.ok("memory_write_fact", admin, fact_text=f"First on {name}.", branch=name)
            made = server.ok("memory_write_fact", admin, fact_text=f"On {name}.", branch=name)
            times[name] = made["created_at"]
            server.ok("memory_write_fact", admin, fact_text=f"Later on {name}.", branch=name)
        limited = server.token("limited", "write", admin, branches=["mine/*"])
        reader = server.token("reader", "read", admin, branches=["mine/*"])
        ask = {"parent_branch": "mine/work", "at": times["mine/work"]}
        server.ok("memory_branch_create", limited, branch_name="mine/then", **ask)
        rows = server.ok("memory_timeline", limited, branch="mine/then")["result"]
        assert {row["content"] for row in rows} == {"First on mine/work.", "On mine/work."}
        for token, name, source in (
            (limited, "mine/other", "main"),
            (limited, "other/then", "mine/work"),
            (reader, "mine/other", "mine/work"),
        ):
            asked = {"branch_name": name, "parent_branch": source, "at": times[source]}
            answer = server.post("memory_branch_create", token, **asked)
            assert (answer.status, answer.body["error"]["code"]) == (403, "forbidden")


def test_the_command_line_forks_the_past(cli: CommandLine) -> None:
    row = cli.add("The saw is dull.")
    at = cli.json("show", row)["created_at"]
    cli.add("The saw is sharp.")
    assert cli("branch", "then", "--at", at).out == f"Branch then created from main as of {at}.\n"
    cli("switch", "-c", "again", "main", "--at", at)
    for name in ("then", "again"):
        listed = cli.json("call", "memory_timeline", json.dumps({"branch": name}))["result"]
        assert [one["id"] for one in listed] == [row]
    assert "used with -c only" in cli("switch", "then", "--at", at, code=2).err
    assert "Which branch?" in cli("branch", "--at", at, code=2).err
    assert cli.refused("branch", "late", "--at", "2999-01-01")["code"] == "invalid_request"
