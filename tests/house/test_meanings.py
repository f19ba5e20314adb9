"""Every argument has a meaning in the docs and OpenAPI; MCP's list of tools has a few hints."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from day1.call.fields import Request
from day1.call.meanings import explained, meanings
from day1.interfaces.cli.main import day1
from day1.interfaces.http.openapi import openapi
from day1.interfaces.mcp.schemas import documented_schema, input_schema
from day1.toolsets.over_http import TOOLSETS

OPERATIONS = {
    tool.qualified_name: tool.operation for one in TOOLSETS.values() for tool in one.tools.values()
}
TOOLS = Path(__file__).resolve().parents[2] / "docs" / "tools"


def arguments(schema: Any, at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Each argument of a schema, and each one inside of it."""
    if isinstance(schema, list):
        for part in schema:
            yield from arguments(part, at)
    elif isinstance(schema, dict):
        for name, part in schema.get("properties", {}).items():
            yield f"{at}{name}", part
            yield from arguments(part, f"{at}{name}.")
        yield from arguments([schema.get("items"), schema.get("anyOf", [])], at)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_argument_has_a_meaning(name: str) -> None:
    """D4: 232 of 383 arguments had none."""
    found = dict(arguments(documented_schema(OPERATIONS[name])))
    assert not [path for path, part in found.items() if not part.get("description", "").strip()]


def test_the_pages_of_the_tools_have_no_empty_meaning() -> None:
    for page in TOOLS.glob("*.md"):
        rows = re.findall(r"^\|.*\|$", page.read_text("utf-8"), re.MULTILINE)
        assert not [row for row in rows if re.search(r"\|\s*\|$", row)], page.name


def test_openapi_tells_the_same_meanings() -> None:
    told = {}
    for one in TOOLSETS.values():
        parts = openapi(one.namespace, [one])["components"]
        told[one.name] = {**parts.get("requestBodies", {}), **parts["schemas"]}
    written = told["core"]["WriteFact"]["properties"]
    assert written["confidence"]["description"].startswith("How sure you are")
    assert written["agent_id"]["description"].startswith("Who writes")
    assert '"meaning"' not in json.dumps(told)
    for name, operation in OPERATIONS.items():
        shown = told[name.split(".")[0]][operation.request.__name__]
        assert "Attributes:" not in json.dumps(shown)
        for argument, part in shown.get("properties", {}).items():
            assert part.get("description"), f"{name}: {argument}"


def test_an_agent_is_told_hints_only() -> None:
    whole = input_schema(OPERATIONS["core.memory_write_fact"].request)["properties"]
    assert whole["fact_text"]["description"] == "One claim; name its subject and date."
    assert "description" not in whole["confidence"]
    assert "meaning" not in json.dumps(whole)


def test_only_arguments_that_there_are_have_a_meaning() -> None:
    def below(owner: type[Request]) -> Iterator[type[Request]]:
        for one in owner.__subclasses__():
            yield one
            yield from below(one)

    for request in below(Request):
        said = {name for name in meanings(request) if not name.startswith("_")}
        assert said - {"model_config", "model_fields"} <= set(request.model_fields), request


def test_a_property_may_be_called_meaning() -> None:
    schema = {"properties": {"meaning": {"type": "string", "meaning": "What it means."}}}
    told = {"properties": {"meaning": {"type": "string", "description": "What it means."}}}
    assert explained(schema) == told


def test_a_schema_for_generators_has_no_titles_but_properties_of_that_name() -> None:
    schema = {"title": "Page", "properties": {"title": {"title": "Title", "type": "string"}}}
    assert explained(schema) == {"properties": {"title": {"type": "string"}}}


def commands(group: click.Group, path: str = "day1") -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{path} {name}")


def test_every_command_and_option_has_a_help() -> None:
    """D4: 14 options of the command line said nothing."""
    lacking = [path for path, command in commands(day1) if not (command.help or "").strip()]
    lacking += [
        f"{path} {option.opts[-1]}"
        for path, command in commands(day1)
        for option in command.params
        if isinstance(option, click.Option) and not (option.help or "").strip()
    ]
    assert not lacking
