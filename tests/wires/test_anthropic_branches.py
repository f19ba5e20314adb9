"""Two agents edit one memory file on two branches: merged by lines, or held; history names both."""

import itertools
from typing import Any

import pytest

pytest.importorskip("anthropic.lib.tools", reason="the extra `anthropic` is not installed")

import day1
from day1.integrations.anthropic import Day1MemoryTool
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
from tests.wires.python_places import Connect

TEXT = "Oil: Friday.\nBelt: May.\nSpeed: 900.\nChuck: new."
PATH = "/memories/notes/lathe.md"
_numbers = itertools.count(1)


class Team:
    """Agents on branches of their own of one memory."""

    def __init__(self, memory: day1.Memory, connect: Connect) -> None:
        self.memory, self._connect = memory, connect
        self.tool = Day1MemoryTool(memory)

    def works(self, agent: str, *commands: Command) -> day1.Branch:
        """Let an agent work on a branch of its own; return the branch."""
        name = f"{self.memory.name}/{agent}"
        with self._connect(agent=agent, branch=self.memory.name) as memory:
            tool = Day1MemoryTool(memory, branch=name)
            for command in commands:
                said = answer(tool, command)
                assert not said.startswith("error"), said
        return self.memory.branch(name)

    def lines(self, path: str = PATH) -> list[str]:
        return [each[7:] for each in answer(self.tool, view(path)).split("\n")[1:]]

    def agents(self, path: str = PATH) -> set[Any]:
        versions = self.memory.history(self.tool.blame(path).id).versions
        return {version.agent_id for version in versions}


@pytest.fixture
def team(memory: day1.Memory, connect: Connect) -> Team:
    team = Team(memory, connect)
    answer(team.tool, create(PATH, TEXT))
    return team


def test_edits_in_different_places_are_merged_by_lines(team: Team) -> None:
    ann = team.works("ann", str_replace(PATH, "Friday", "Monday"))
    bob = team.works("bob", insert(PATH, 3, "Tool: steel."), str_replace(PATH, "new", "old"))
    assert Day1MemoryTool(ann).blame(PATH).cells[0].agent_id == "ann"
    assert Day1MemoryTool(bob).blame(PATH).cells[0].agent_id == "bob"
    assert [len(branch.merge().held()) for branch in (ann, bob)] == [0, 0]
    assert team.lines() == [
        "Oil: Monday.", "Belt: May.", "Speed: 900.", "Tool: steel.", "Chuck: old.", ""
    ]  # fmt: skip
    assert team.agents() >= {"ann", "bob"}
    lines = team.tool.blame(PATH).lines or []
    assert [(part.first, part.last, part.agent_id) for part in lines] == [
        (1, 1, "ann"), (2, 3, "writer"), (4, 4, "bob"), (5, 5, "bob")
    ]  # fmt: skip


def test_edits_of_one_line_are_held_until_somebody_decides(team: Team) -> None:
    ann = team.works("ann", str_replace(PATH, "Friday", "Monday"))
    bob = team.works("bob", str_replace(PATH, "Friday", "Sunday"))
    assert not ann.merge().held()
    (held,) = bob.merge().held()
    assert team.lines()[0] == "Oil: Monday."
    assert held.theirs is not None
    assert held.theirs["structure"]["text"].startswith("Oil: Sunday.")
    held.decide("theirs")
    assert team.lines() == ["Oil: Sunday.", *TEXT.split("\n")[1:]]


def test_new_files_in_one_new_directory_are_merged(team: Team) -> None:
    branches = [
        team.works(agent, create(f"/memories/new/{agent}", agent)) for agent in ("ann", "bob")
    ]
    assert [len(branch.merge().held()) for branch in branches] == [0, 0]
    assert answer(team.tool, view("/memories/new")).split("\n")[2:] == [
        "3B\t/memories/new/ann", "3B\t/memories/new/bob"
    ]  # fmt: skip
    assert team.agents("/memories/new/bob") == {"bob"}


def test_one_new_file_of_both_is_held_and_nothing_is_lost(team: Team) -> None:
    branches = [team.works(agent, create("/memories/x", agent)) for agent in ("ann", "bob")]
    assert [len(branch.merge().held()) for branch in branches] == [0, 1]
    assert team.lines("/memories/x") == ["ann"]
    (held,) = team.memory.held()
    held.decide("theirs")
    assert team.lines("/memories/x") == ["bob"]


def test_an_edit_of_a_file_that_the_other_one_moved_is_held(team: Team) -> None:
    old = team.tool.blame(PATH).id
    ann = team.works("ann", rename(PATH, "/memories/new.md"))
    bob = team.works("bob", str_replace(PATH, "Friday", "Sunday"))
    assert [len(branch.merge().held()) for branch in (ann, bob)] == [0, 1]
    assert team.lines("/memories/new.md") == TEXT.split("\n")
    assert answer(team.tool, view(PATH)).startswith("error")
    versions = {(each.agent_id, each.reason) for each in team.memory.history(old).versions}
    assert ("ann", f"renamed {PATH} to /memories/new.md") in versions
    (held,) = team.memory.held()
    held.decide("theirs")
    assert team.lines()[0] == "Oil: Sunday."


def test_a_directory_that_one_moves_and_the_other_adds_to_loses_no_file(team: Team) -> None:
    ann = team.works("ann", rename("/memories/notes", "/memories/old"))
    bob = team.works("bob", create("/memories/notes/b", "bob"))
    for branch in (ann, bob):
        branch.merge()
    assert team.lines("/memories/notes/b") == ["bob"]
    assert team.lines("/memories/old/lathe.md") == TEXT.split("\n")
    assert answer(team.tool, delete("/memories/notes")).startswith("Successfully")


def test_a_name_that_one_gives_a_file_and_the_other_a_directory_means_the_file(team: Team) -> None:
    for branch in (
        team.works("ann", create("/memories/x", "file")),
        team.works("bob", create("/memories/x/y", "below")),
    ):
        branch.merge()
    assert answer(team.tool, view("/memories")).split("\n")[4:] == [
        "4B\t/memories/x", "5B\t/memories/x/", "5B\t/memories/x/y"
    ]  # fmt: skip
    assert team.lines("/memories/x") == ["file"]
    assert team.lines("/memories/x/y") == ["below"]
    for _ in range(2):
        assert answer(team.tool, delete("/memories/x")).startswith("Successfully")
    assert answer(team.tool, view("/memories/x")).startswith("error")
