"""Skills say what is there: each tool by its name, and commands that run as they are written."""

import re
import shlex
from pathlib import Path

import pytest
import yaml

from day1.toolsets import TOOLSETS
from tests.wires.command_line import CommandLine

FOLDER = Path(__file__).resolve().parents[2] / "day1" / "skills"
SKILLS = sorted(FOLDER.glob("*/SKILL.md"))
CODE = re.compile(r"`([a-z_]+)`")


def test_there_are_three_and_nothing_else() -> None:
    assert [path.parent.name for path in SKILLS] == [
        "day1-handoff", "day1-memory", "day1-merge-review",
    ]  # fmt: skip
    assert {path for path in FOLDER.rglob("*") if path.is_file()} == set(SKILLS)


@pytest.mark.parametrize("path", SKILLS, ids=lambda path: path.parent.name)
def test_a_skill_is_as_the_open_format_has_it(path: Path) -> None:
    text = path.read_text("utf-8")
    empty, head, body = text.split("---\n", 2)
    fields = yaml.safe_load(head)
    assert (empty, list(fields)) == ("", ["name", "description"])
    assert fields["name"] == path.parent.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fields["name"])
    assert len(fields["name"]) <= 64
    assert 0 < len(fields["description"]) <= 1_024
    assert body.count("\n") < 70, "an agent reads all of it"


@pytest.mark.parametrize("path", SKILLS, ids=lambda path: path.parent.name)
def test_every_tool_and_argument_that_a_skill_names_is_there(path: Path) -> None:
    text = path.read_text("utf-8")
    named = set(CODE.findall(text)) & TOOLSETS.tools.keys()
    assert len(named) >= 5
    known = {
        word
        for name in named
        for model in (
            TOOLSETS.tools[name].operation.request,
            TOOLSETS.tools[name].operation.response,
        )
        for word in re.findall(r"\w+", repr(model.model_json_schema()))
    }
    unknown = set(CODE.findall(text)) - known - named - {"main", "plan_changed"}
    assert not unknown, "neither a tool, nor what one of these takes or answers"


def commands(path: Path) -> list[list[str]]:
    text = path.read_text("utf-8")
    lines = [
        line
        for block in re.findall("```sh\n(.*?)```", text, re.DOTALL)
        for line in block.splitlines()
    ]
    assert lines
    assert all(line.startswith("day1 ") for line in lines)
    return [shlex.split(line)[1:] for line in lines]


@pytest.fixture
def day1(tmp_path: Path) -> CommandLine:
    """A store with a branch that disagrees with main about one fact."""
    cli = CommandLine(tmp_path)
    cli("init")
    fact = cli.json("add", "The export job needs 2 GB.")["id"]
    cli("branch", "task/x")
    for branch, size in (("task/x", 4), ("main", 3)):
        cli("edit", fact, f"The export job needs {size} GB.", "--branch", branch)
    cli.env["FACT"] = fact
    return cli


@pytest.mark.parametrize("path", SKILLS, ids=lambda path: path.parent.name)
def test_the_commands_of_a_skill_run_one_after_the_other(path: Path, day1: CommandLine) -> None:
    given = {"ID:fact_text=theirs": f"{day1.env['FACT']}:fact_text=theirs"}
    for command in commands(path):
        words = [given.get(word, word) for word in command]
        if words[:2] == ["review", "merge"]:
            given["MERGE"] = day1.json(*words)["merge_id"]
        elif words[:2] == ["handoff", "create"]:
            given["HANDOFF"] = day1.json(*words)["handoff_id"]
        else:
            day1(*words)
