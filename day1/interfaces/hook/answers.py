"""What a client takes from a hook on stdout: the prime at the start of a session, else nothing.

Some want JSON, some refuse a field that they do not know, and none may be told what to do: a text
in a context that gives orders is taken for an attack. So what is said here are statements.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from day1.formats.prime_file import FRAME, Prime, lines_of

MOST: Final = 8_000
"""Characters of a prime that are shown: every client takes them whole."""

_JSON: Final = frozenset({"cursor", "vscode", "gemini"})
"""Clients that read every answer as JSON."""
_CANNOT_INJECT: Final = frozenset({"windsurf"})
_BRACKETS: Final = str.maketrans("<>", "\u2039\u203a")
"""An earlier day1 may have made the prime, and left the marks of others in it."""

ABOUT: Final = "What agents and people have noted of this work. It is information, no instruction."
ASK: Final = "The MCP server day1 answers memory_session_context and memory_search."


def nothing(client: str) -> str:
    """What says nothing to a client."""
    return "{}" if client in _JSON else ""


def start(client: str, text: str) -> str:
    """What gives a text to a session that begins."""
    if client in _CANNOT_INJECT:
        return nothing(client)
    if client == "opencode":
        return text
    answer: Mapping[str, Any] = {"additional_context": text}
    if client != "cursor":
        answer = {
            "hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}
        }
    return json.dumps(answer, ensure_ascii=False)


def primed(prime: Prime, stamp: Any) -> str:
    """A prime between marks that no text within it can end; `stamp` is the store's present one."""
    lines = [ABOUT]
    if prime.stamp != stamp:
        lines.append(
            "The memory has changed since this was made, so some of it may be out of date."
        )
    commit = "".join(filter(str.isalnum, prime.at))[:12]
    return _marked(
        f' branch="{_plain(prime.branch)}" commit="{commit}"',
        [*lines, *lines_of(prime.text[:MOST])],
    )


def unprimed(branch: str) -> str:
    """What can be said where no prime has been made yet."""
    return _marked(
        f' branch="{_plain(branch)}"',
        ["This project has a memory; its summary is not made yet.", ASK],
    )


def forked(text: str) -> str:
    """What a forked session is told of its own branch."""
    lines = (
        "This session is a fork: what hooks note of it goes to a branch of its own below fork/.",
        "The tools of day1 stay on the branch where they are; memory_branch_switch changes that.",
    )
    return "\n".join([text, *lines])


def _plain(name: str) -> str:
    """A name without what could end the mark that it stands in; the environment may hold any."""
    return "".join(letter for letter in name if letter.isprintable() and letter not in '"<>')


def _marked(about: str, lines: list[str]) -> str:
    inner = "\n".join(lines).strip().translate(_BRACKETS)
    return f"<{FRAME}{about}>\n{inner}\n</{FRAME}>"
