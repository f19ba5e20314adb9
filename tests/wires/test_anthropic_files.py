"""Files of `Day1MemoryTool`: what they are in day1, who wrote them, and what is refused."""

import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("anthropic.lib.tools", reason="the extra `anthropic` is not installed")

import day1
from day1 import errors
from day1.integrations.anthropic import Day1MemoryTool, files
from tests.wires.anthropic_commands import (
    Command,
    answer,
    create,
    delete,
    insert,
    rename,
    str_replace,
    view,
)
from tests.wires.http_server import HttpServer
from tests.wires.python_places import QUIET, Connect

SPACE = ("files", "memories")
AWKWARD = "a\r\n\tb\n\n漢 🐦 e\u0301\u2028\ufeff \\ \" ' `x` \x7f\x1b[0m"
_numbers = itertools.count(1)


@pytest.fixture
def tool(memory: day1.Memory) -> Day1MemoryTool:
    return Day1MemoryTool(memory)


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[day1.Memory]:
    with day1.connect(tmp_path_factory.mktemp("local") / "store", settings=QUIET) as memory:
        yield memory


def keys(memory: day1.Branch) -> list[str]:
    return sorted(entry.key for entry in memory.entries(under=SPACE, limit=1_000))


def commits(memory: day1.Branch) -> int:
    return len(memory.log(limit=200))


def test_a_file_is_an_entry_with_its_text_to_the_byte(
    memory: day1.Memory, tool: Day1MemoryTool
) -> None:
    answer(tool, create("/memories/notes/a.txt", AWKWARD))
    entry = memory.get("notes/a.txt", space=SPACE)
    assert entry is not None
    assert (entry.value, entry.space) == ({"text": AWKWARD}, "files:memories")
    assert keys(memory) == ["notes/", "notes/a.txt"]
    answer(tool, insert("/memories/notes/a.txt", 0, "The lathe needs oil."))
    assert [hit.key for hit in memory.entries(under=SPACE, query="lathe")] == ["notes/a.txt"]


def test_a_directory_stays_without_files_and_is_moved_in_one_commit(
    memory: day1.Memory, tool: Day1MemoryTool
) -> None:
    for name in ("a", "b", "deep/er/c"):
        answer(tool, create(f"/memories/d/{name}", name))
    answer(tool, insert("/memories/d/a", 0, "x"))  # a commit, which has the additions too
    before = commits(memory)
    assert answer(tool, rename("/memories/d", "/memories/x/y")).startswith("Successfully")
    assert keys(memory) == [
        "x/", "x/y/", "x/y/a", "x/y/b", "x/y/deep/", "x/y/deep/er/", "x/y/deep/er/c"
    ]  # fmt: skip
    assert commits(memory) == before + 1
    assert answer(tool, delete("/memories/x/y")).startswith("Successfully")
    assert (keys(memory), commits(memory)) == (["x/"], before + 2)
    assert answer(tool, view("/memories/x")).endswith("\n0B\t/memories/x")
    memory.revert(memory.log(limit=1)[0].commit)
    assert "x/y/deep/er/c" in keys(memory)
    assert tool.clear_all_memory() == "All memory cleared"
    assert (keys(memory), commits(memory)) == ([], before + 4)


def test_two_sets_of_files_in_one_memory_are_apart(memory: day1.Memory) -> None:
    tools = [Day1MemoryTool(memory, name=name) for name in ("a", "a/b", "A", "é ..")]
    for number, each in enumerate(tools):
        answer(each, create("/memories/f", str(number)))
    for number, each in enumerate(tools):
        assert answer(each, view("/memories/f")).endswith(f"\t{number}")
        assert answer(each, view("/memories")).count("\n") == 2
    tools[0].clear_all_memory()
    assert answer(tools[1], view("/memories/f")).endswith("\t1")


def test_a_command_says_who_wrote(memory: day1.Memory, connect: Connect) -> None:
    with connect(agent="ann", session="s-1", branch=memory.name) as ann:
        answer(Day1MemoryTool(ann), create("/memories/a", "one"))
    with connect(agent="bob", session="s-2", branch=memory.name) as bob:
        tool = Day1MemoryTool(bob)
        answer(tool, str_replace("/memories/a", "one", "two"))
        blame = tool.blame("/memories/a")
    (text,) = [cell for cell in blame.cells if cell.cell == "summary"]
    assert (text.agent_id, text.session_id) == ("bob", "s-2")
    assert "ann" in [version.agent_id for version in memory.history(blame.id).versions]
    with pytest.raises(errors.NotFound):
        Day1MemoryTool(memory).blame("/memories/b")


def test_a_tool_may_have_a_branch_of_its_own_that_is_made_when_it_is_used(
    memory: day1.Memory,
) -> None:
    name = f"{memory.name}/run-{next(_numbers)}"
    tool = Day1MemoryTool(memory, branch=lambda: name)
    assert answer(tool, create("/memories/a", "x")) == "File created successfully at: /memories/a"
    assert tool.branch.name == name
    assert answer(Day1MemoryTool(memory), view("/memories/a")).startswith("error: The path")
    tool.branch.merge()
    assert answer(Day1MemoryTool(memory), view("/memories/a")).endswith("\tx")
    assert Day1MemoryTool(memory, branch=lambda: None).branch.name == memory.name


def test_threads_that_edit_one_file_lose_no_edit(tool: Day1MemoryTool) -> None:
    answer(tool, create("/memories/a", ""))

    def work(number: int) -> list[str]:
        return [answer(tool, insert("/memories/a", 0, f"{number}.{step}")) for step in range(3)]

    with ThreadPoolExecutor(8) as pool:
        said = [each for answers in pool.map(work, range(8)) for each in answers]
    assert set(said) == {"The file /memories/a has been edited."}
    lines = [line.split("\t")[1] for line in answer(tool, view("/memories/a")).split("\n")[1:]]
    assert sorted(lines) == sorted(["", *(f"{n}.{step}" for n in range(8) for step in range(3))])


def test_of_writers_of_one_new_file_one_makes_it(tool: Day1MemoryTool) -> None:
    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(lambda n: answer(tool, create("/memories/d/a", str(n))), range(4)))
    assert sorted(said) == [
        "File created successfully at: /memories/d/a", *["error: File /memories/d/a already exists"] * 3
    ]  # fmt: skip


class Hasty:
    """A memory with a file, and a tool; somebody is quicker before each write of a command."""

    def __init__(self, memory: day1.Branch, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
        self.writes, write = 0, day1.Branch.call

        def call(on: day1.Branch, operation: str, **arguments: Any) -> dict[str, Any]:
            if operation in {"entry_put", "rows_apply"} and self.writes < self.most:
                self.writes += 1
                value = {"text": f"{self.writes}\nx"}
                write(memory, "entry_put", entries=[{"key": key, "space": SPACE, "value": value}])
            return write(on, operation, **arguments)

        self.most = 1
        self.memory, self.tool = memory, Day1MemoryTool(memory)
        answer(self.tool, create(f"/memories/{key}", "x"))
        monkeypatch.setattr(day1.Branch, "call", call)


@pytest.fixture
def hasty(local: day1.Memory, monkeypatch: pytest.MonkeyPatch) -> Hasty:
    memory = local.create_branch(f"hasty/{next(_numbers)}", source="main")
    return Hasty(memory, monkeypatch, "d/a")


@pytest.mark.parametrize(
    ("command", "after"),
    [
        (str_replace("/memories/d/a", "x", "y"), {"d/a": "1\ny"}),
        (insert("/memories/d/a", 1, "z"), {"d/a": "1\nz\nx\n"}),
        (rename("/memories/d", "/memories/e"), {"e/a": "1\nx"}),
        (rename("/memories/d/a", "/memories/e/a"), {"e/a": "1\nx"}),
        (delete("/memories/d"), {}),
        (create("/memories/d/b", "new"), {"d/a": "1\nx", "d/b": "new"}),
    ],
)
def test_a_command_begins_anew_after_another_writer(
    hasty: Hasty, command: Command, after: dict[str, str]
) -> None:
    assert not answer(hasty.tool, command).startswith("error")
    assert hasty.writes == 1
    files = {entry.key: entry.value.get("text") for entry in hasty.memory.entries(under=SPACE)}
    assert {key: text for key, text in files.items() if text is not None} == after


def test_a_command_is_tried_for_as_long_as_a_crowd_of_writers_needs(hasty: Hasty) -> None:
    hasty.most = 30
    said = answer(hasty.tool, insert("/memories/d/a", 1, "z"))
    assert said == "The file /memories/d/a has been edited."
    assert answer(hasty.tool, view("/memories/d/a")).endswith(
        "\n     1\t30\n     2\tz\n     3\tx\n     4\t"
    )


def test_a_command_gives_up_where_others_are_always_quicker(
    hasty: Hasty, monkeypatch: pytest.MonkeyPatch
) -> None:
    hasty.most = 1_000
    monkeypatch.setattr(files, "_WAIT_S", 0.2)
    said = answer(hasty.tool, delete("/memories/d"))
    assert said == (
        "error: Others are changing /memories/d all the time, so nothing was changed: view it and "
        "try again."
    )
    assert hasty.memory.get("d/a", space=SPACE) is not None


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (create("/memories/b", "x" * 8_388_608), "a file has at most 8,388,608 bytes as JSON"),
        (insert("/memories/a", 0, "x" * 8_388_608), "divide it into several files"),
        (str_replace("/memories/a", "x", "x" * 8_388_608), "would be too long"),
        (create("/memories/b", "a\0b"), "has a NUL or half a character"),
        (insert("/memories/a", 0, "\ud83d"), "has a NUL or half a character"),
        (create("/memoriesx/b", "x"), "must start with /memories"),
        (create("/memories/a/b", "x"), "is a file"),
        (create("/memories/a/b/c", "x"), "is a file"),
        (rename("/memories/d", "/memories/d/e"), "into itself"),
        (rename("/memories/a", "/memories/a/e"), "into itself"),
        (rename("/memories/d", "/memories/" + "x" * 1_020), "is too long"),
    ],
)
def test_a_refused_command_changes_nothing(
    memory: day1.Memory, tool: Day1MemoryTool, command: Command, why: str
) -> None:
    answer(tool, create("/memories/a", "x"))
    answer(tool, create("/memories/d/long/er", "x"))
    before, moment = keys(memory), commits(memory)
    said = answer(tool, command)
    assert said.startswith("error: ")
    assert why in said
    assert (keys(memory), commits(memory)) == (before, moment)
    assert answer(tool, view("/memories/a")).endswith(":\n     1\tx")


def test_a_branch_that_takes_no_writes_says_what_to_do(memory: day1.Memory) -> None:
    name = f"{memory.name}/kept"
    kept = memory.create_branch(name)
    kept.protect(["review"])
    tools = [Day1MemoryTool(kept), Day1MemoryTool(memory.branch("nowhere"))]
    said = [answer(tool, create("/memories/a", "x")) for tool in tools]
    assert said == [
        f"error: The memory branch {name!r} is protected, so nothing was changed: ask the user for "
        "another branch, which a person can review and merge.",
        "error: The memory branch 'nowhere' is closed or does not exist, so nothing was changed: "
        "ask the user which branch to use.",
    ]
    assert answer(tools[0], view("/memories")).endswith("\n0B\t/memories")


def test_a_token_that_may_only_read_can_view_and_no_more(tmp_path: Path) -> None:
    with HttpServer(tmp_path / "store") as server:
        admin = server.token("writer")
        with day1.connect(server.address, token=admin) as memory:
            answer(Day1MemoryTool(memory), create("/memories/a", "x"))
        reader = server.token("reader", "read", admin)
        with day1.connect(server.address, token=reader) as memory:
            tool = Day1MemoryTool(memory)
            assert answer(tool, view("/memories/a")).endswith("\tx")
            for command in (create("/memories/b"), str_replace("/memories/a", "x", "y"),
                            delete("/memories/a"), rename("/memories/a", "/memories/b")):  # fmt: skip
                assert "does not allow this" in answer(tool, command)
            assert keys(memory) == ["a"]


def test_entries_of_other_programs_are_files_too(memory: day1.Memory, tool: Day1MemoryTool) -> None:
    memory.set("d/a", {"text": "by hand", "more": 1}, space=SPACE)  # no marker of `d`
    memory.set("d/b", {"n": 1}, space=SPACE)
    assert answer(tool, view("/memories")).split("\n")[2:] == [
        "18B\t/memories/d/", "7B\t/memories/d/a", "11B\t/memories/d/b"
    ]  # fmt: skip
    assert answer(tool, view("/memories/d/b")).endswith(':\n     1\t{\n     2\t "n": 1\n     3\t}')
    answer(tool, delete("/memories/d/a"))
    answer(tool, delete("/memories/d/b"))
    assert keys(memory) == ["d/"]


def test_a_directory_of_more_files_than_a_commit_has_changes_is_refused_whole(
    local: day1.Memory,
) -> None:
    memory = local.create_branch(f"many/{next(_numbers)}", source="main")
    tool = Day1MemoryTool(memory)
    for start in range(0, 1_100, 550):
        entries = [
            {"key": f"d/{n}", "space": SPACE, "value": {"text": ""}}
            for n in range(start, start + 550)
        ]
        memory.call("entry_put", entries=entries)
    assert answer(tool, view("/memories/d")).count("\n") == 1_101
    for command in (delete("/memories/d"), rename("/memories/d", "/memories/e")):
        assert "too many files for one commit" in answer(tool, command)
    assert answer(tool, rename("/memories/d", "/memories/d")).endswith("already exists")
    assert answer(tool, view("/memories/d")).count("\n") == 1_101
    tool.clear_all_memory()
    assert answer(tool, view("/memories")).endswith("\n0B\t/memories")


def test_a_tool_closes_the_memory_that_it_connected_to(tmp_path: Path) -> None:
    with Day1MemoryTool(tmp_path / "memory") as tool:
        answer(tool, create("/memories/a", "x"))
    assert answer(tool, view("/memories/a")).startswith("error: ")
    with day1.connect(tmp_path / "memory", settings=QUIET) as memory:
        with Day1MemoryTool(memory) as tool:
            assert answer(tool, view("/memories/a")).endswith("\tx")
        assert memory.log(limit=1)


def test_files_that_are_too_large_for_one_answer_are_listed_moved_and_removed(
    limited: day1.Memory,
) -> None:
    tool = Day1MemoryTool(limited)
    for name in "abc":
        answer(tool, create(f"/memories/d/{name}", f"line {name}\n" * 400_000))
    assert "\n8.0M\t/memories/d/\n" in answer(tool, view("/memories"))
    assert "does not exist" in answer(tool, view("/memories/none"))
    assert "does not exist" in answer(tool, insert("/memories/none", 0, "x"))
    assert "is not a file" in answer(tool, insert("/memories/d", 0, "x"))
    assert answer(tool, rename("/memories/d", "/memories/e")).startswith("Successfully")
    assert "\n8.0M\t/memories/e/\n" in answer(tool, view("/memories"))
    assert answer(tool, delete("/memories/e")).startswith("Successfully")
    limited.revert(limited.log(limit=1)[0].commit)
    assert tool.clear_all_memory() == "All memory cleared"
    assert keys(limited) == []


def test_what_a_model_is_told_names_no_setting(
    tool: Day1MemoryTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise errors.AnswerTooLarge("Raise DAY1_STORE__ANSWER_BYTES.")

    monkeypatch.setattr(day1.Branch, "call", refuse)
    said = answer(tool, view("/memories"))
    assert "too much text" in said
    assert "DAY1" not in said
