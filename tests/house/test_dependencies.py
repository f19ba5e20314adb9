"""What is imported is declared: another package's own dependencies may go with its next version.

CI asks deptry about `day1`. It reads neither tests nor scripts without a suffix: these are read here.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
PAGE = (ROOT / "docs" / "dependencies.md").read_text("utf-8")

TESTED = {*PROJECT["dependencies"], *EXTRAS["servers"], *EXTRAS["test"]}
OWN = {"day1", "tests", "api_snapshot", "benchmarks", "mutation_score", "story_agents", "story"}


def name(text: str) -> str:
    """The package of a requirement, as an index compares names."""
    return re.sub(r"[-_.]+", "-", re.split(r"[<>=!~;\[ ]", text, maxsplit=1)[0]).lower()


def programs(folder: Path) -> Iterator[Path]:
    """Python by its suffix or by its first line; foreign clients have environments of their own."""
    for path in sorted(folder.rglob("*")):
        ours = path.is_file() and path.parent != ROOT / "tests" / "foreign"
        if ours and (
            path.suffix == ".py" or path.read_bytes().startswith(b"#!/usr/bin/env python")
        ):
            yield path


def imported(path: Path) -> set[str]:
    """The modules that a file imports anywhere, by their first names."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    plain = {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
    chosen = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    return {module.partition(".")[0] for module in plain | chosen}


def packages(*folders: str) -> dict[str, str]:
    """Package -> a file that imports it; neither Python's own nor ours.

    Of several packages that share a module's name, those that are declared bring it.
    """
    of, declared = packages_distributions(), {name(one) for one in TESTED}
    found = {}
    for path in (one for folder in folders for one in programs(ROOT / folder)):
        for module in imported(path) - sys.stdlib_module_names - OWN - {"_typeshed"}:
            owners = of.get(module, [module])
            for package in [each for each in owners if name(each) in declared] or owners:
                found[name(package)] = str(path.relative_to(ROOT))
    return found


def test_every_package_that_scripts_and_tests_import_is_declared():
    """D2: httpx, anyio, markupsafe and mcp_types came with others only."""
    names = {name(one) for one in TESTED}
    found = packages("scripts", "tests")
    assert not {what: where for what, where in found.items() if what not in names}


def test_the_page_has_every_dependency_with_its_range_and_reason():
    rows = re.findall(r"^\| ([\w.-]+) \| (?:exactly )?([\d.<>=,]+) \| (.+) \|$", PAGE, re.MULTILINE)
    ranges = {
        name(one): one[len(name(one)) :].removeprefix("==") for one in PROJECT["dependencies"]
    }
    assert {name(package): span for package, span, _ in rows} == ranges
    for extra, wanted in EXTRAS.items():
        assert f"Extra `{extra}`" in PAGE
        for one in wanted:
            assert re.search(rf"\b{name(one)}\b", PAGE, re.IGNORECASE), one
