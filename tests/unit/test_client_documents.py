"""Any document of a client, in any form: what is put in and taken out leaves the same bytes."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from day1.adapters.clients import jsonc, section, toml
from day1.adapters.clients.documents import NotUnderstood
from day1.adapters.clients.hook_edits import HooksEdit
from day1.adapters.clients.hook_table import HOOKS

ENTRY = {"command": "day1", "args": ["mcp"], "env": {"DAY1_AGENT_ID": "x"}}
KEYS = ("servers", "day1")
NAMES = st.sampled_from(["a", "b, }", "// c", "é", 'q"', "day2", "/* d */"])
LEAVES = st.none() | st.booleans() | st.integers(-9, 9) | NAMES
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
GAPS = st.sampled_from(["", " ", "\n", "\n\t", "\r\n  ", "/* x, } */", " // y ]\n", "\n// z\n  "])


@st.composite
def texts(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A document with comments, trailing commas and any space, and what it means."""
    value = draw(st.dictionaries(NAMES, VALUES, max_size=3))
    value["servers"] = draw(st.dictionaries(NAMES, VALUES, max_size=2))

    def shown(part: Any) -> str:
        if not isinstance(part, (dict, list)):
            escaped: bool = draw(st.booleans())
            return json.dumps(part, ensure_ascii=escaped)
        opened, closed = "{}" if isinstance(part, dict) else "[]"
        members = (
            [f"{json.dumps(k)}{draw(GAPS)}:{draw(GAPS)}{shown(v)}" for k, v in part.items()]
            if isinstance(part, dict)
            else [shown(each) for each in part]
        )
        inner = ",".join(draw(GAPS) + member + draw(GAPS) for member in members)
        trails: bool = draw(st.booleans())
        if members and trails:
            inner += "," + draw(GAPS)
        return opened + (inner or draw(GAPS)) + closed

    start = draw(st.sampled_from(["", "\ufeff", "// first\n"]))
    return start + shown(value) + draw(GAPS), value


@given(texts())
@example(('{"servers": {"a": 1 // note\n}}', {"servers": {"a": 1}}))
@example(('{"servers": {\n"// a": 1}}', {"servers": {"// a": 1}}))
@example(('{"servers": {"b": 2,\n"// a": 1/* x */}}', {"servers": {"b": 2, "// a": 1}}))
def test_json_of_any_form_is_the_same_again(found: tuple[str, dict[str, Any]]) -> None:
    text, value = found
    data = text.encode()
    assert jsonc.value_of(data) == value
    edited = jsonc.put(data, KEYS, ENTRY)
    assert jsonc.value_of(edited) == {**value, "servers": {**value["servers"], "day1": ENTRY}}
    assert jsonc.put(edited, KEYS, ENTRY) == edited
    longer = jsonc.put(edited, (*KEYS, "env", "MORE"), "y")
    assert jsonc.value_of(longer)["servers"]["day1"]["env"]["MORE"] == "y"
    back = jsonc.take_out(edited, KEYS)
    assert jsonc.value_of(back) == value
    assert back == data or not value["servers"], "an object of none may be closed up"


@given(texts(), st.integers(0, 400), st.sampled_from(["{", "}", "[", ",", '"', ":", "x", "/*"]))
def test_json_that_was_broken_is_refused_or_still_means_the_same(
    found: tuple[str, dict[str, Any]], place: int, more: str
) -> None:
    data = (found[0][:place] + more + found[0][place:]).encode()
    try:
        value = jsonc.value_of(data)
        edited = jsonc.put(data, KEYS, ENTRY)
    except NotUnderstood:
        return
    assert {k: v for k, v in jsonc.value_of(edited).items() if k != "servers"} == {
        k: v for k, v in value.items() if k != "servers"
    }


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
@pytest.mark.parametrize("line", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment",
        'a = 1 # one\n[servers.other]\ncommand = "other"',
        'servers.other.command = "other"',
        '[[list]]\nx = 1\n\n[[list]]\nx = 2\n[servers]\n[z]\ny = """\n[servers.day1]\n"""',
    ],
)
def test_toml_is_the_same_again(text: str, line: str, end: str) -> None:
    data = (text + end).replace("\n", line).encode()
    before = tomllib.loads(data.decode())
    edited = toml.put(data, KEYS, ENTRY)
    assert tomllib.loads(edited.decode())["servers"]["day1"] == ENTRY
    assert toml.put(edited, KEYS, ENTRY) == edited
    assert toml.take_out(edited, KEYS) == data
    longer = toml.put(edited, (*KEYS, "env", "MORE"), "y")
    left = tomllib.loads(toml.take_out(longer, KEYS).decode())
    assert {**left, "servers": None} == {**before, "servers": None}


@given(st.text(alphabet="ab\n\r #<!->", max_size=30), st.sampled_from(["\n", "\r\n", "\r"]))
@example("a\nb\n", "\r")
def test_a_text_is_the_same_again(text: str, line: str) -> None:
    data = text.replace("\n", line).encode()
    edited = section.put(data, "hello\nyou")
    assert section.put(edited, "hello\nyou") == edited
    assert b"you" not in section.put(edited, "other")
    assert section.take_out(edited) == data


@given(texts())
@example(('{"a": [1, /* , */ 2,], "servers": {}}', {"a": [1, 2], "servers": {}}))
@example(('{"a": [\n], "servers": {}}', {"a": [], "servers": {}}))
def test_what_is_put_in_a_list_comes_out_again(given_text: tuple[str, dict[str, Any]]) -> None:
    text, value = given_text
    for key, items in value.items():
        if isinstance(items, list):
            data = text.encode()
            put = jsonc.put(data, (key, len(items)), ENTRY)
            assert jsonc.value_of(put)[key] == [*items, ENTRY]
            out = jsonc.take_out(put, (key, len(items)))
            assert jsonc.value_of(out) == value
            if items and items[0] is not None:  # which says as much as nothing
                assert jsonc.value_of(jsonc.take_out(put, (key, 0)))[key] == [*items[1:], ENTRY]


ODD = [None, 7, True, "x", [], {}, [None], {"x": None}]


@pytest.mark.parametrize("key", ["type", "tool", "server", "input", "command", "timeout", "hooks"])
def test_a_hook_with_an_odd_value_is_edited_or_left(key: str) -> None:
    edit = HooksEdit("claude", Path("settings.json"), HOOKS["claude"], "day1")
    right = edit.put(edit.blank)
    for odd in ODD:
        value = json.loads(right)
        for entry in (*value["hooks"]["UserPromptSubmit"][0]["hooks"], value["hooks"]["Stop"][0]):
            entry[key] = odd
        data = json.dumps(value).encode()
        edited = edit.put(data)
        assert edit.put(edited) == edited
        assert edit.present(edit.take_out(edited)) is None


@pytest.mark.parametrize("comment", ["/* mine */", "// mine\n"])
@pytest.mark.parametrize("text", ['"Stop"{}:[OWN]', '"Stop":{}[OWN]', '"Stop":[{}OWN]'])
def test_a_comment_beside_the_only_hook_of_an_event_stays(text: str, comment: str) -> None:
    edit = HooksEdit("cursor", Path("hooks.json"), HOOKS["cursor"], "day1")
    entry = '{"command": "day1 hook turn-end --client cursor"}'
    data = f'{{"hooks": {{{text.format(comment).replace("OWN", entry)}}}}}'.encode()
    assert b"mine" in edit.take_out(data)
    assert not any(start < data.index(b"mine") < end for start, end in edit.own(data))
