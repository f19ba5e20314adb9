"""A column that is added to a kind in one place is found wherever rows are known."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import day1
from tests.wires.http_server import HttpServer
from tests.wires.mcp_session import environment
from tests.wires.scriptless_browser import Browser

ROOT = Path(__file__).parents[2]
CELL = (
    'Column("mood", indexed=True, facet=True, claimed=True, given=True, main=True, '
    'redacted="with_row"),'
)
"""The one line: a cell of its own, with all that can be said of a column."""


def with_one_more_cell(source: str) -> str:
    """The source of the kinds, in which facts have the new cell before that of confidence."""
    tree = ast.parse(source)
    (made,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "FACT"
    )
    assert isinstance(made, ast.Call)
    (cells,) = (argument for argument in made.args if isinstance(argument, ast.Tuple))
    columns = [ast.unparse(cell) for cell in cells.elts]
    (place,) = (n for n, column in enumerate(columns) if "'confidence'" in column)
    cells.elts.insert(place, ast.parse(CELL, mode="eval").body)
    return ast.unparse(tree)


class Grown(NamedTuple):
    """day1 with one more column of facts, and a store that has values in it."""

    package: Path
    folder: Path
    fact: str
    other: str
    """A fact that will be redacted."""
    answers: dict[str, Any]
    """What tools said, by name."""
    page: str
    """The page of the fact."""
    form: str
    """The page of a review, where the fact conflicts."""

    def run(self, *arguments: str, folder: Path | None = None) -> str:
        """Run Python with this day1 on a store."""
        paths = os.pathsep.join(map(str, (self.package, ROOT)))
        env = {**os.environ, **environment(folder or self.folder, PYTHONPATH=paths)}
        command, cwd = [sys.executable, *arguments], self.folder.parent
        done = subprocess.run(
            command, env=env, cwd=cwd, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def served(folder: Path, package: Path) -> HttpServer:
    """A server of a store by another day1 than this one."""
    server = HttpServer(folder, PYTHONPATH=str(package), DAY1_HTTP__RATE="0")
    server.command = [sys.executable]
    return server


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Grown:
    place = tmp_path_factory.mktemp("grown")
    package, folder = place / "package", place / "store"
    shutil.copytree(
        Path(str(day1.__file__)).parent,
        package / "day1",
        ignore=shutil.ignore_patterns("*.pyc.*"),  # half-written ones of other processes
    )
    kinds = package / "day1/model/rows/kind.py"
    kinds.write_text(with_one_more_cell(kinds.read_text()))
    with served(folder, package) as server:
        fact = server.ok("memory_write_fact", fact_text="The gate is green.")["id"]
        other = server.ok("memory_write_fact", fact_text="The gate is old.")["id"]
        _set(server, "main", fact, "calm", agent_id="ada")
        _set(server, "main", other, "angry", agent_id="ada")
        server.ok("memory_branch_create", branch_name="side")
        _set(server, "main", fact, "glad", agent_id="ada")
        _set(server, "side", fact, "sad", agent_id="bob")
        sides = {"source_branch": "side", "target_branch": "main"}
        answers = {"diff": server.ok("memory_branch_diff", **sides)}
        opened = server.ok("review_open", **sides)
        with Browser(server) as browser:
            form = browser.get(f"/review/reviews/{opened['id']}").html
        choice = {"id": fact, "cell": "mood", "take": "theirs"}
        answers["merge"] = server.ok(
            "memory_branch_merge", **sides, strategy="auto", choices=[choice]
        )
        answers["get"] = server.ok("memory_get", id=fact)["row"]
        answers["list"] = server.ok("memory_list", type="fact")["rows"]
        answers["history"] = server.ok("memory_history", id=fact)["versions"]
        answers["blame"] = server.ok("memory_blame", id=fact)["cells"]
        with Browser(server) as browser:
            page = browser.get(f"/review/rows/{fact}").text
    return Grown(package, folder, fact, other, answers, page, form)


def _set(server: HttpServer, branch: str, fact: str, mood: str, **who: str) -> None:
    """Give a fact a mood on a branch: whoever decides a merge may set what the kind says."""
    server.ok("memory_branch_create", branch_name=f"{branch}-{mood}", parent_branch=branch)
    server.ok("memory_update_fact", fact_id=fact, category=mood, branch=f"{branch}-{mood}")
    server.ok(
        "memory_branch_merge",
        source_branch=f"{branch}-{mood}",
        target_branch=branch,
        strategy="auto",
        choices=[{"id": fact, "cell": "mood", "take": "value", "value": {"mood": mood}}],
        **who,
    )


def test_a_new_column_is_in_its_table_in_search_and_in_what_importers_claim(grown: Grown) -> None:
    arguments = (str(grown.folder), "mood", "sad")
    found = json.loads(grown.run("-m", "tests.house.searching_by_a_column", *arguments))
    assert found["table"].index("mood") == found["table"].index("confidence") - 1
    assert "facts_mood" in found["indexes"]
    assert "mood" in found["facets"]
    assert "mood" in found["claimed"]
    assert found["found"] == [grown.fact], "search narrows by it"


def test_a_new_column_is_a_cell_of_diffs_and_merges(grown: Grown) -> None:
    (conflict,) = [c for c in grown.answers["diff"]["conflicts"] if c["cell"] == "mood"]
    assert (conflict["source"], conflict["target"]) == ("sad", "glad")
    (changed,) = grown.answers["diff"]["changed"]
    assert (changed["before"]["mood"], changed["after"]["mood"]) == ("calm", "sad")
    assert [c["cell"] for c in grown.answers["merge"]["conflicts"]] == ["category"]
    assert 'name="v.mood"' in grown.form, "a reviewer may give a value of their own"


def test_a_new_column_is_in_what_tools_and_pages_show(grown: Grown) -> None:
    assert grown.answers["get"]["mood"] == "sad"
    assert {row["id"]: row["mood"] for row in grown.answers["list"]} == {
        grown.fact: "sad",
        grown.other: "angry",
    }
    moods = {version["row"]["mood"] for version in grown.answers["history"]}
    assert moods == {None, "calm", "glad", "sad"}
    (cell,) = [cell for cell in grown.answers["blame"] if cell["cell"] == "mood"]
    assert (cell["value"], cell["agent_id"]) == ({"mood": "sad"}, "bob")
    assert "mood" in grown.page
    assert "sad" in grown.page


def test_a_new_column_goes_along_to_other_stores(grown: Grown, tmp_path: Path) -> None:
    lines, again = tmp_path / "lines.jsonl", tmp_path / "again.jsonl"
    grown.run("-m", "day1", "export", "-o", str(lines))
    rows = [json.loads(line) for line in lines.read_bytes().splitlines()]
    assert {row["mood"] for row in rows if row.get("kind") == "facts"} == {"sad", "angry"}
    grown.run("-m", "day1", "import", "jsonl", str(lines), folder=tmp_path / "imported")
    grown.run("-m", "day1", "export", "-o", str(again), folder=tmp_path / "imported")
    assert again.read_bytes() == lines.read_bytes()
    grown.run("-m", "day1", "copy", str(grown.folder), str(tmp_path / "copied"))
    show = ("-m", "day1", "show", grown.fact, "--json")
    assert json.loads(grown.run(*show, folder=tmp_path / "copied"))["mood"] == "sad"


def test_a_new_column_is_redacted_with_its_row(grown: Grown) -> None:
    with served(grown.folder, grown.package) as server:
        before = server.ok("memory_get", id=grown.other)["row"]
        server.ok("memory_redact", id=grown.other, confirm=grown.other)
        after = server.ok("memory_get", id=grown.other)["row"]
    assert (before["mood"], after["mood"]) == ("angry", "[redacted]")
