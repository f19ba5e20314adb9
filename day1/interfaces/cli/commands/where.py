"""`day1 where`: which store, branch and agent are meant here, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from day1.interfaces.cli.session import Session, porcelain

if TYPE_CHECKING:
    from day1.settings import Settings


@click.command("where")
@porcelain
def where_command(session: Session) -> None:
    """Say which store, branch and agent a call from this folder has, and why.

    Nothing is made: without a store it says where one would be. --json has the same.
    """
    from day1.home import WHY, is_store, locate

    settings, home = session.settings, locate(session.settings)
    exists = settings.store.url is not None or is_store(home.folder)
    where = session.store().where if exists else str(home.folder)
    project = home.repository and str(home.repository.common)
    branch, starts = _branch(session, exists=exists), _server_branch(settings)
    agent = _agent(settings)
    document = {
        "store": where,
        "exists": exists,
        "rule": home.rule,
        "why": WHY[home.rule],
        "project": project,
        "branch": branch,
        "server_branch": starts,
        "agent": agent,
    }
    if session.answer(document):
        return
    screen = session.screen
    screen.line("Store   ", (where, "bold"), "" if exists else " (not made yet)")
    screen.line("        ", WHY[home.rule])
    if project is not None:
        screen.line("        ", f"Project: {project}")
    for label, found in (("Branch", branch), ("", starts), ("Agent", agent)):
        screen.line(f"{label:8}", (found["name"] or "(no name)", "branch"), f"  {found['why']}")


def _branch(session: Session, *, exists: bool) -> dict[str, Any]:
    from day1.model.branches.branch import MAIN

    head = session.context().caller.head if exists else None
    name = None if head is None else head.name()
    if name is None:
        return {"name": MAIN, "why": "A command begins here; `day1 switch` goes elsewhere."}
    return {"name": name, "why": "`day1 switch` took commands there."}


def _server_branch(settings: Settings) -> dict[str, Any]:
    from day1.model.branches.branch import MAIN

    if settings.branch is not None:
        return {"name": settings.branch, "why": "`day1 mcp` begins here: DAY1_BRANCH says so."}
    return {"name": MAIN, "why": "`day1 mcp` begins here; --branch or DAY1_BRANCH names another."}


def _agent(settings: Settings) -> dict[str, Any]:
    if settings.agent_id is not None:
        return {"name": settings.agent_id, "why": "DAY1_AGENT_ID says so."}
    return {"name": None, "why": "DAY1_AGENT_ID is not set."}
