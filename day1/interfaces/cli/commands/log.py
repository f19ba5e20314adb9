"""`day1 log`: the commits of a branch, as a list or as a graph."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from day1.interfaces.cli.diffing import draw_commit, summary
from day1.interfaces.cli.moments import brief
from day1.interfaces.cli.options import at_option
from day1.interfaces.cli.render import Part, plural
from day1.interfaces.cli.session import Session, command
from day1.model.values.showing import short_commit

if TYPE_CHECKING:
    from day1.model.rows.change import Commit
    from day1.services.repository.repository import Repository


@click.command("log")
@click.argument("branch", required=False)
@click.option("-n", "limit", type=click.IntRange(1, sys.maxsize), help="Maximum number of commits.")
@click.option("--oneline", is_flag=True, help="Each commit on one line.")
@click.option("--graph", is_flag=True, help="Draw branches and merges; each commit on one line.")
@click.option("--all", "every", is_flag=True, help="Of every branch.")
@at_option
@command
def log_command(session: Session, branch: str | None, **options: Any) -> None:
    """Show the commits of BRANCH, newest first; pending rows come before them.

    Without --graph and --all a merge is one commit, without the commits that it merged.
    """
    from day1.model.values.instant import parse
    from day1.services.access.calls import branch_of

    until_time = session.moment(options["at"], end=True)
    context = session.context()
    repo = context.repo
    tip_by_branch = repo.history.branches()
    current_branch = branch_of(context).name
    branch_names = sorted(tip_by_branch) if options["every"] else [branch_of(context, branch).name]
    commits = _commits(
        repo, branch_names, tip_by_branch, graph=options["graph"] or options["every"]
    )
    if until_time is not None:
        until_instant = parse(until_time)
        commits = (commit for commit in commits if commit.ts <= until_instant)
    commits = islice(commits, options["limit"])
    labels_by_commit = _labels(repo, tip_by_branch, current_branch)
    if session.as_json:
        commit_documents = [
            _document(commit, labels_by_commit.get(commit.id, [])) for commit in commits
        ]
        session.answer(
            {
                "result": commit_documents,
                "read": {"branch": branch_names[0], "commit": tip_by_branch[branch_names[0]]},
            }
        )
    elif options["graph"]:
        _print_graph(session, commits, labels_by_commit)
    else:
        _print_list(session, commits, labels_by_commit, oneline=options["oneline"])


def _commits(
    repo: Repository, names: list[str], tips: dict[str, str], *, graph: bool
) -> Iterator[Commit]:
    """Yield the pending rows, each branch's as one made-up commit, then the commits."""
    for branch_name in names:
        yield from _pending(repo, branch_name, tips[branch_name])
    start_commit_ids = [tips[branch_name] for branch_name in names]
    commits = (
        repo.history.graph(start_commit_ids) if graph else repo.history.log(start_commit_ids[0])
    )
    # The engine makes a commit of its own before day1's first one.
    yield from (commit for commit in commits if commit.parents or commit.op != "foreign")


def _pending(repo: Repository, name: str, tip: str) -> Iterator[Commit]:
    from day1.interfaces.cli.graphing import WAITING_OP
    from day1.model.rows.change import Commit, Ref

    with repo.store.reading(Ref(branch=name)) as reading:
        pending_rows = reading.pending
    if pending_rows.count:
        summary_line = f"(waiting) {plural(pending_rows.count, 'row')} on {name}"
        yield Commit(
            f"{WAITING_OP}:{name}", (tip,), WAITING_OP, pending_rows.newest or 0, "", summary_line
        )


def _labels(repo: Repository, tips: dict[str, str], current: str) -> dict[str, list[str]]:
    """Return the names of branches and snapshots by commit; the current branch comes first."""
    from day1.services.branches.snapshots import snapshots

    labels_by_commit: dict[str, list[str]] = {}
    for branch_name, tip_id in sorted(tips.items(), key=lambda pair: (pair[0] != current, pair[0])):
        labels_by_commit.setdefault(tip_id, []).append(
            f"HEAD -> {branch_name}" if branch_name == current else branch_name
        )
    for snapshot in snapshots(repo, None):
        if snapshot.label:
            labels_by_commit.setdefault(snapshot.commit, []).append(f"snapshot: {snapshot.label}")
    return labels_by_commit


def _document(commit: Commit, labels: list[str]) -> dict[str, Any]:
    from day1.model.values.instant import show

    return {
        "commit": commit.id if commit.parents or ":" not in commit.id else None,
        "parents": list(commit.parents),
        "op": commit.op,
        "author": commit.author,
        "at": show(commit.ts),
        "line": commit.line,
        "labels": labels,
        "meta": dict(commit.meta),
    }


def _print_graph(session: Session, commits: Iterable[Commit], labels: dict[str, list[str]]) -> None:
    from day1.interfaces.cli.graphing import draw_graph

    for drawn_commit in draw_graph(commits):
        session.screen.line(f"{drawn_commit.lanes} ", *_on_one_line(drawn_commit.commit, labels))
        for edge in drawn_commit.edges:
            session.screen.line(edge)


def _print_list(
    session: Session, commits: Iterable[Commit], labels: dict[str, list[str]], *, oneline: bool
) -> None:
    from day1.interfaces.cli.graphing import WAITING_OP

    screen = session.screen
    for index, commit in enumerate(commits):
        if oneline or commit.op == WAITING_OP:
            screen.line(*_on_one_line(commit, labels))
            continue
        if index:
            screen.line()
        screen.line((f"commit {commit.id}", "commit"), *_decoration(commit, labels))
        draw_commit(screen, commit)


def _on_one_line(commit: Commit, labels: dict[str, list[str]]) -> list[Part]:
    from day1.interfaces.cli.graphing import WAITING_OP
    from day1.model.values.instant import show

    if commit.op == WAITING_OP:
        return [(commit.line, "dim")]
    author_and_time = f"  {commit.author}, {brief(show(commit.ts))}"
    styled_commit: Part = (short_commit(commit.id), "commit")
    return [
        styled_commit,
        *_decoration(commit, labels),
        f" {summary(commit)}",
        (author_and_time, "dim"),
    ]


def _decoration(commit: Commit, labels: dict[str, list[str]]) -> list[Part]:
    label_names = labels.get(commit.id)
    return [] if not label_names else [" (", (", ".join(label_names), "branch"), ")"]
