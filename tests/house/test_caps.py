"""Files, functions and packages stay small enough to be read, and exceptions have reasons."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
FILE_LINES, FUNCTION_LINES, ARGUMENTS, MODULES = 400, 60, 5, 12

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _files(*folders: str) -> Iterator[tuple[str, str]]:
    """The Python files below folders, those without a suffix too, with their text."""
    listed = subprocess.check_output(["git", "ls-files", *folders], cwd=HERE, text=True)
    for name in listed.splitlines():
        path = HERE / name
        if not path.is_file() or path.suffix not in {".py", ""}:
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix or "python" in text.partition("\n")[0]:
            yield name, text


@cache
def _functions() -> list[tuple[str, Function]]:
    """Every function and method of day1, with the name of its file and its own."""
    return [
        (f"{name} {node.name}", node)
        for name, text in _files("day1")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, Function)
    ]


def test_no_file_is_longer_than_400_lines() -> None:
    longer = {n for n, text in _files("day1", "tests", "scripts") if text.count("\n") > FILE_LINES}
    assert longer == set()


def test_no_function_is_longer_than_60_lines() -> None:
    longer = {
        name
        for name, node in _functions()
        if (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES
    }
    assert longer == set()


def test_no_function_takes_more_than_5_arguments() -> None:
    def count(node: Function) -> int:
        given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        return sum(one.arg not in {"self", "cls"} for one in given)

    assert {name for name, node in _functions() if count(node) > ARGUMENTS} == set()


def test_no_package_of_services_or_model_has_more_than_12_modules() -> None:
    modules = Counter(
        str(Path(name).parent)
        for name, _ in _files("day1/services", "day1/model")
        if Path(name).name != "__init__.py"
    )
    assert {package: n for package, n in modules.items() if n > MODULES} == {}


def test_every_line_that_a_check_skips_says_why() -> None:
    skipped = re.compile(r"# (?:noqa|type: ignore|pyright: ignore|pragma: no cover)\b.*")
    reason = re.compile(r"noqa: [A-Z0-9, ]+ - \w|(?:ignore\[[^]]+\]|cover)  # \w")
    without = [
        f"{name}:{number}: {found[0]}"
        for name, text in _files("day1", "tests", "scripts")
        for number, line in enumerate(text.splitlines(), 1)
        if (found := skipped.search(line)) and not reason.search(found[0])
    ]
    assert without == []
