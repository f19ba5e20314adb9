"""Commands for branches and marks: branch, switch, topology, snapshot."""

from __future__ import annotations

from typing import Any

import click

from day1.errors import Refused
from day1.interfaces.cli.moments import brief
from day1.interfaces.cli.render import Part, Screen
from day1.interfaces.cli.session import Session, branch_option, porcelain
from day1.model.values.showing import short_commit


@click.command("branch")
@click.argument("name", required=False)
@click.argument("start", required=False)
@click.option("-d", "--delete", is_flag=True, help="Delete NAME, if another branch has it all.")
@click.option("-D", "force", is_flag=True, help="Delete NAME whatever it has.")
@click.option("--archive/--unarchive", "archives", default=None, help="Put NAME away, or not.")
@click.option("--protect", metavar="LIST", help="NAME takes only merges: review,gate,other.")
@click.option("--unprotect", is_flag=True, help="NAME takes writes again.")
@click.option("--description", metavar="TEXT", help="Of a new branch.")
@click.option("-v", "--verbose", is_flag=True, help="List with commit, parent and description.")
@porcelain
def branch_command(session: Session, name: str | None, start: str | None, **given: Any) -> None:
    """List branches; with NAME create one from START (default: the current branch).

    Memories of a deleted branch stay behind a tag of the store. A protected branch takes
    merges only: reviewed, of verified facts (gate), by another token than the author's.
    """
    deletes = given["delete"] or given["force"]
    protects = given["unprotect"] or given["protect"] is not None
    archives = given["archives"] is not None
    asked = (deletes, archives, protects, bool(start or given["description"]))
    if sum(asked) > 1:
        raise click.UsageError("Create, delete, archive, protect: one at a time.")
    if name is None:
        if any(asked):
            raise click.UsageError("Which branch? Give its NAME.")
        _list(session, verbose=given["verbose"])
    elif deletes:
        _delete(session, name, force=given["force"])
    elif protects:
        _protect(session, name, given["protect"], lifts=given["unprotect"])
    elif archives:
        _archive(session, name, archived=given["archives"])
    else:
        answer = _create(session, name, start, given["description"])
        if not session.answer(answer):
            session.screen.line(f"Branch {answer['branch_name']} created from {answer['parent']}.")


def _create(
    session: Session, name: str, start: str | None, description: str | None
) -> dict[str, Any]:
    return session.call(
        "memory_branch_create",
        branch_name=name,
        parent_branch=start or session.branch(),
        description=description,
    )


def _delete(session: Session, name: str, *, force: bool) -> None:
    from day1.services.branches.deleting import delete
    from day1.services.upkeep.status import is_taken

    repo = session.repo()
    if not force and not is_taken(repo, name):
        raise Refused(
            f"No other branch has all of {name!r}: merge it first, or delete it with "
            f"`day1 branch -D {name}`.",
            branch=name,
        )
    gone = delete(repo, name, session.branch(), session.now())
    if not session.answer({"branch_name": name, "deleted": True, "commit": gone.retired_tip}):
        session.screen.line(f"Deleted branch {name} (was {short_commit(str(gone.retired_tip))}).")


def _archive(session: Session, name: str, *, archived: bool) -> None:
    from day1.services.branches.deleting import archive

    archive(session.repo(), name, archived=archived)
    if not session.answer({"branch_name": name, "archived": archived}):
        session.screen.line(f"Branch {name} is {'archived' if archived else 'not archived'}.")


def _protect(session: Session, name: str, requires: str | None, *, lifts: bool) -> None:
    if lifts == (requires is not None):
        raise click.UsageError("--protect LIST or --unprotect, not both.")
    named = [part.strip() for part in (requires or "").split(",") if part.strip()]
    if not lifts and not named:
        raise click.UsageError("--protect takes one or more of: review, gate, other.")
    answer = session.call("memory_branch_protect", branch_name=name, requires=named)
    if not session.answer(answer):
        said = ", ".join(answer["requires"])
        told = f"takes only merges that fulfil: {said}" if said else "takes writes"
        session.screen.line(f"Branch {name} {told}.")


def _list(session: Session, *, verbose: bool) -> None:
    answer = session.call("memory_branch_list")
    if session.answer(answer):
        return
    if verbose:
        rows: list[list[Part]] = [
            [
                "*" if item["active"] else " ",
                (item["branch_name"], "branch"),
                (short_commit(item["commit"]), "commit"),
                item["status"],
                item["parent"],
                item["description"],
            ]
            for item in answer["result"]
        ]
        session.screen.table(("", "branch", "commit", "status", "parent", "description"), rows)
        return
    for item in answer["result"]:
        told = "" if item["status"] == "active" else f"  ({item['status']})"
        name: Part = item["branch_name"]
        if item["active"]:
            name = (item["branch_name"], "added")
        session.screen.line("* " if item["active"] else "  ", name, (told, "dim"))


@click.command("switch")
@click.argument("name")
@click.argument("start", required=False)
@click.option("-c", "--create", is_flag=True, help="Create NAME from START first.")
@click.option("--description", metavar="TEXT", help="With -c: of the new branch.")
@porcelain
def switch_command(
    session: Session,
    name: str,
    start: str | None,
    *,
    create: bool,
    description: str | None,
) -> None:
    """Go to branch NAME; what you add, search and diff is on it from then on.

    A retired branch is brought back. Only the command line moves: agents have a HEAD of
    their own.
    """
    if not create and (start or description):
        raise click.UsageError("START and --description go with -c.")
    done = "Switched to"
    if create:
        _create(session, name, start, description)
        done = "Switched to a new"
    elif _revive(session, name):
        done = "Brought back and switched to"
    answer = session.call("memory_branch_switch", branch_name=name)
    if not session.answer(answer):
        session.screen.line(f"{done} branch ", (answer["active_branch"], "branch"))


def _revive(session: Session, name: str) -> bool:
    from day1.services.upkeep.retiring import revive

    repo = session.repo()
    known = repo.ledger.branch(name)
    if known is None or known.name != name or known.retired_tip is None:
        return False
    revive(repo, name, session.now())
    return True


@click.command("topology")
@click.argument("root", required=False)
@click.option("--depth", type=click.IntRange(0, 100), help="Levels below the root; default 10.")
@click.option("--archived", is_flag=True, help="Archived branches too.")
@porcelain
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


def _draw_tree(screen: Screen, node: dict[str, Any], here: str, first: str, then: str) -> None:
    notes = node["metadata"]
    told = [node["status"]] if node["status"] != "active" else []
    told += [str(notes[key]) for key in ("owner", "purpose") if notes[key]]
    told += [f"#{tag}" for tag in notes["tags"]]
    told += [f"protected: {', '.join(notes['protection'])}"] if "protection" in notes else []
    name = node["branch_name"]
    style = "added" if name == here else "branch"
    star = " *" if name == here else ""
    screen.line(first, (name, style), star, ("  " + ", ".join(told) if told else "", "dim"))
    children = node["children"]
    for number, child in enumerate(children, start=1):
        last = number == len(children)
        _draw_tree(
            screen,
            child,
            here,
            then + ("└── " if last else "├── "),
            then + ("    " if last else "│   "),
        )


@click.command("snapshot")
@click.argument("label", required=False)
@click.option("-l", "--list", "lists", is_flag=True, help="List snapshots, oldest first.")
@branch_option
@porcelain
def snapshot_command(
    session: Session, label: str | None, *, lists: bool, branch: str | None
) -> None:
    """Mark a branch's present state under LABEL, so that it can be shown and restored."""
    if lists:
        if label is not None:
            raise click.UsageError("--list takes no LABEL.")
        _list_snapshots(session, branch)
        return
    answer = session.call("memory_snapshot", label=label, branch=branch)
    if not session.answer(answer):
        where = answer["written"]
        session.screen.line(
            f"Snapshot {answer['label'] or answer['snapshot_id']} of {where['branch']} at ",
            (short_commit(where["commit"]), "commit"),
        )


def _list_snapshots(session: Session, branch: str | None) -> None:
    answer = session.call("memory_snapshot_list", branch=branch)
    if session.answer(answer):
        return
    rows: list[list[Part]] = [
        [
            (item["id"], "commit"),
            brief(item["created_at"]),
            (short_commit(item["commit"]), "commit"),
            item["branch"],
            item["label"],
        ]
        for item in answer["result"]
    ]
    session.screen.table(("id", "taken", "commit", "branch", "label"), rows)
