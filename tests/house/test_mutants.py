"""The faults of `scripts/mutants` can still be made, and the tests that must see them exist."""

import ast
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
AREAS = [
    tomllib.loads(file.read_text(encoding="utf-8"))
    for file in sorted((ROOT / "scripts" / "mutants.d").glob("*.toml"))
]
MUTANTS = {name: fault for area in AREAS for name, fault in area.items()}


MOST = 200
"""What an operator makes is left to `scripts/mutmut`, so the list stays short."""


def test_there_are_enough_faults_and_not_too_many_and_each_has_its_own_name():
    assert 40 <= len(MUTANTS) == sum(map(len, AREAS)) <= MOST


def test_every_fault_stands_in_one_place_and_leaves_a_program():
    stale = []
    for name, fault in MUTANTS.items():
        text = (ROOT / fault["file"]).read_text(encoding="utf-8")
        if text.count(fault["old"]) != 1:
            stale.append(name)
        if fault["file"].endswith(".py"):
            compile(text.replace(fault["old"], fault["new"]), name, "exec")
    assert stale == []


def test_every_test_of_a_fault_exists():
    missing = []
    for name, fault in MUTANTS.items():
        assert fault["tests"], name
        for test in fault["tests"]:
            path, _, rest = test.partition("::")
            if rest.partition("[")[0] not in names_in(path):
                missing.append((name, test))
    assert missing == []


@cache
def names_in(path: str) -> frozenset[str]:
    """The tests of a file as pytest names them, with those that its classes inherit."""
    names = set()
    for node in parsed(path).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= {f"{node.name}::{method}" for method in methods(path, node.name)}
    return frozenset(names)


def methods(path: str, name: str) -> set[str]:
    """The methods of a class, its base classes' among them, wherever under `tests` they are."""
    origin = path
    for node in parsed(path).body:
        if isinstance(node, ast.ImportFrom) and name in {alias.name for alias in node.names}:
            origin = f"{str(node.module).replace('.', '/')}.py"
    if not origin.startswith("tests/"):
        return set()
    if origin != path:
        return methods(origin, name)
    found: set[str] = set()
    for node in parsed(path).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            found |= {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            for base in node.bases:
                found |= methods(path, base.id) if isinstance(base, ast.Name) else set()
    return found


@cache
def parsed(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))
