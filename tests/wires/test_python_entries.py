"""`memory.set`, `get`, `entries`: JSON under keys of spaces, in a folder and over HTTP."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import day1
from day1 import errors
from tests.wires.python_places import QUIET, Connect

USERS = ("app", "Users")


def keys(found: day1.Results[Any]) -> list[str]:
    return [entry.key for entry in found]


def test_a_value_comes_back_as_it_was_put(memory: day1.Memory) -> None:
    value = {"b": 1.5, "a": [None, True, {"c": "Zeile\n2"}], "whole": 1.0, "big": 10**25}
    put = memory.set("plan", value, space="project:metal")
    entry = memory.get("plan", space="project:metal")
    assert entry is not None
    assert (entry.id, entry.key, entry.space) == (put.ids[0], "plan", "project:metal")
    assert str(entry.value) == str(value)  # the order of keys, and 1.0 is not 1
    assert entry.created_at == entry.updated_at
    assert (put.added, put.changed) == (1, 0)
    assert memory.set("plan", value, space="project:metal").changed == 0
    memory.set("plan", {}, space="project:metal")
    changed = memory.get("plan", space="project:metal")
    assert changed is not None
    assert (changed.value, changed.created_at) == ({}, entry.created_at)
    assert changed.updated_at > entry.updated_at
    assert memory.get("plan") is None
    assert memory.blame(put.ids[0]).cells[0].agent_id == "writer"


@pytest.mark.parametrize(
    "key", ["a:b", "a/b", "a\nb", "a.b", "A", " ", "%2f", "é", "e\u0301", "\t", "x" * 1_024]
)
def test_awkward_keys_are_kept_to_the_letter(memory: day1.Memory, key: str) -> None:
    memory.set(key, {"n": 1}, space=USERS)
    memory.set(key + "x" if len(key) < 9 else "x", {"n": 2}, space=USERS)
    entry = memory.get(key, space=USERS)
    assert entry is not None
    assert (entry.key, entry.value) == (key, {"n": 1})
    assert memory.delete(key, space=USERS)
    assert len(memory.entries(under=USERS)) == 1


def test_spaces_by_labels_are_kept_to_the_letter(memory: day1.Memory) -> None:
    labels = [
        USERS,
        (*USERS, "Ann"),
        (*USERS, "ann"),
        (*USERS, "a/b\n"),
        ("app", "Users2"),
        ("app", "users"),
    ]
    for number, space in enumerate(labels):
        memory.set("k", {"n": number}, space=space)
    for number, space in enumerate(labels):
        entry = memory.get("k", space=space)
        assert entry is not None
        assert (entry.value["n"], entry.labels) == (number, list(space))
        assert memory.get("k", space=entry.space) == entry
    assert sorted(entry.value["n"] for entry in memory.entries(under=USERS)) == [0, 1, 2, 3]
    below = memory.spaces(under=USERS)
    assert {tuple(each.labels): each.count for each in below} == dict.fromkeys(labels[:4], 1)
    assert len(memory.spaces()) == 6


def test_entries_are_filtered_and_paged(memory: day1.Memory) -> None:
    for number in range(7):
        memory.set(f"k{number}", {"n": number, "odd": number % 2 == 1}, space="app:n")
    assert keys(memory.entries()) == [f"k{number}" for number in range(6, -1, -1)]
    page = memory.entries(under="app:n", limit=2, offset=2)
    assert (keys(page), page.total, page.read.branch) == (["k4", "k3"], 7, memory.name)
    odd = memory.entries(where={"odd": True, "n": {"$gte": 3}}, limit=1)
    assert (keys(odd), odd.total) == (["k5"], 2)
    assert not memory.entries(under="app:nothing")
    assert any("app:nothing" in note for note in memory.entries(under="app:nothing").notes)
    with pytest.raises(errors.InvalidRequest, match=r"\$in"):
        memory.entries(where={"n": {"$in": [1]}})


def test_entries_are_found_by_a_query_below_a_space(memory: day1.Memory) -> None:
    memory.set("a", {"text": "The lathe needs oil."}, space=(*USERS, "Ann"))
    memory.set("b", {"text": "The mill needs sand."}, space=(*USERS, "Bob"))
    memory.set("c", {"text": "Oil for the bicycle."}, space="app:other")
    memory.set("d", {"text": "Nothing."}, space=USERS, text="oil, too")
    found = memory.entries(under=USERS, query="oil")
    assert set(keys(found)) == {"a", "d"}
    assert all(0 < (entry.score or 0) <= 1 for entry in found)
    assert keys(memory.entries(query="oil", where={"text": "Nothing."})) == ["d"]


def test_an_entry_expires(memory: day1.Memory) -> None:
    memory.set("long", {"n": 1}, ttl=timedelta(days=1))
    memory.set("short", {"n": 1}, ttl=0.001)
    entry = memory.get("long")
    assert entry is not None
    left = datetime.fromisoformat(entry.expires_at or "") - datetime.now(UTC)
    assert timedelta(hours=23) < left <= timedelta(days=1)
    assert memory.get("short") is None
    assert keys(memory.entries()) == ["long"]


def test_what_is_secret_is_told_to_who_names_it_and_found_by_nobody(memory: day1.Memory) -> None:
    made = memory.set("pin", {"n": "winter"}, space="app:safe", sensitivity="secret")
    entry = memory.get("pin", space="app:safe")
    assert entry is not None
    assert entry.value == {"n": "winter"}
    assert not memory.entries(under="app:safe")
    assert not memory.entries(under="app:safe", where={"n": "winter"})
    assert not memory.entries(query="winter")
    assert not memory.spaces(under="app:safe")
    assert "winter" not in str(memory.row(made.ids[0]).row)


def test_what_is_redacted_is_not_there_and_not_put_again(memory: day1.Memory) -> None:
    made = memory.set("a", {"n": "blue"}, space="app:redacted")
    memory.set("b", {"n": "green"}, space="app:redacted")
    memory.redact(made.ids[0], confirm=made.ids[0])
    assert memory.get("a", space="app:redacted") is None
    assert keys(memory.entries(under="app:redacted")) == ["b"]
    assert not memory.entries(where={"n": "blue"})
    assert sum(each.count for each in memory.spaces(under="app:redacted")) == 1
    with pytest.raises(errors.Refused):
        memory.set("a", {"n": "blue"}, space="app:redacted")
    assert not memory.delete("a", space="app:redacted")


def test_a_branch_has_its_own_entries_and_a_clash_is_held(memory: day1.Memory) -> None:
    memory.set("mood", {"n": 1})
    memory.set("gone", {"n": 1})
    trial = memory.create_branch(f"{memory.name}/trial")
    trial.set("mood", {"n": 2})
    trial.set("new", {"n": 3}, space=USERS)
    assert trial.delete("gone")
    memory.set("mood", {"n": 4})
    merge = trial.merge()
    assert keys(memory.entries(under=USERS)) == ["new"]
    assert memory.get("gone") is None
    (held,) = merge.held()
    entry = memory.get("mood")
    assert entry is not None
    assert entry.value == {"n": 4}
    held.decide("theirs")
    entry = memory.get("mood")
    assert entry is not None
    assert entry.value == {"n": 2}


def test_the_past_has_the_entries_of_then(memory: day1.Memory) -> None:
    memory.set("a", {"n": 1}, space=USERS)
    memory.set("b", {"n": 1}, space="app:other")
    before = memory.get("a", space=USERS)
    assert before is not None
    moment = memory.entries()[0].created_at
    memory.set("a", {"n": 2}, space=USERS)
    memory.delete("b", space="app:other")
    then = memory.as_of(moment)
    assert then.get("a", space=USERS) == before
    assert then.get("b", space="app:other") is not None
    assert keys(then.entries(where={"n": 1})) == ["b", "a"]
    assert [each.count for each in then.spaces()] == [1, 1]
    assert not hasattr(then, "set")
    assert not hasattr(then, "delete")


def test_a_batch_puts_and_removes_entries_in_one_commit(memory: day1.Memory) -> None:
    memory.set("old", {"n": 1})
    memory.set("mood", {"n": 1})
    before = len(memory.log())
    batches = [memory.batch("tidied", request_id="tidy") for _ in range(2)]
    for batch in batches:  # the same request again does nothing more
        with batch:
            batch.set("mood", {"n": 2}, ttl=100)
            batch.set("new", {"n": 3}, space=USERS)
            batch.delete("old")
            batch.delete("missing")
            batch.add("Tidied.")
    (batch, _) = batches
    assert batch.result is not None
    assert len(memory.log()) == before + 2  # the pending rows', and one for the batch
    assert {entry.key: entry.value["n"] for entry in memory.entries()} == {"mood": 2, "new": 3}
    assert memory.history(batch.result.ids[0]).versions[0].reason == "tidied"


def test_a_repeated_request_changes_once(memory: day1.Memory) -> None:
    memory.set("a", {"n": 1})
    memory.set("a", {"n": 2}, request_id="two")
    memory.set("a", {"n": 3})
    assert memory.set("a", {"n": 2}, request_id="two").changed == 0
    entry = memory.get("a")
    assert entry is not None
    assert entry.value == {"n": 3}
    assert memory.delete("a", request_id="away")
    memory.set("a", {"n": 4})
    assert memory.delete("a", request_id="away")
    assert memory.get("a") is not None


@pytest.mark.parametrize("in_batch", [False, True])
@pytest.mark.parametrize("before", [False, True], ids=["new", "changed"])
@pytest.mark.parametrize("since", ["changed", "removed"])
def test_a_repeated_request_undoes_no_later_write(
    memory: day1.Memory, *, in_batch: bool, before: bool, since: str
) -> None:
    def put() -> None:
        if in_batch:
            with memory.batch(request_id="put") as batch:
                batch.add("Words.")
                batch.set("a", {"n": 1})
        else:
            memory.set("a", {"n": 1}, request_id="put")

    if before:
        memory.set("a", {"n": 0})
    put()
    if since == "changed":
        memory.set("a", {"n": 2})
    else:
        memory.delete("a")
    put()
    entry = memory.get("a")
    assert (None if entry is None else entry.value) == ({"n": 2} if since == "changed" else None)


@pytest.mark.parametrize(
    "value",
    [{"n": float("nan")}, {"n": b"x"}, {"n": {1}}, {1: 2}, {"n": (1,)}, {"n": "\ud800"}, [1], None],
    ids=repr,
)
def test_what_is_no_json_object_is_refused(memory: day1.Memory, value: Any) -> None:
    with pytest.raises(errors.InvalidRequest, match="value"):
        memory.set("a", value)
    with pytest.raises(errors.InvalidRequest, match="value"), memory.batch() as batch:
        batch.set("a", value)
    assert not memory.entries()


@pytest.mark.parametrize("value", [{"n": {1}}, {"n": float("inf")}, {"n": "\ud800"}], ids=repr)
def test_what_is_no_json_is_refused_in_any_operation(memory: day1.Memory, value: Any) -> None:
    with pytest.raises(errors.InvalidRequest):
        memory.call("keyed.entry_put", entries=[{"key": "a", "value": value}])
    assert not memory.entries()


def test_the_longest_and_deepest_value_and_what_is_beyond(memory: day1.Memory) -> None:
    longest = "漢" * 2_796_200  # of three bytes each; the rest of the JSON has eight
    memory.set("a", {"n": longest})
    entry = memory.get("a")
    assert entry is not None
    assert entry.value["n"] == longest
    for text in (longest + "x", "x" * 10_000_000):
        with pytest.raises(errors.ValueTooLarge, match="8,388,608 \\(8 MiB\\)") as refused:
            memory.set("b", {"n": text})
        assert refused.value.details["limit"] == 8_388_608
    with pytest.raises(errors.ValueTooLarge):
        memory.call("keyed.entry_put", entries=[{"key": "b", "value": {"n": longest + "x"}}])
    assert [entry.key for entry in memory.entries()] == ["a"]
    deep: Any = 1
    for _ in range(64):
        deep = {"n": deep}
    with pytest.raises(errors.InvalidRequest, match="64 levels"):
        memory.set("b", deep)
    memory.set("b", deep["n"])


@pytest.mark.parametrize(
    ("key", "space"),
    [
        ("", None),
        ("x" * 1_025, None),
        ("a\0", None),
        ("a", "*"),
        ("a", ("app",)),
        ("a", ("App", "x")),
        ("a", ""),
    ],
    ids=repr,
)
def test_keys_and_spaces_that_do_not_fit_are_refused(
    memory: day1.Memory, key: str, space: Any
) -> None:
    with pytest.raises(errors.InvalidRequest):
        memory.set(key, {"n": 1}, space=space)
    assert not memory.entries()


def test_a_handle_has_its_own_space(connect: Connect, memory: day1.Memory) -> None:
    with connect(branch=memory.name, space="project:mill") as mill:
        mill.set("a", {"n": 1})
        memory.set("a", {"n": 2})
        assert keys(mill.entries()) == ["a"]
        entry = memory.get("a", space="project:mill")
        assert entry is not None
        assert entry.value == {"n": 1}
        assert [each.space for each in mill.spaces()] == ["project:mill"]
        assert mill.entries(under="*").total == 2
        assert mill.delete("a")
        assert memory.get("a") is not None


def test_kompanion_and_the_library_share_what_they_save(memory: day1.Memory) -> None:
    memory.call("kompanion.save_context", namespace="project:k", key="plan", content={"step": 1})
    entry = memory.get("plan", space="project:k")
    assert entry is not None
    assert entry.value == {"step": 1}
    memory.set("plan", {"step": 2}, space="project:k")
    recalled = memory.call("kompanion.recall_context", namespace="project:k", key="plan")
    assert recalled["items"][0]["content"] == {"step": 2}


def test_tasks_put_and_get_entries(tmp_path: Any) -> None:
    async def work() -> list[str]:
        async with await day1.aconnect(tmp_path / "store", settings=QUIET) as memory:
            await asyncio.gather(*(memory.set(f"k{n}", {"n": n}) for n in range(20)))
            entry = await memory.get("k3")
            assert entry is not None
            assert entry.value == {"n": 3}
            assert await memory.delete("k3")
            async with memory.batch() as batch:
                batch.set("k20", {"n": 20})
            assert len(await memory.spaces()) == 1
            moment = (await memory.entries())[0].created_at
            assert await memory.as_of(moment).get("k3") is None
            return keys(await memory.entries(where={"n": {"$gt": 18}}))

    assert sorted(asyncio.run(work())) == ["k19", "k20"]


def move(memory: day1.Memory, revision: str) -> None:
    with memory.batch() as batch:
        batch.set("moved", {"n": 2}, expect_revision="none")
        batch.delete("plan", expect_revision=revision)


def test_an_entry_changes_only_where_it_is_as_it_was_read(memory: day1.Memory) -> None:
    memory.set("plan", {"n": 1}, expect_revision="none")
    entry = memory.get("plan")
    assert entry is not None
    for wrong in ("none", "0" * 32):
        with pytest.raises(errors.RevisionChanged) as refused:
            memory.set("plan", {"n": 2}, expect_revision=wrong)
        assert refused.value.details["revision"] == entry.revision
    memory.set("plan", {"n": 2}, expect_revision=entry.revision)
    with pytest.raises(errors.RevisionChanged):
        memory.delete("plan", expect_revision=entry.revision)
    with pytest.raises(errors.RevisionChanged):
        move(memory, entry.revision)
    assert memory.get("moved") is None
    move(memory, memory.entries()[0].revision)
    assert keys(memory.entries()) == ["moved"]


def test_of_many_writers_who_read_the_same_one_wins(memory: day1.Memory) -> None:
    memory.set("count", {"n": 0})

    def add_one(_: int) -> None:
        while True:
            entry = memory.get("count")
            assert entry is not None
            with suppress(errors.RevisionChanged):
                memory.set("count", {"n": entry.value["n"] + 1}, expect_revision=entry.revision)
                return

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(add_one, range(12)))
    entry = memory.get("count")
    assert entry is not None
    assert entry.value == {"n": 12}


def test_a_secret_is_noticed_anywhere_in_a_long_value(memory: day1.Memory) -> None:
    key = "AKIA" + "A" * 16
    put = memory.set("a", {"text": f"{'word ' * 20_000}{key}"})
    assert any("an AWS access key" in str(note) for note in put.written.notes)
    assert not memory.set("b", {"text": "word " * 20_000}).written.notes
