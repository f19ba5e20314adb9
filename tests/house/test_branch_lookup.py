"""A call looks its branch up by name once: services and toolsets take the branch itself."""

import ast
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
LOOKUP = "day1.services.branches.lookup"

MAY = {
    "day1/services/access/calls.py": "a call names its branch",
    "day1/services/sharing/bundles.py": "main is always meant by its name",
    "day1/services/exchange/own_import.py": "an export names the branches of its rows",
    "day1/services/health/doctor.py": "a repair goes through the names of all refs",
}
"""Who may look a branch up by its name, and why."""


def test_only_what_is_given_a_name_looks_a_branch_up_by_it() -> None:
    found = {
        str(path.relative_to(HERE))
        for folder in ("services", "toolsets")
        for path in (HERE / "day1" / folder).rglob("*.py")
        if _imported(path) & {"find", "lookup"}
    }
    assert found == set(MAY)


def _imported(path: Path) -> set[str]:
    """The names that a file imports from the module of look-ups, or the module itself."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            given = {alias.name for alias in node.names}
            names |= given if node.module == LOOKUP else given & {"lookup"}
        elif isinstance(node, ast.Import):
            names |= {"lookup" for alias in node.names if alias.name == LOOKUP}
    return names
