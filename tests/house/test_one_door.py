"""A command reaches the store through operations and readings; local maintenance alone writes."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
COMMAND_LINE = HERE / "day1" / "interfaces" / "cli"
WRITES = {
    *("adding", "changing", "sealed", "commit_pending", "repeat"),  # units of work of a store
    *("put", "put_branch", "remove_branch", "swap", "set_head"),  # records of a ledger
    *("open_intent", "fork", "drop", "tag"),  # refs of a history
}
"""Methods of ports that write."""

Name = tuple[str, str]
"""A module, and what it defines."""


@cache
def tree_of(module: str) -> ast.Module:
    path = HERE.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(file.read_text("utf-8"))


@cache
def imports_of(module: str) -> dict[str, Name]:
    """What a module imports from services, by the name that it has there."""
    found = {}
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("day1.services"):
            for alias in node.names:
                found[alias.asname or alias.name] = (str(node.module), alias.name)
    return found


def is_module(name: Name) -> bool:
    return HERE.joinpath(*".".join(name).split(".")).with_suffix(".py").exists()


def definition(name: Name) -> ast.AST | None:
    """The function or class of a name; None for another kind of value."""
    kinds = (ast.FunctionDef, ast.ClassDef)
    for node in tree_of(name[0]).body:
        if isinstance(node, kinds) and node.name == name[1]:
            return node
    return None


def used(module: str, part: ast.AST) -> Iterator[Name]:
    """What a part of a module uses of services, its own module's definitions too."""
    imported = imports_of(module)
    for node in ast.walk(part):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            origin = imported.get(node.value.id)
            if origin is not None and is_module(origin):
                yield ".".join(origin), node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            name = imported.get(node.id, (module, node.id))
            if not is_module(name):
                yield name


def writes_itself(part: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in WRITES
        and last_name(node.func.value).lstrip("_") in {"store", "ledger", "history"}
        for node in ast.walk(part)
    )


def last_name(part: ast.expr) -> str:
    """`ledger` of `repo.ledger`, and of `ledger`."""
    return part.attr if isinstance(part, ast.Attribute) else getattr(part, "id", "")


def writer_behind(name: Name) -> Name | None:
    """The first function that writes among what a service function calls; None if none does."""
    waiting, seen = [name], {name}
    while waiting:
        one = waiting.pop()
        part = definition(one)
        if part is None:
            continue
        if writes_itself(part):
            return one
        new = {other for other in used(one[0], part) if other[0].startswith("day1.services")}
        waiting += sorted(new - seen)
        seen |= new
    return None


def modules(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.py")):
        if path.name != "__init__.py":
            yield ".".join(path.relative_to(HERE).with_suffix("").parts)


def doors(module: str) -> dict[Name, Name]:
    """What a module of the command line uses that writes, and what it writes by."""
    tree = tree_of(module)
    found = {
        name: writer
        for name in used(module, tree)
        if name[0].startswith("day1.services") and (writer := writer_behind(name)) is not None
    }
    return {**found, (module, "itself"): (module, "itself")} if writes_itself(tree) else found


def test_only_local_maintenance_writes_past_the_operations() -> None:
    past = {module: found for module in modules(COMMAND_LINE) if (found := doors(module))}
    assert past, "local maintenance writes"
    maintenance = "day1.interfaces.cli.maintenance."
    assert {m: d for m, d in past.items() if not m.startswith(maintenance)} == {}


def test_a_writer_is_found_behind_other_functions() -> None:
    assert writer_behind(("day1.services.branches.deleting", "delete_taken")) is not None
    assert writer_behind(("day1.services.branches.resolving", "row_id")) is None
