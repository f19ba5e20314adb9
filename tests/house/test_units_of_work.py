"""A service function is one unit of work: what stands above the services opens none."""

import ast
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
UNITS = {"adding", "changing"}
"""What `Store` calls its units of work."""


def test_no_toolset_opens_a_unit_of_work() -> None:
    opened = [
        f"{path.relative_to(HERE)}:{line}"
        for folder in ("call", "toolsets")
        for path in (HERE / "day1" / folder).rglob("*.py")
        for line in _units(path)
    ]
    assert not opened


def _units(path: Path) -> Iterator[int]:
    """The lines of a file that open a unit of work."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in UNITS:
            yield node.lineno
