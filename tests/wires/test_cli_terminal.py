"""Whatever memory holds, nothing that a command prints acts on the terminal or hides in it."""

import ast
import io
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from day1.interfaces.cli.files import write_lines
from day1.interfaces.cli.render import Screen, escaped, json_text
from day1.model.values.showing import UNSEEN
from tests.unit.test_showing import TEXTS
from tests.wires.command_line import ROOT, CommandLine, TerminalStream, _text

HOSTILE: Final = (
    "\x9b31m\x7f\u202egnp.exe\u2028next\u034f\U000e0148\u200b \x1b]0;title\x07\r\x1b[2J</script>"
)


_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")


@contextmanager
def terminal() -> Iterator[list[str]]:
    """What is printed in the block, known when it ends."""
    out, err = (
        TerminalStream(io.BytesIO(), encoding="utf-8", errors="backslashreplace") for _ in "oe"
    )
    printed: list[str] = []
    with redirect_stdout(out), redirect_stderr(err):
        yield printed
    printed += [_text(out), _text(err)]


def bad(text: str) -> list[str]:
    """What of a text acts on a terminal or cannot be seen, but for day1's own colours."""
    return UNSEEN.findall(_COLOUR.sub("", text))


@given(TEXTS, TEXTS)
def test_the_screen_prints_only_what_can_be_seen(first: str, second: str) -> None:
    with terminal() as printed:
        screen = Screen()
        screen.line(first, (second, "bold"))
        screen.note(first, (second, "warn"))
        screen.table([first.strip() or "heading", "text"], [[first, (second, "dim")]])
        screen.json({"text": first, second: [second]})
    assert [bad(text) for text in printed] == [[], []]


def test_a_bar_of_progress_names_its_work_in_letters_that_can_be_seen() -> None:
    with terminal() as printed, Screen().progress(HOSTILE) as report:
        report(1, 2)
    assert not set(bad(printed[1])) - {"\r", "\x1b"}  # the bar moves the cursor
    assert "\x1b]0;" not in printed[1]


@given(
    st.recursive(
        TEXTS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3)
    )
)
def test_escaped_json_has_the_same_value(document: object) -> None:
    assert UNSEEN.search(json_text(document)) is None
    assert json.loads(json_text(document)) == json.loads(json.dumps(document))


@given(TEXTS)
def test_lines_of_an_export_are_escaped_on_a_terminal_alone(text: str) -> None:
    clean = text.encode("utf-8", "replace").decode()
    line = json.dumps({"text": clean}, ensure_ascii=False).encode() + b"\n"
    plain = io.BytesIO()
    write_lines([line], plain)
    assert plain.getvalue() == line
    with terminal() as printed:
        write_lines([line], sys.stdout.buffer)
    assert bad(printed[0]) == []
    assert json.loads(printed[0]) == {"text": clean}


def test_no_command_prints_but_through_the_screen() -> None:
    """Else what holds of the screen would not hold of it."""
    allowed = {"serve.py": 1}  # the server's own addresses
    found = {
        path.name: count
        for path in (ROOT / "day1/interfaces/cli").rglob("*.py")
        if (count := sum(map(_prints, ast.walk(ast.parse(path.read_text())))))
    }
    assert found == allowed


def _prints(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func)
    return name in {"print", "click.echo", "click.secho", "sys.stdout.write", "sys.stderr.write"}


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    return CommandLine(tmp_path)


COMMANDS: Final = (
    *(["log"], ["diff", "main", "side"], ["history", "{id}"], ["show", "{id}"], ["blame", "{id}"]),
    *(["search", "otter"], ["status"], ["branch"], ["topology"], ["prime"], ["snapshot"]),
    *(
        ["export"],
        ["doctor"],
        ["held"],
        ["review", "list"],
        ["task"],
        ["where"],
        ["search", "{bad}"],
    ),
    *(
        ["branch", "no such {bad}"],
        ["show", "{bad}"],
        ["add", "", "--category", "{bad}"],
        ["{bad}"],
    ),
)


@pytest.mark.parametrize("as_json", [False, True], ids=["words", "json"])
def test_no_command_lets_memory_speak_to_a_terminal(cli: CommandLine, as_json: bool) -> None:
    cli("init")
    row_id = cli.add(f"otter {HOSTILE}")
    cli("branch", "side", "--description", HOSTILE)
    cli("switch", "side")
    cli.add(f"otter by the river {HOSTILE}", "--agent", "ada")
    printed_any = ""
    for command in COMMANDS:
        words = [word.replace("{id}", row_id).replace("{bad}", HOSTILE) for word in command]
        if as_json and command != ["export"]:
            words.append("--json")
        answer = cli.shown(*words)
        assert bad(answer.out) == bad(answer.err) == [], words
        printed_any += answer.out
    assert "9b" in printed_any  # the words were printed


def test_the_rule_sees_what_it_must() -> None:
    assert len(bad(HOSTILE)) >= 10
    assert bad(escaped(HOSTILE)) == []


def test_logs_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    import logging

    from day1.logs import to_stderr

    before = logging.getLogger().handlers[:]
    try:
        to_stderr("INFO")
        logging.getLogger("x").warning("branch %s", HOSTILE)
    finally:
        logging.getLogger().handlers[:] = before
    assert bad(capsys.readouterr().err.replace("\n", "")) == []
