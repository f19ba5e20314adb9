"""Methods of the library are written by hand; each takes what its operation takes, by its types."""

import ast
import inspect
import textwrap
import typing
from collections import abc
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import pytest

import day1
from day1 import types
from day1.call.operation import Operation
from day1.toolsets.finding import tool_of
from day1.toolsets.over_http import TOOLSETS

OWNERS = (day1.Memory, day1.Branch, day1.Past, day1.Preview, day1.Merge, day1.Held, day1.Review)
RENAMED = {
    "memory_blame": {"row_id": "id"},
    "memory_branch_create": {"name": "branch_name", "source": "parent_branch"},
    "memory_branch_diff": {"into": "target_branch"},
    "memory_branch_merge": {"into": "target_branch"},
    "memory_get": {"row_id": "id"},
    "memory_graph_query": {"relation": "relation_type"},
    "memory_history": {"row_id": "id"},
    "memory_list": {"kind": "type"},
    "memory_merge_preview": {"into": "target_branch"},
    "memory_redact": {"row_id": "id"},
    "memory_restore": {"row_id": "id"},
    "memory_retract_fact": {"row_id": "fact_id"},
    "memory_supersede_fact": {"row_id": "fact_id", "text": "fact_text"},
    "memory_update_fact": {"row_id": "fact_id", "text": "fact_text"},
    "memory_write_fact": {"text": "fact_text"},
    "memory_write_observation": {"kind": "observation_type"},
    "memory_write_relation": {
        "source": "source_entity",
        "relation": "relation_type",
        "target": "target_entity",
    },
    "review_open": {"into": "target_branch"},
}
"""Arguments whose name in Python is another one."""
GIVEN = {
    "branch": "the handle has it",
    "at": "`as_of` has it",
    "source_branch": "the handle has it",
    "branch_name": "the handle has it",
    "review_id": "the handle has it",
}
"""Arguments that no method takes, and why."""
LEFT = {
    ("get", "entry_get"): "it gets one of `keys`",
    ("set", "entry_put"): "it puts one of `entries`",
    ("delete", "entry_remove"): "it removes one of `keys`",
    ("held", "memory_held"): "it lists: `Held.decide` decides",
    ("decide", "memory_held"): "`take` and the item stand for `action` and `id`",
    ("settle", "memory_search"): "it waits, and answers no memory",
    ("messages", "memory_list"): "it lists the messages of one conversation",
    ("search", "memory_search"): "`after` and `before` stand for `time_range`",
    ("rows", "memory_list"): "`messages` takes the conversation",
    ("merge", "memory_branch_merge"): "a preview has the rest",
}
"""Methods with arguments of their own, and why."""


class Method(NamedTuple):
    """A method, and the operation that it calls."""

    owner: type
    name: str
    operation: Operation[Any, Any]

    @property
    def function(self) -> Any:
        return inspect.getattr_static(self.owner, self.name)

    def takes(self) -> dict[str, inspect.Parameter]:
        """The arguments by name, with those of `**options`."""
        found = {}
        known = vars(typing) | vars(abc) | vars(types) | vars(day1) | self.function.__globals__
        hints = get_type_hints(self.function, known, include_extras=True)
        for name, parameter in list(inspect.signature(self.function).parameters.items())[1:]:
            hint = hints[name]
            if parameter.kind is not parameter.VAR_KEYWORD:
                found[name] = parameter.replace(annotation=hint)
                continue
            (options,) = get_args(hint)
            for each, kind in get_type_hints(options).items():
                found[each] = inspect.Parameter(
                    each, parameter.KEYWORD_ONLY, default=None, annotation=kind
                )
        return found


def asked(function: Any) -> list[str]:
    """The operations that a method calls, by their names."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return [
        str(node.args[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "_ask"
        and isinstance(node.args[0], ast.Constant)
    ]  # fmt: skip


def methods() -> Iterator[Method]:
    seen = set()
    for owner in OWNERS:
        for name, function in inspect.getmembers(owner, inspect.isfunction):
            if name.startswith("_") or function.__qualname__ in seen:
                continue
            seen.add(function.__qualname__)
            for operation in asked(function):
                yield Method(owner, name, tool_of(operation).operation)


METHODS = list(methods())


def test_nearly_every_operation_of_a_branch_has_a_method() -> None:
    assert len({each.operation.name for each in METHODS}) > 35


@pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{m.owner.__name__}.{m.name}")
def test_a_method_takes_what_its_operation_takes(method: Method) -> None:
    if (method.name, method.operation.name) in LEFT:
        return
    renamed = RENAMED.get(method.operation.name, {})
    takes = {renamed.get(name, name): each for name, each in method.takes().items()}
    fields = method.operation.request.model_fields
    assert not takes.keys() - fields.keys(), "the operation takes no such argument"
    assert not fields.keys() - takes.keys() - GIVEN.keys(), "the method lacks an argument"
    for name, parameter in takes.items():
        field = fields[name]
        if parameter.default not in {parameter.empty, None} and not field.is_required():
            assert parameter.default == field.get_default(call_default_factory=True), name
        words = choices(parameter.annotation)
        assert not words or words == choices(field.annotation), name


def choices(annotation: Any) -> set[str]:
    """The words of a `Literal` inside of a type."""
    if get_origin(annotation) is Literal:
        return set(get_args(annotation))
    return {word for part in get_args(annotation) for word in choices(part)}


def test_the_finder_knows_where_each_operation_is() -> None:
    for method in METHODS:
        name = method.operation.name
        tool = tool_of(name)
        assert TOOLSETS[tool.toolset.name].tools[name] == tool
        assert TOOLSETS.tool(name) in [tool, None], "another toolset has it too"
    assert tool_of("rows_apply").toolset.name == "library"


def test_the_finder_finds_what_the_registry_means_by_a_name() -> None:
    """A command calls an operation by its bare name, as MCP does."""
    for name, tool in TOOLSETS.tools.items():
        assert tool_of(name) is tool


def public() -> Iterator[tuple[str, Any]]:
    for name in set(day1.__all__) - {"Day1Error", "connect", "aconnect"}:
        found = getattr(day1, name)
        if inspect.isclass(found):
            yield name, found
            for each, member in inspect.getmembers(found):
                is_own = inspect.isfunction(member) or isinstance(member, property)
                is_own = is_own and each not in {"count", "index"}  # of every sequence
                if is_own and not each.startswith("_"):
                    yield f"{name}.{each}", member
    yield "connect", day1.connect
    yield "aconnect", day1.aconnect


def test_every_public_name_says_what_it_is_takes_and_raises() -> None:
    for name, what in public():
        text = inspect.getdoc(what) or ""
        assert text, name
        if not inspect.isfunction(what):
            continue
        for argument in set(inspect.signature(what).parameters) - {"self"}:
            assert f"{argument}: " in text, f"{name} does not explain {argument}"
        assert "Raises:" in text or not asked(what), name
