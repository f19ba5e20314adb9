"""Steps of advice in the words of Python, from this process and from a server."""

import inspect
import re

import pytest

import day1
from day1.call.fields import Written
from day1.errors import Advice, Step
from day1.interfaces.http.failures import route_of
from day1.interfaces.python.answers import reworded
from day1.interfaces.python.wording import METHODS, call_of, from_http
from day1.toolsets.over_http import TOOLSETS


@pytest.mark.parametrize("operation", sorted(METHODS))
def test_the_method_of_a_step_takes_what_the_step_shows(operation: str) -> None:
    assert TOOLSETS.tool(operation) is not None
    found = re.fullmatch(r"(memory|review)((?:\.\w+\([^()]*\))+)", METHODS[operation])
    assert found, METHODS[operation]
    owner: type = {"memory": day1.Memory, "review": day1.Review}[found[1]]
    for name, shown in re.findall(r"\.(\w+)\(([^()]*)\)", found[2]):
        method = getattr(owner, name)
        taken = list(inspect.signature(method).parameters)[1:]
        assert len(shown.split(", ") if shown else []) <= len(taken)
        owner = day1.Past if name == "as_of" else owner


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (Step("memory_held"), "`memory.held()`"),
        (Step("memory_task_create"), "`memory.call('memory_task_create')`"),
        (Step("memory_search", {"full": True}), "`full=True`"),
        (
            Step("memory_revert", {"commit": "a1"}, whole=True),
            "`memory.call('memory_revert', commit='a1')`",
        ),
    ],
    ids=["method", "call", "argument", "whole"],
)
def test_a_step_is_worded_as_a_call(step: Step, said: str) -> None:
    assert call_of(step) == said


def test_the_routes_in_a_message_of_a_server_become_calls() -> None:
    text = f"Look: {route_of(Step('memory_held'))} lists them, or {route_of(Step('verify_batch'))}."
    assert from_http(text) == "Look: `memory.held()` lists them, or `memory.call('verify_batch')`."
    once = route_of(Step("memory_search", {"full": True}))
    assert from_http(f"{once}. More.") == "`memory.search(query)` with full=true. More."


def test_notes_are_reworded_in_the_parts_of_an_answer() -> None:
    from day1.toolsets.day1.core.memory import FactWritten

    written = Written(branch="main", commit="c", notes=["plain", Advice("See {memory_held}.")])
    answer = FactWritten(id="f", created_at="t", written=written)
    found = reworded(answer, lambda note: note if isinstance(note, str) else note.worded(call_of))
    assert found.written.notes == ["plain", "See `memory.held()`."]
    assert found.id == "f"
