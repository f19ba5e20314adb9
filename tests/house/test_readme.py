"""The README's session is what the commands really print, and its blocks are what they claim."""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house.console import blocks, plain, run_session

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")


needs_model = pytest.mark.skipif(
    not os.environ.get("DAY1_EMBEDDER__MODEL_DIR"), reason="no model: set DAY1_EMBEDDER__MODEL_DIR"
)


@needs_model
def test_the_session_prints_what_the_readme_says(tmp_path):
    (session,) = blocks(README, "console")
    assert plain(run_session(session, tmp_path / "team")) == plain(session.strip())


@needs_model
def test_the_tutorial_prints_what_it_says(tmp_path):
    session = "".join(blocks((ROOT / "docs" / "tutorial.md").read_text("utf-8"), "console"))
    assert plain(run_session(session, tmp_path / "shop")) == plain(session.strip())


def test_the_configuration_is_json_and_names_a_real_command():
    (configuration,) = blocks(README, "json")
    server = json.loads(configuration)["mcpServers"]["day1"]
    assert (server["command"], server["args"][0]) == ("day1", "mcp")


def test_the_readme_says_how_to_install_the_package_that_this_is():
    """D4: there was no install line."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lines = [line.split("#") for block in blocks(README, "sh") for line in block.splitlines()]
    told = {line[0].strip(): line[1].split()[:2] for line in lines if "install" in line[0]}
    ways = ("pip install", "pipx install", "uv tool install")
    assert [told[f"{way} {project['name']}"] for way in ways] == [["or", "."]] * len(ways)
    extras = re.findall(r"'(?:\.|day1)\[(\w+)\]'", README)
    assert extras
    assert set(extras) <= set(project["optional-dependencies"])
    assert project["requires-python"] == ">=3.11"
    assert "Python 3.11 or later" in README


def test_the_first_search_takes_five_lines(tmp_path):
    (first,) = (block for block in blocks(README, "sh") if block.startswith("day1 init"))
    commands = [shlex.split(line, comments=True) for line in first.splitlines()]
    assert len(commands) == 5
    environment = {**os.environ, "DAY1_HOME": str(tmp_path / "store"), "PYTHONPATH": str(ROOT)}
    for _, *arguments in (each for each in commands if each[1] not in {"model", "setup"}):
        done = subprocess.run(
            [sys.executable, "-m", "day1", *arguments],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
    assert "The deploy job needs 4 GB of memory" in done.stdout  # type: ignore[possibly-undefined]  # of five


def test_every_tool_of_the_readme_exists():
    from day1.toolsets import operations

    names = {operation.name for operation in operations("core,review")}
    names |= {operation.name for operation in operations("kompanion")}
    names |= {operation.name for operation in operations("engram")}
    named = set(re.findall(r"`(memory_\w+)`", README))
    assert named <= names
    short = {f"memory_branch{name}" for name in re.findall(r"`(_\w+)`", README)}
    assert short - {"memory_branch_create"} <= names


def test_every_link_of_the_documentation_leads_somewhere():
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]*)?\)", text):
            if not link.startswith(("http://", "https://")):
                assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_commands_of_the_readme_have_the_options_it_shows():
    from click.testing import CliRunner

    from day1.interfaces.cli.main import day1

    for line in re.findall(r"^day1 (.+)$", README, re.MULTILINE):
        words = shlex.split(line, comments=True)
        command = [words[0], words[1]] if words[0] in {"token", "import", "model"} else words[:1]
        shown = CliRunner().invoke(day1, [*command, "--help"]).output
        for option in (word for word in words if word.startswith("-")):
            assert option in shown, line


def test_every_dependency_has_its_reason():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    reasons = (ROOT / "docs" / "dependencies.md").read_text("utf-8")
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    for name in (re.split(r"[<>=]", each)[0] for each in wanted):
        assert re.search(rf"\b{name}\b", reasons), name
