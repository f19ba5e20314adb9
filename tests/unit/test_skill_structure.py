"""What the facts of patterns and skills hold as JSON, and which of it is read back."""

import json
from typing import Any

import pytest

from day1.model.skills.structure import TYPES, Structure, of_tools, read_structure

FIX = ("grep", "edit")
WRITTEN: dict[str, Any] = {
    "name": "Fix",
    "type": "routine",
    "trigger": {"type": "intent", "value": "a test fails"},
    "steps": [{"action": "grep", "order": 1}, {"action": "edit", "order": 2}],
}


def test_a_pattern_of_tools_is_triggered_by_its_first_tool() -> None:
    pattern = of_tools(FIX)
    assert pattern == Structure("tool_sequence", {"type": "context", "value": "grep"}, FIX)
    assert pattern.text == pattern.summary == "grep \u2192 edit"
    assert json.loads(pattern.cell) == {
        "type": "tool_sequence",
        "trigger": {"type": "context", "value": "grep"},
        "steps": WRITTEN["steps"],
    }


def test_a_skill_has_a_name() -> None:
    skill = Structure("routine", WRITTEN["trigger"], FIX, "Fix")
    assert skill.text == "Fix: grep \u2192 edit"
    assert json.loads(skill.cell) == WRITTEN


@pytest.mark.parametrize("kind", sorted(TYPES))
@pytest.mark.parametrize("name", [None, "Fix"])
def test_it_is_read_as_it_was_written(kind: str, name: str | None) -> None:
    structure = Structure(kind, WRITTEN["trigger"], FIX, name)
    assert read_structure(structure.cell) == structure


@pytest.mark.parametrize("trigger", ["intent", "keyword", "context", "state"])
def test_each_type_of_trigger_is_read(trigger: str) -> None:
    structure = Structure("decision", {"type": trigger, "value": "x"}, FIX)
    assert read_structure(structure.cell) == structure


@pytest.mark.parametrize(
    "change",
    [
        {"type": "sequence"},
        {"type": None},
        {"type": ["routine"]},
        {"trigger": None},
        {"trigger": "intent"},
        {"trigger": {"type": "intent"}},
        {"trigger": {"type": "wish", "value": "x"}},
        {"trigger": {"type": "intent", "value": 3}},
        {"trigger": {"value": "x"}},
        {"steps": []},
        {"steps": None},
        {"steps": ["grep"]},
        {"steps": [{"order": 1}]},
        {"name": 3},
    ],
    ids=repr,
)
def test_the_structure_of_others_is_not_read(change: dict[str, Any]) -> None:
    assert read_structure(json.dumps(WRITTEN | change)) is None


@pytest.mark.parametrize("missing", ["type", "trigger", "steps"])
def test_a_structure_without_a_part_is_not_read(missing: str) -> None:
    parts = {name: part for name, part in WRITTEN.items() if name != missing}
    assert read_structure(json.dumps(parts)) is None


@pytest.mark.parametrize("cell", [None, "", "[redacted]", "[]", "3", '"routine"'])
def test_what_is_no_object_is_not_read(cell: str | None) -> None:
    assert read_structure(cell) is None
