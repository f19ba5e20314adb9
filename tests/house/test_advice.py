"""The steps that messages advise are operations that there are, and every wire can word them."""

import ast
import re
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from string import Formatter
from typing import Any
from unittest.mock import Mock

import click
import pytest

from day1.call.context import Context
from day1.call.fields import Note, Request, Response
from day1.call.operation import Effect, Operation
from day1.call.toolset import Tool, Toolset
from day1.errors import Advice, Conflict, Step, UnknownBranch
from day1.interfaces.cli.main import day1
from day1.interfaces.cli.wording import CALLS, COMMANDS, OPTIONS, command_of
from day1.interfaces.http.failures import route_of
from day1.interfaces.mcp.server import _named
from day1.toolsets.over_http import TOOLSETS

ROOT = Path(__file__).parents[2] / "day1"
NAMED = re.compile(r"\b(?:" + "|".join(TOOLSETS.tools) + r")\b")
TEXTS = {path: path.read_text("utf-8") for path in sorted(ROOT.rglob("*.py"))}


def calls(tree: ast.AST, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def steps() -> Iterator[tuple[Path, Step]]:
    """Every step that the source advises."""
    for path, text in TEXTS.items():
        if not re.search(r"\b(?:Advice|Step)\(", text):
            continue  # most files: to parse them takes longer than all else here
        tree = ast.parse(text)
        for call in calls(tree, "Advice"):
            template = call.args[0]
            assert isinstance(template, ast.Constant), f"{path}: a template is written, not made"
            values = {keyword.arg for keyword in call.keywords}
            for _, name, _, _ in Formatter().parse(str(template.value)):
                if name is not None and name not in values:
                    yield path, Step(name)
        for call in calls(tree, "Step"):
            if not call.keywords and all(map(_is_written, call.args)):
                yield path, Step(*map(ast.literal_eval, call.args))


def _is_written(part: ast.expr) -> bool:
    return isinstance(part, ast.Constant | ast.Dict)


WHOLE = [
    Step("memory_branch_delete", {"branch_name": "side", "force": True}, whole=True),
    Step("memory_branch_protect", {"branch_name": "side", "requires": []}, whole=True),
    Step("memory_branch_revive", {"branch_name": "side"}, whole=True),
    Step("memory_log", {"branch": "side"}, whole=True),
    Step("memory_revert", {"commit": "merge_1"}, whole=True),
    Step(
        "memory_branch_merge",
        {
            "source_branch": "side",
            "target_branch": "main",
            "strategy": "cherry_pick",
            "items": ["fact_1"],
        },
        whole=True,
    ),
]
"""Calls that are advised with all of their arguments."""


EVERY = list(steps())


def test_steps_are_advised_in_many_places() -> None:
    assert len({path for path, _ in EVERY}) > 20
    assert [step for _, step in EVERY if step.arguments]


@pytest.mark.parametrize("step", [step for _, step in EVERY], ids=str)
def test_every_wire_can_word_a_step(step: Step) -> None:
    operation = TOOLSETS.tools[step.operation].operation
    assert set(step.arguments) <= set(operation.request.model_fields)
    assert route_of(step).startswith(f"POST /api/v1/{step.operation}")
    assert command_of(step).startswith("`")


def test_no_message_of_services_and_adapters_names_a_tool_but_as_a_step() -> None:
    """Else the command line would name a tool that nobody can type there."""
    for path, text in TEXTS.items():
        if path.relative_to(ROOT).parts[0] not in {"services", "adapters", "model", "app"}:
            continue
        tree = ast.parse(text)
        within = {id(part) for call in calls(tree, "Advice") for part in ast.walk(call)}
        texts = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            if id(node) not in within and "Raises:" not in node.value
        ]
        # A name alone is no message: another program has a table `memory_graph`.
        told = [text for text in texts if NAMED.search(text) and not NAMED.fullmatch(text)]
        assert not told, path


def _bare(call: str) -> str:
    """A command without what stands for its arguments."""
    return " ".join(word for word in call.split() if not word.startswith("{"))


@pytest.mark.parametrize("command", sorted({*COMMANDS.values(), *map(_bare, CALLS.values())}))
def test_the_command_of_a_step_is_there(command: str) -> None:
    found: click.Command = day1
    context = click.Context(day1)
    for word in command.split()[1:]:
        if word.startswith("-"):
            assert any(word in parameter.opts for parameter in found.params), command
        else:
            assert isinstance(found, click.Group), command
            inner = found.get_command(context, word)
            assert inner is not None, command
            found = inner
    assert set(COMMANDS) <= set(TOOLSETS.tools)


@pytest.mark.parametrize("step", WHOLE, ids=str)
def test_a_whole_call_is_worded_with_its_arguments(step: Step) -> None:
    """Each wire names the call and what it takes, and the program that follows it succeeds."""
    arguments = step.worded_arguments
    assert str(step) == f"{step.operation}({arguments})"
    assert route_of(step) == f"POST /api/v1/{step.operation} with {arguments}"
    assert str(next(iter(step.arguments.values()))) in command_of(step)
    operation = TOOLSETS.tools[step.operation].operation
    operation.request.model_validate(dict(step.arguments))
    assert operation.name in CALLS


def test_an_option_stands_for_each_argument_that_is_advised() -> None:
    assert {str(step) for _, step in EVERY if step.arguments} == set(OPTIONS)


def test_an_error_has_its_next_step_as_data_and_in_the_words_of_each_wire() -> None:
    error = UnknownBranch(
        "There is no branch '{memory_held}'.",
        Advice("{memory_branch_list} shows those there are, {all} also the others.", all="list"),
        branch="{memory_held}",
    )
    shown = "There is no branch '{memory_held}'. %s shows those there are, list also the others."
    assert str(error) == shown % "memory_branch_list"
    assert error.worded(command_of) == shown % "`day1 branch`"
    assert error.worded(route_of) == shown % "POST /api/v1/memory_branch_list"
    assert error.body()["error"] == {
        "code": "unknown_branch",
        "message": str(error),
        "details": {"branch": "{memory_held}"},
        "next": [{"operation": "memory_branch_list"}],
    }


def test_an_argument_that_is_advised_is_data_too() -> None:
    step = Step("knowledge_bundle_create", {"only_verified": False})
    error = Conflict(Advice("{every} takes all.", every=step))
    assert (str(error), error.worded(command_of)) == (
        "only_verified=false takes all.",
        "`--all` takes all.",
    )
    told: Any = error.body()["error"]
    assert told["next"] == [
        {"operation": "knowledge_bundle_create", "arguments": {"only_verified": False}}
    ]


def words(step: Step) -> dict[str, str]:
    """A step as each wire says it to a client of the step's toolset."""
    served = TOOLSETS[step.toolset].tools
    return {
        "http": route_of(step),
        "command line": command_of(step).strip("`"),
        "mcp": partial(_named, served)(step),
    }


def meant(wire: str, text: str, toolset: Toolset, operation: str) -> Tool:
    """The tool that a client of a toolset finds by the words of a wire.

    One command may do what two operations do: then the one of them that is called `operation`.
    """
    if wire == "http":
        routes = {
            f"{route.method} {each.namespace.prefix}{route.path}": each.tools[
                route.binding.operation
            ]
            for each in TOOLSETS.values()
            for route in each.served_routes
        }
        return routes[text]
    if wire == "command line":
        names = [name for name, command in COMMANDS.items() if command == text]
        names = [name for name in names if name == operation] or names[:1]
        tool = TOOLSETS.tool(names[0] if names else text.removeprefix("day1 call "))
    else:
        tool = toolset.tools.get(text) or TOOLSETS.tool(text)
    assert tool is not None, text
    return tool


@pytest.mark.parametrize("toolset", TOOLSETS.values(), ids=list(TOOLSETS))
def test_a_step_is_the_tool_of_the_product_that_was_called(toolset: Toolset) -> None:
    """Two products have tools of one name, and a client of one knows nothing of the other."""
    beside = [each for each in TOOLSETS.values() if each.namespace is toolset.namespace]
    for operation in TOOLSETS.tools:
        for wire, text in words(Step(operation, toolset=toolset.name)).items():
            tool = meant(wire, text, toolset, operation)
            assert tool.name == operation
            if any(operation in each.tools for each in beside):
                assert tool.toolset.namespace is toolset.namespace, (wire, text)


def test_an_error_and_the_notes_of_an_answer_are_worded_by_the_toolset_that_was_called() -> None:
    class Asked(Request):
        fails: bool = False

    class Noted(Response):
        note: Note

    def look(ctx: Context, request: Asked) -> Noted:
        advice = Advice("{memory_search} finds those there are.")
        if request.fails:
            raise Conflict("There is none.", advice)
        return Noted(note=advice)

    operation = Operation("look", look, Effect.READ)
    context: Any = Context(Mock(), Mock(), Mock(), Mock(), say=route_of)
    context.repo.ledger.same_version = nullcontext
    for name in TOOLSETS:
        own = "engram" if name == "engram" else "core"
        said = route_of(Step("memory_search", toolset=own)) + " finds those there are."
        toolset = Toolset(name, (operation,), TOOLSETS[name].namespace)
        tool = toolset.tools["look"]
        assert tool.call(context, {}) == {"note": said}
        with pytest.raises(Conflict) as refused:
            tool.call(context, {"fails": True})
        assert refused.value.worded(route_of) == f"There is none. {said}"
    assert route_of(Step("memory_search", toolset="engram")) != route_of(Step("memory_search"))
