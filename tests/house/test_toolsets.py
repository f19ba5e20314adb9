"""What names every toolset by hand names those that there are."""

import re
import tomllib
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

from day1 import toolsets
from day1.call.toolset import Toolset
from day1.toolsets.combined import SHARED, combined
from day1.toolsets.day1.core import CORE
from day1.toolsets.engram import ENGRAM
from day1.toolsets.over_http import TOOLSETS

ROOT = Path(__file__).parents[2]
PACKAGES = ROOT / "day1" / "toolsets"


def contracts() -> dict[str, dict[str, list[str]]]:
    """The contracts of import-linter by their names."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {one["name"]: one for one in settings["tool"]["importlinter"]["contracts"]}


def test_the_page_of_toolsets_counts_the_tools_of_each_one_and_each_list() -> None:
    page = (ROOT / "docs" / "toolsets.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w,]+)` \|.*\| (\d+) \| [\d,]+ \|$", page, re.MULTILINE)
    names = {name for choice, _ in rows for name in choice.split(",")}
    served = {name for name, toolset in TOOLSETS.items() if "mcp" in toolset.wires}
    assert names == {*served, *TOOLSETS.lists}
    assert {c: int(count) for c, count in rows} == {c: len(TOOLSETS.choose(c)) for c, _ in rows}


def test_every_package_of_a_toolset_is_a_stranger_to_the_others() -> None:
    modules = contracts()["Toolsets are strangers to one another"]["modules"]
    packages = {
        module.name
        for module in walk_packages(toolsets.__path__, "day1.toolsets.")
        for member in vars(import_module(module.name)).values()
        if module.ispkg and any(member is toolset for toolset in TOOLSETS.values())
    }
    assert len(packages) == len(TOOLSETS)
    assert {*modules} == packages


def test_what_toolsets_share_knows_none_of_them() -> None:
    forbidden = contracts()["What toolsets share knows none of them"]["forbidden_modules"]
    packages = {init.parent.name for init in PACKAGES.glob("*/__init__.py")} - {"shared"}
    assert {*forbidden} == {f"day1.toolsets.{name}" for name in packages}


@pytest.mark.parametrize(
    "decided",
    [SHARED.tools, {**SHARED.tools, **dict.fromkeys(("memory_consolidate", "memory_judge"))}],
)
def test_a_shared_name_is_decided_and_no_other(decided: dict[str, object]) -> None:
    both: tuple[Toolset, ...] = (CORE, ENGRAM)
    with pytest.raises(ValueError, match=r"memory_consolidate|memory_judge"):
        combined(both, decided)  # type: ignore[arg-type]  # no tool is looked at
