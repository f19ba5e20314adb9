"""The public names of `import day1` and of its adapters, one line each: docs/api.txt."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, is_typeddict

from pydantic import BaseModel

import day1
from day1 import errors, types

_ABOUT = """\
# What `import day1` and its adapters offer, one line for each name. Do not edit:
# scripts/build_docs.py writes it, and CI compares it.
# A line that goes or changes is a change of the interface: say so in CHANGELOG.md.
"""


def snapshot() -> str:
    """The text of docs/api.txt."""
    lines = [*_package(), *_errors(), *_types(), *_adapters()]
    return _ABOUT + "\n".join(sorted(lines)) + "\n"


def _package() -> Iterator[str]:
    for name in day1.__all__:
        value = getattr(day1, name)
        if inspect.isfunction(value):
            yield f"day1.{name}{_signature(value)}"
        elif inspect.isclass(value) and value is not errors.Day1Error:
            yield f"day1.{name}"
            yield from (f"day1.{name}.{line}" for line in _members(value))


def _members(owner: type) -> Iterator[str]:
    """The members of a class, without those that it has of another public class."""
    bases = [base for base in owner.__mro__[1:] if base.__name__ in day1.__all__]
    for name, member in inspect.getmembers(owner):
        if name.startswith("_") or any(hasattr(base, name) for base in bases):
            continue
        if isinstance(member, property):
            yield f"{name}: {inspect.signature(member.fget).return_annotation}"  # type: ignore[arg-type]  # each has one
        elif inspect.isfunction(member) and member.__module__.startswith("day1."):
            kind = " async" if inspect.iscoroutinefunction(member) else ""
            yield f"{name}{kind}{_signature(member)}"
    yield from (f"({base.__name__})" for base in bases[:1])


def _signature(function: Any) -> str:
    """A signature as it is written."""
    signature, parts = inspect.signature(function), list[str]()
    kinds = [each.kind for each in signature.parameters.values()]
    for place, (name, each) in enumerate(signature.parameters.items()):
        if each.kind is each.KEYWORD_ONLY and each.KEYWORD_ONLY not in kinds[:place]:
            parts.append("*")
        prefix = "**" if each.kind is each.VAR_KEYWORD else ""
        default = "" if each.default is each.empty else f" = {each.default!r}"
        hint = "" if each.annotation is each.empty else f": {each.annotation}"
        parts.append(f"{prefix}{name}{hint}{default}")
        if each.kind is each.POSITIONAL_ONLY:
            parts.append("/")
    given_parts = [part for part in parts if part != "self"]
    given_parts = given_parts[1:] if given_parts[:1] == ["/"] else given_parts
    return f"({', '.join(given_parts)}) -> {signature.return_annotation}"


def _errors() -> Iterator[str]:
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.Day1Error):
            retry_note = ", retryable" if kind.retryable else ""
            yield f"day1.errors.{name}({kind.__bases__[0].__name__}): {kind.code}{retry_note}"


def _types() -> Iterator[str]:
    for name, kind in vars(types).items():
        if name.startswith("_"):
            continue
        if is_typeddict(kind):
            for key, hint in sorted(inspect.get_annotations(kind).items()):
                yield f"day1.types.{name}[{key}]: {_hint(hint)}"
        elif inspect.isclass(kind) and issubclass(kind, BaseModel):
            for key, field in kind.model_fields.items():
                yield f"day1.types.{name}.{key}: {_hint(field.annotation)}"
        elif not inspect.ismodule(kind):
            yield f"day1.types.{name} = {_hint(kind)}"


def _hint(hint: Any) -> str:
    """A type as it is written, without what validates it."""
    forward_name: str | None = getattr(hint, "__forward_arg__", None)
    if forward_name:
        return forward_name
    if get_origin(hint) is Annotated:
        return _hint(get_args(hint)[0])
    if get_origin(hint) in {Union, UnionType}:
        return " | ".join(map(_hint, get_args(hint)))
    if get_origin(hint) is Literal:
        return f"Literal[{', '.join(map(repr, get_args(hint)))}]"
    if hint is NoneType:
        return "None"
    name = getattr(hint, "__name__", str(hint).replace("typing.", ""))
    inner_hints = ", ".join(map(_hint, get_args(hint)))
    return f"{name}[{inner_hints}]" if inner_hints else name


def _adapters() -> Iterator[str]:
    """The public names of the adapters, read from their source: a framework may be missing."""
    for package in sorted(Path(day1.__file__).parent.glob("integrations/*/")):
        modules = [ast.parse(file.read_text("utf-8")) for file in sorted(package.glob("*.py"))]
        names = {name for module in modules for name in _all_of(module)}
        nodes = [node for module in modules for node in module.body]
        classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}
        for node in nodes:
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name in names:
                prefix = f"day1.integrations.{package.name}."
                yield from (prefix + line for line in _defined(node, classes))


def _all_of(module: ast.Module) -> list[str]:
    """The names in the `__all__` of a module."""
    for node in module.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    return []


def _defined(node: ast.stmt, classes: Mapping[str, ast.ClassDef]) -> Iterator[str]:
    """A function, or a class with its public members and those of its bases among `classes`."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        kind = " async" if isinstance(node, ast.AsyncFunctionDef) else ""
        result = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
        decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
        arguments = ast.unparse(node.args).removeprefix("self, ").removeprefix("self")
        is_property = bool(decorators & {"property", "cached_property"})
        yield (
            f"{node.name}:{result[3:]}"
            if is_property
            else f"{node.name}{kind}({arguments}){result}"
        )
    elif isinstance(node, ast.ClassDef):
        bases = ", ".join(map(ast.unparse, node.bases))
        yield f"{node.name}({bases})" if bases else node.name
        inherited = [
            member
            for base in map(ast.unparse, node.bases)
            if base in classes
            for member in classes[base].body
        ]
        for member in (*inherited, *node.body):
            for line in _defined(member, classes):
                if not line.startswith("_") or line.startswith("__init__"):
                    yield f"{node.name}.{line}"
    elif isinstance(node, ast.AnnAssign):
        yield f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)}"
