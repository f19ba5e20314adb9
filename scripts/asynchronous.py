#!/usr/bin/env python3
"""Write the library's classes for asyncio from the others; with --check, only compare.

A method that calls an operation, or another such method, becomes a coroutine, and awaits it there.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "day1" / "interfaces" / "python"
TARGET = SOURCE / "asynchronous"
PACKAGE = "day1.interfaces.python"
MODULES = (
    "batching",
    "branch",
    "keyed",
    "memory",
    "merging",
    "past",
    "reading",
    "reviewing",
    "tracing",
    "writing",
)
BY_HAND = {"Handle": "handle", "Calls": "calls"}
"""Names whose class for asyncio is written by hand, and its module."""
ASKING = {"_ask", "_ask_plainly"}
"""The methods that call an operation."""
ENTERING = {"__enter__": "__aenter__", "__exit__": "__aexit__"}
HEAD = "# Written by scripts/asynchronous.py: do not edit."
REWORDED = {
    "`with` block": "`async with` block",
    "Threads may share it": "Tasks may share it",
    "`day1.connect` makes one": "`day1.aconnect` makes one",
}
"""What the texts say of asyncio."""

Edit = tuple[int, int, str]
"""From one place of the text to another: the new text."""


def main() -> int:
    """Write, or compare and say what differs."""
    stale_files = []
    for name, text in generated().items():
        path = TARGET / f"{name}.py"
        if path.exists() and path.read_text("utf-8") == text:
            continue
        stale_files.append(path.relative_to(ROOT))
        if "--check" not in sys.argv:
            path.write_text(text, "utf-8")
    for path in stale_files:
        print(f"{'out of date' if '--check' in sys.argv else 'wrote'}: {path}")
    return 1 if stale_files and "--check" in sys.argv else 0


def generated() -> dict[str, str]:
    """Each module's text."""
    texts = {name: (SOURCE / f"{name}.py").read_text("utf-8") for name in MODULES}
    trees = {name: ast.parse(text) for name, text in texts.items()}
    asking = _asking([method for tree in trees.values() for method in _methods(tree)])
    modules = {**BY_HAND, **{c.name: name for name, tree in trees.items() for c in _classes(tree)}}
    return {
        name: _formatted(_Module(texts[name], trees[name], asking, modules).text())
        for name in MODULES
    }


def _classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in tree.body if isinstance(node, ast.ClassDef)]


def _methods(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from (part for part in node.body if isinstance(part, ast.FunctionDef))


def _asking(methods: list[ast.FunctionDef]) -> set[str]:
    """The names of the methods that ask, directly or by another method."""
    asking = {*ASKING, "close"}
    while True:
        more = {m.name for m in methods if any(_is_asking(node, asking) for node in ast.walk(m))}
        if more <= asking:
            return asking
        asking |= more


def _is_asking(node: ast.AST, asking: set[str]) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in asking
        and not (isinstance(node.func.value, ast.Name) and node.func.value.id.isupper())  # a table
    )


class _Module:
    """One module, and the edits that make it asynchronous."""

    def __init__(
        self, text: str, tree: ast.Module, asking: set[str], homes: dict[str, str]
    ) -> None:
        self._text, self._tree, self._asking, self._homes = text, tree, asking, homes
        self._lines = [0]
        for line in text.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line.encode()))

    def text(self) -> str:
        """The module's text for asyncio."""
        text = self._text.encode()
        for start, end, new in sorted(self._edits(), reverse=True):
            text = text[:start] + new.encode() + text[end:]
        whole_text = text.decode()
        for word, other in REWORDED.items():
            whole_text = whole_text.replace(word, other)
        return f"{HEAD}\n{whole_text}"

    def _edits(self) -> Iterator[Edit]:
        for part in self._tree.body:
            if isinstance(part, ast.FunctionDef):  # it asks nothing: the other module has it
                yield self._place(part), self._end(part), ""
        parents = {c: p for p in ast.walk(self._tree) for c in ast.iter_child_nodes(p)}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.ImportFrom):
                yield from self._imports(node)
            elif isinstance(node, ast.ClassDef):
                start = self._place(node) + len("class ")
                yield start, start + len(node.name), f"Async{node.name}"
            elif isinstance(node, ast.Name) and node.id in self._homes:
                yield self._place(node), self._end(node), f"Async{node.id}"
            elif _is_asking(node, self._asking):
                yield from self._awaited(node, parents[node])
        for method in _methods(self._tree):
            yield from self._defined(method)

    def _imports(self, node: ast.ImportFrom) -> Iterator[Edit]:
        """Import classes for asyncio from their own modules, and the rest as it is."""
        if not (node.module or "").startswith(f"{PACKAGE}."):
            return
        lines = []
        for alias in node.names:
            module = self._homes.get(alias.name)
            if module is None:
                lines.append(f"from {node.module} import {alias.name}")
            else:
                lines.append(f"from {PACKAGE}.asynchronous.{module} import Async{alias.name}")
        separator = "\n" + " " * node.col_offset
        yield self._place(node), self._end(node), separator.join(lines)

    def _awaited(self, node: ast.AST, parent: ast.AST) -> Iterator[Edit]:
        is_accessed = isinstance(parent, ast.Attribute | ast.Subscript)
        yield self._place(node), self._place(node), "(await " if is_accessed else "await "
        if is_accessed:
            yield self._end(node), self._end(node), ")"

    def _defined(self, method: ast.FunctionDef) -> Iterator[Edit]:
        entering = ENTERING.get(method.name)
        is_asking = any(_is_asking(node, self._asking) for node in ast.walk(method))
        if not is_asking and entering is None:
            return
        start = self._place(method)
        end = start + len(f"def {method.name}")
        yield start, end, f"async def {entering or method.name}"

    def _place(self, node: ast.AST) -> int:
        line: int = node.lineno  # type: ignore[attr-defined]  # an expression has a place
        column: int = node.col_offset  # type: ignore[attr-defined]  # an expression has a place
        return self._lines[line - 1] + column

    def _end(self, node: ast.AST) -> int:
        line: int = node.end_lineno  # type: ignore[attr-defined]  # an expression has a place
        column: int = node.end_col_offset  # type: ignore[attr-defined]  # an expression has a place
        return self._lines[line - 1] + column


def _formatted(text: str) -> str:
    """The text in the house's format, with its imports in order and none that is not used."""
    name = ["--stdin-filename", str(TARGET / "generated.py")]
    for command in (["check", "--select", "I,F401", "--fix", "--quiet"], ["format", "--quiet"]):
        formatted = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *name, "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        text = formatted.stdout
    return text


if __name__ == "__main__":
    sys.exit(main())
