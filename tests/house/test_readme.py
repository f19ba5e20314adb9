"""The README's session is what the commands really print, and its blocks are what they claim."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def plain(text: str) -> str:
    """Without what differs from run to run: ids, commits, times, folders, scores."""
    text = re.sub(r"fact_[0-9A-Z]{8,}", "fact_ID", text)
    text = re.sub(r"\b[0-9a-f]{8}\b", "COMMIT", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "TIME", text)
    text = re.sub(r"\d{4}-\d\d-\d\d", "DATE", text)
    text = re.sub(r"^\d\.\d\d\t", "SCORE\t", text, flags=re.MULTILINE)
    return re.sub(r"store in .*", "store in FOLDER", text)


@pytest.mark.skipif(
    not os.environ.get("DAY1_EMBEDDER__MODEL_DIR"), reason="no model: set DAY1_EMBEDDER__MODEL_DIR"
)
def test_the_session_prints_what_the_readme_says(tmp_path):
    (session,) = blocks("console")
    environment = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    environment.pop("DAY1_HOME", None)
    folder = tmp_path / "team"
    folder.mkdir()
    printed = []
    for line in session.splitlines():
        if not line.startswith("$ "):
            continue
        _, *arguments = shlex.split(line[2:])
        done = subprocess.run(
            [sys.executable, "-m", "day1", *arguments],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        printed += [line, *done.stdout.splitlines()]
    assert plain("\n".join(printed)) == plain(session.strip())


def test_the_configuration_is_json_and_names_a_real_command():
    (configuration,) = blocks("json")
    server = json.loads(configuration)["mcpServers"]["day1"]
    assert (server["command"], server["args"][0]) == ("day1", "mcp")


def test_every_tool_of_the_readme_exists():
    from day1.toolsets import operations

    names = {operation.name for operation in operations("core,review")}
    named = set(re.findall(r"`(memory_\w+)`", README))
    assert named <= names
    short = {f"memory_branch{name}" for name in re.findall(r"`(_\w+)`", README)}
    assert short - {"memory_branch_create"} <= names
