"""Threads with tool calls, as a turn writes them: written into a store by its services."""

from collections.abc import Sequence
from typing import Any

from day1.model.layers.row_detail import detail_of
from day1.model.rows.kind import CONVERSATION, MESSAGE, Row, canonical
from day1.model.rows.origin import Origin
from day1.model.values.ids import derived_id
from day1.model.values.wallet_space import Owner
from day1.services.repository.repository import Repository
from day1.services.rows.recording import new_row

Line = tuple[str, str, list[dict[str, Any]] | None]
"""A message: its role, its content and its tool calls."""


def asked(text: str = "Do it.") -> Line:
    """A user's message."""
    return ("user", text, None)


def called(*names: str, status: str | None = "ok") -> list[Line]:
    """Tool events, one after the other, each with the same status."""
    said = {} if status is None else {"status": status}
    return [("tool", f"{n} ran", [{"name": n, "args": {}, **said}]) for n in names]


def write_thread(
    repo: Repository,
    owner: Owner,
    thread: str,
    lines: Sequence[Line],
    *,
    branch: str = "main",
    session: str | None = None,
) -> list[str]:
    """Add messages at the end of an owner's thread; gives their ids."""
    space = owner.space
    conversation = derived_id("conv", None, "compose", space or "", thread)
    origin = Origin(owner.wallet, session)
    with repo.store.adding(branch) as work:
        if not work.get(CONVERSATION, [conversation]):
            columns: Row = {"space": space, "detail": detail_of(owner, threadId=thread)}
            work.add(CONVERSATION, [new_row(CONVERSATION, conversation, columns, origin, work.now)])
        count = work.count(MESSAGE, {"conversation_id": conversation})
        ids = []
        for place, (role, content, calls) in enumerate(lines, count):
            columns = {
                "content": content,
                "conversation_id": conversation,
                "role": role,
                "tool_calls": None if calls is None else canonical(calls),
            }
            row_id = derived_id("msg", place * 1000, "compose", conversation, str(place))
            work.add(MESSAGE, [new_row(MESSAGE, row_id, columns, origin, work.now)])
            ids.append(row_id)
    return ids


FIX = ("grep", "edit", "test")


def twelve_conversations(repo: Repository, owner: Owner, branch: str = "main") -> None:
    """Write 12 threads: 8 with grep, edit, test, of which one fails; 4 with other tools."""
    for number in range(8):
        fix = [asked(), *called("grep", "edit"), *called("test", status="failed" if number == 3 else "ok")]  # fmt: skip
        write_thread(repo, owner, f"t{number}", fix, branch=branch)
    for number in range(8, 12):
        other = [asked(), *called(f"look{number}", "read", f"tell{number}")]
        write_thread(repo, owner, f"t{number}", other, branch=branch)
