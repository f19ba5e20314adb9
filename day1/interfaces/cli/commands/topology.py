"""`day1 topology`: draw the tree of branches."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.render import Screen
from day1.interfaces.cli.session import Session, command


@click.command("topology")
@click.argument("root", required=False)
@click.option("--depth", type=click.IntRange(0, 100), help="Levels below the root; default 10.")
@click.option("--archived", is_flag=True, help="Archived branches too.")
@command
def topology_command(
    session: Session, root: str | None, *, depth: int | None, archived: bool
) -> None:
    """Draw the tree of branches below ROOT (default: main), with status and notes."""
    answer = session.call(
        "memory_branch_topology",
        root_branch=root,
        max_depth=depth,
        include_archived=archived or None,
    )
    if not session.answer(answer):
        _draw_tree(session.screen, answer, session.branch(), "", "")
        for change in answer["metadata"].get("protected", ()):
            _say_change(session.screen, change)


def _say_change(screen: Screen, change: dict[str, Any]) -> None:
    """Print who changed the protection of the root, with its rules before and after."""
    author = (
        change["by"] or change["token"] or ("a person" if change["source"] == "user" else "someone")
    )
    rule_texts = [
        "; ".join([", ".join(protection["protection"]) or "nothing", *protection["tiers"]])
        for protection in (change["before"], change["after"])
    ]
    screen.line(
        (f"{change['at'][:16]} by {author}: required {rule_texts[0]}, now {rule_texts[1]}", "dim")
    )


def _draw_tree(
    screen: Screen, node: dict[str, Any], current: str, prefix: str, indent: str
) -> None:
    notes = node["metadata"]
    labels = [node["status"]] if node["status"] != "active" else []
    labels += [str(notes[key]) for key in ("owner", "purpose") if notes[key]]
    labels += [f"#{tag}" for tag in notes["tags"]]
    labels += [f"protected: {', '.join(notes['protection'])}"] if "protection" in notes else []
    labels += [f"tiers: {'; '.join(notes['tiers'])}"] if "tiers" in notes else []
    branch_name = node["branch_name"]
    style = "added" if branch_name == current else "branch"
    current_mark = " *" if branch_name == current else ""
    screen.line(
        prefix,
        (branch_name, style),
        current_mark,
        ("  " + ", ".join(labels) if labels else "", "dim"),
    )
    children = node["children"]
    for position, child in enumerate(children, start=1):
        is_last = position == len(children)
        _draw_tree(
            screen,
            child,
            current,
            indent + ("└── " if is_last else "├── "),
            indent + ("    " if is_last else "│   "),
        )
