"""`day1 where`: which store, branch and agent are meant here, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import click

from day1.errors import Day1Error
from day1.interfaces.cli.session import Session, command
from day1.model.branches.branch import MAIN

if TYPE_CHECKING:
    from day1.settings import Settings


@click.command("where")
@command
def where_command(session: Session) -> None:
    """Say which store, branch and agent a call from this folder has, and why.

    Nothing is made: without a store it says where one would be. --json has the same. A store that
    cannot be opened has no branch here; `day1 doctor` says what is wrong.
    """
    from day1.home import WHY, is_store, locate, server_name

    settings, home = session.settings, locate(session.settings)
    url, rule, branch_document = settings.store.url, home.rule, dict(_BEGINS)
    store_exists = url is not None or is_store(home.folder)
    store_place: str | None = str(home.folder)
    if url is not None:  # DAY1_HOME then names only this machine's own folder
        store_place, rule = server_name(url.get_secret_value()), "server"
    if store_exists:
        try:
            branch_document = _branch(session)
        except Day1Error as exc:
            branch_document = {"name": None, "why": f"It cannot be opened: {exc}"}
    project_folder = home.repository and str(home.repository.common)
    server_branch_document, agent_document = _server_branch(settings), _agent(settings)
    document = {
        "store": store_place,
        "exists": store_exists,
        "rule": rule,
        "why": WHY[rule],
        "project": project_folder,
        "branch": branch_document,
        "server_branch": server_branch_document,
        "agent": agent_document,
    }
    if session.answer(document):
        return
    screen = session.screen
    screen.line("Store   ", (store_place or _NAMELESS, "bold"), "" if store_exists else _MISSING)
    screen.line("        ", WHY[rule])
    if project_folder is not None:
        screen.line("        ", f"Project: {project_folder}")
    for label, setting in (
        ("Branch", branch_document),
        ("", server_branch_document),
        ("Agent", agent_document),
    ):
        screen.line(f"{label:8}", (setting["name"] or _NAMELESS, "branch"), f"  {setting['why']}")


_NAMELESS: Final = "(no name)"
_MISSING: Final = " (not made yet)"
_BEGINS: Final[Mapping[str, Any]] = {
    "name": MAIN,
    "why": "A command begins here; `day1 switch` goes elsewhere.",
}


def _branch(session: Session) -> dict[str, Any]:
    head = session.context().caller.head
    head_name = None if head is None else head.name()
    return (
        dict(_BEGINS)
        if head_name is None
        else {"name": head_name, "why": "`day1 switch` went there."}
    )


def _server_branch(settings: Settings) -> dict[str, Any]:
    if settings.branch is not None:
        return {"name": settings.branch, "why": "`day1 mcp` begins here: DAY1_BRANCH says so."}
    return {"name": MAIN, "why": "`day1 mcp` begins here; --branch or DAY1_BRANCH names another."}


def _agent(settings: Settings) -> dict[str, Any]:
    if settings.agent_id is not None:
        return {"name": settings.agent_id, "why": "DAY1_AGENT_ID says so."}
    return {"name": None, "why": "DAY1_AGENT_ID is not set."}
