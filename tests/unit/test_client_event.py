"""A line of the spool: which are taken, and the ids that rows of an event get."""

import json
from dataclasses import asdict, replace
from typing import Any

import pytest

from day1.formats.events import MOST_TEXT, sum_of
from day1.model.files.client_event import ClientEvent, fork_id, read_event
from day1.model.rows.origin import MAX_LABEL
from day1.model.values.instant import LAST_LEARNED

EVENT: dict[str, Any] = {
    "format": 1, "event": "prompt", "agent": "claude-code", "session": "s1", "at": 5
}  # fmt: skip
FULL = EVENT | {"turn": "t1", "text": "line\nline", "subagent": "sub", "model": "m"}


def line(**fields: Any) -> bytes:
    event = {**EVENT, **fields}
    return json.dumps({k: v for k, v in event.items() if v is not ...}).encode()


def test_an_event_has_what_its_line_says() -> None:
    signed = FULL | {"sum": sum_of(FULL), "later": "unknown"}
    signed["sum"] = sum_of(signed)
    event = read_event(json.dumps(signed).encode())
    given = {name: value for name, value in asdict(event).items() if value is not None}
    assert given == {name: value for name, value in FULL.items() if name != "format"}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"format": 2}, "^not an event of this format$"),
        ({"sum": 1}, "^the event does not match the checksum of its line$"),
        ({"at": ...}, "^`at` is missing or not a time$"),
        ({"at": "5"}, "^`at` is missing or not a time$"),
        ({"at": True}, "^`at` is missing or not a time$"),
        ({"at": -1}, "^`at` is missing or not a time$"),
        ({"at": LAST_LEARNED + 1}, "^`at` is missing or not a time$"),
        ({"turn": 7}, "^turn is not a text$"),
        ({"turn": None}, "^turn is not a text$"),
        ({"turn": " "}, "^turn is not a text$"),
        ({"turn": "a" * (MAX_LABEL + 1)}, "^turn is too long$"),
        ({"turn": "a\nb"}, "^turn has characters that cannot be printed$"),
        ({"text": "a\0"}, "NUL"),
        ({"text": "a" * (MOST_TEXT + 101)}, "^text is too long$"),
        ({"event": ...}, "^event, agent or session is missing, or the event is unknown$"),
        ({"agent": ...}, "^event, agent or session is missing, or the event is unknown$"),
        ({"session": ...}, "^event, agent or session is missing, or the event is unknown$"),
        ({"event": "other"}, "^event, agent or session is missing, or the event is unknown$"),
    ],
)
def test_a_line_that_is_no_event_is_refused(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_event(line(**fields))


@pytest.mark.parametrize("other", [b"[]", b"7", b"{"])
def test_other_json_is_no_event(other: bytes) -> None:
    with pytest.raises(ValueError):
        read_event(other)


@pytest.mark.parametrize(
    "fields",
    [
        {"at": 0},
        {"at": LAST_LEARNED},
        {"turn": "a" * MAX_LABEL},
        {"text": "a" * (MOST_TEXT + 100)},
    ],
)
def test_the_least_and_the_most_is_taken(fields: dict[str, Any]) -> None:
    event = read_event(line(**fields))
    assert {name: getattr(event, name) for name in fields} == fields


def test_the_writer_is_the_agent_or_its_subagent() -> None:
    event = ClientEvent("prompt", "claude-code", "s1", 5)
    assert event.writer == "claude-code"
    part = ClientEvent("prompt", "claude-code", "s1", 5, subagent="s" * MAX_LABEL)
    assert part.writer == f"claude-code/{'s' * MAX_LABEL}"[:MAX_LABEL]
    assert part.conversation_id != event.conversation_id
    assert event.conversation_id == ClientEvent("turn-end", "codex", "s1", 9).conversation_id
    assert event.conversation_id.startswith("conv_0000000000")
    assert fork_id("s1").startswith("branch_")
    assert fork_id("s1") != fork_id("s2")


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ({"at": 9}, True),
        ({"turn": "t2"}, False),
        ({"session": "s2"}, False),
        ({"subagent": "sub"}, False),
        ({"agent": "codex"}, True),
    ],
)
def test_a_row_of_a_turn_has_one_id_however_often_it_is_told(
    other: dict[str, Any], same: bool
) -> None:
    first = ClientEvent("prompt", "claude-code", "s1", 5, turn="t1")
    second = replace(first, **other)
    assert (first.id("msg", "user", "x") == second.id("msg", "user", "x")) is same
    assert first.id("msg", "user", "x") != first.id("msg", "user", "y")
    assert first.id("msg", "user", "x") != first.id("msg", "assistant", "x")


def test_without_a_turn_the_time_tells_events_apart() -> None:
    ids = {ClientEvent("prompt", "a", "s1", at).id("msg", "user", "x") for at in (1, 2)}
    assert len(ids) == 2
