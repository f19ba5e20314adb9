"""Commands that compare and join: diff, merge, cherry-pick."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from day1.errors import InvalidRequest
from day1.interfaces.cli.asking import WHOLE, ChoiceDocument, ask, decided, show_conflict
from day1.interfaces.cli.codes import HELD
from day1.interfaces.cli.diffing import change_documents, draw, draw_changes, one_spaced
from day1.interfaces.cli.render import one_line, plural, short
from day1.interfaces.cli.session import Session, agent_option, porcelain
from day1.model.values.showing import short_commit

if TYPE_CHECKING:
    from day1.services.repository.repository import Repository

Document = dict[str, Any]
Decide = Callable[[Document], ChoiceDocument | None]

_SHOWN = 20
"""Rows of a plan that are shown; `day1 diff` shows all."""


@click.command("diff")
@click.argument("a", required=False)
@click.argument("b", required=False)
@click.option("-c", "--category", metavar="NAME", help="Facts of this category only.")
@porcelain
def diff_command(session: Session, a: str | None, b: str | None, category: str | None) -> None:
    """Show what branch B has that A has not, since they last were one.

    B is the current branch if left out, A its parent: what merging up would bring. A may
    also be a snapshot or a commit: then what B has become since is shown.
    """
    from day1.services.branches.resolving import state

    repo = session.repo()
    b = session.branch(b)
    a = a or _parent(repo, b)
    since = state(repo, a)
    if since.how != "branch":
        if category is not None:
            raise click.UsageError("--category goes with branches.")
        _since(session, since.commit, b)
        return
    answer = session.call(
        "memory_branch_diff", source_branch=b, target_branch=since.name, category=category
    )
    if not session.answer(answer):
        _draw_diff(session, answer, b, since.name)


def _parent(repo: Repository, name: str) -> str:
    from day1.services.branches.lookup import find

    parent = find(repo, name).parent_id
    for branch in repo.ledger.branches():
        if branch.id == parent and branch.retired_tip is None:
            return branch.name
    raise InvalidRequest(
        f"{name!r} has no parent to compare with: name two branches, `day1 diff {name} OTHER`."
    )


def _since(session: Session, commit: str, branch: str) -> None:
    from day1.model.rows.change import Ref

    changes = session.repo().history.changes(commit, Ref(branch=branch))
    documents = change_documents(changes)
    if not session.answer({**documents, "since": commit, "branch": branch}):
        draw_changes(session.screen, changes)


def _draw_diff(session: Session, answer: Document, source: str, target: str) -> None:
    screen = session.screen
    added = [*answer["new_facts"], *answer["new_observations"], *answer["new_relations"]]
    draw(screen, added, answer["changed"], answer["removed"])
    for conflict in answer["conflicts"]:
        show_conflict(screen, conflict, source, target)
    if answer["held"]:
        screen.note(f"{plural(len(answer['held']), 'item')} held on {target}: `day1 held` decides")
    if not (added or answer["changed"] or answer["removed"] or answer["conflicts"]):
        screen.note(f"{source} has nothing that {target} has not.")


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merge that is being decided."""

    source: str
    target: str
    strategy: str
    items: list[str] | None
    agent: str | None

    def preview(self, session: Session, choices: list[ChoiceDocument], **more: Any) -> Document:
        """The plan with these choices; nothing changes."""
        return session.call("memory_merge_preview", **self._sides(choices), **more)

    def do(self, session: Session, choices: list[ChoiceDocument], digest: str) -> Document:
        """Merge by the plan that was previewed, and no other."""
        sides = self._sides(choices)
        return session.call("memory_branch_merge", **sides, expect=digest, agent_id=self.agent)

    def _sides(self, choices: list[ChoiceDocument]) -> Document:
        return {
            "source_branch": self.source,
            "target_branch": self.target,
            "strategy": self.strategy,
            "items": self.items,
            "choices": choices,
        }


def deciding(command: Callable[..., None]) -> Callable[..., None]:
    """The options of commands that merge."""
    for option in (
        click.option("--into", metavar="BRANCH", help="Default: the current branch."),
        click.option("--ours", is_flag=True, help="In each conflict keep the target's side."),
        click.option("--theirs", is_flag=True, help="In each conflict take the source's side."),
        click.option(
            "--choose",
            multiple=True,
            metavar="ID[:CELL]=SIDE",
            help="Decide one: ours, theirs or skip. Repeatable.",
        ),
        click.option("--dry-run", is_flag=True, help="Show the plan and stop."),
        click.option("-y", "--yes", is_flag=True, help="Ask nothing: what clashes is held."),
        agent_option,
    ):
        command = option(command)
    return command


@click.command("merge")
@click.argument("source")
@click.option("--squash", is_flag=True, help="One commit with one parent; it closes SOURCE.")
@click.option("--hold-duplicates", is_flag=True, help="Hold what may say the same in other words.")
@deciding
@porcelain
def merge_command(session: Session, source: str, **given: Any) -> None:
    """Merge SOURCE into the current branch.

    On a terminal each conflict is asked about; else, and with --yes, what clashes keeps the
    target's side and is held, and the exit code is 3.
    """
    target = session.branch(given["into"])
    strategy = "squash" if given["squash"] else "auto"
    _decide(session, _Merge(source, target, strategy, None, given["agent"]), given)


@click.command("cherry-pick")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("--from", "source", metavar="BRANCH", help="Default: the branch that has them.")
@deciding
@porcelain
def cherry_pick_command(session: Session, ids: tuple[str, ...], **given: Any) -> None:
    """Take single memories, as they are, from another branch into the current one."""
    from day1.services.branches.resolving import source_of

    target = session.branch(given["into"])
    source, items = source_of(session.repo(), ids, target, given["source"])
    merge = _Merge(source, target, "cherry_pick", items, given["agent"])
    _decide(session, merge, {**given, "hold_duplicates": False})


def _decide(session: Session, merge: _Merge, given: Mapping[str, Any]) -> None:
    """Show the plan, settle its conflicts, and merge by exactly the plan that was shown."""
    if given["ours"] and given["theirs"]:
        raise click.UsageError("--ours or --theirs, not both.")
    choices = _chosen(session, merge, given["choose"])
    plan = merge.preview(session, choices, hold_duplicates=given["hold_duplicates"])
    if plan["choices"]:
        choices += plan["choices"]
        plan = merge.preview(session, choices)
    if not session.as_json:
        _draw_plan(session, merge, plan)
    plan = _settle(session, merge, plan, choices, _decider(session, merge, given))
    if given["dry_run"]:
        if not session.answer(plan) and plan["conflicts"]:
            _draw_conflicts(session, merge, plan)
        return
    answer = merge.do(session, choices, plan["digest"])
    if not session.answer(answer):
        _draw_merged(session, merge, answer)
    if answer["rejected_count"]:
        raise click.exceptions.Exit(HELD)


def _chosen(session: Session, merge: _Merge, given: tuple[str, ...]) -> list[ChoiceDocument]:
    """What `--choose` decides."""
    from day1.model.rows.change import Ref
    from day1.services.branches.resolving import row_id

    choices = []
    for text in given:
        name, _, side = text.rpartition("=")
        name, _, cell = name.partition(":")
        if side not in {"ours", "theirs", "skip"} or not name:
            raise click.UsageError(f"--choose takes ID[:CELL]=ours|theirs|skip, not {text!r}.")
        with session.repo().store.reading(Ref(branch=merge.source)) as reading:
            choices.append({"id": row_id(reading, name), "cell": cell or WHOLE, "take": side})
    return choices


def _decider(session: Session, merge: _Merge, given: Mapping[str, Any]) -> Decide:
    """How conflicts are settled that `--choose` leaves."""
    if given["ours"] or given["theirs"]:
        side = "ours" if given["ours"] else "theirs"
        return lambda conflict: decided(conflict, side)
    if not session.asks or given["yes"] or given["dry_run"]:
        return lambda _: None

    def asked(conflict: Document) -> ChoiceDocument | None:
        # It follows what it belongs to, which is asked about.
        if conflict["reason"] in {"belongs_to", "skipped", "duplicate"}:
            return None
        return ask(session.screen, conflict, merge.source, merge.target)

    return asked


def _settle(
    session: Session, merge: _Merge, plan: Document, choices: list[ChoiceDocument], decide: Decide
) -> Document:
    """Decide each conflict once; one decision may bring up others. Answers the last plan."""
    seen = {(choice["id"], choice["cell"]) for choice in choices}
    while True:
        fresh = [
            c
            for c in plan["conflicts"]
            if seen.isdisjoint({(c["id"], c["cell"]), (c["id"], WHOLE)})
        ]
        made = [choice for conflict in fresh if (choice := decide(conflict)) is not None]
        if not made:
            return plan
        seen |= {(conflict["id"], conflict["cell"]) for conflict in fresh}
        choices += made
        plan = merge.preview(session, choices)


def _draw_plan(session: Session, merge: _Merge, plan: Document) -> None:
    screen = session.screen
    rows = [row for row in plan["rows"] if row["effect"] != "kept"]
    marks = {"new": ("+ ", "added"), "changed": ("~ ", "changed"), "removed": ("- ", "removed")}
    for row in rows[:_SHOWN]:
        said = f" {one_line(row['text'])}"
        screen.line(marks[row["effect"]], (short(row["id"]), "commit"), said)
    if len(rows) > _SHOWN:
        screen.line(
            f"… and {len(rows) - _SHOWN:,} more (`day1 diff {merge.target} {merge.source}`)"
        )
    for twin in plan["possible_duplicates"]:
        screen.line(
            ("possible duplicate ", "warn"),
            (short(twin["id"]), "commit"),
            f" of {short(twin['other_id'])} ({twin['cosine']:.2f})",
        )
        screen.line(f"    {one_spaced(twin['text'])}")
        screen.line(f"    {one_spaced(twin['other_text'])}")


def _draw_conflicts(session: Session, merge: _Merge, plan: Document) -> None:
    for conflict in plan["conflicts"]:
        show_conflict(session.screen, conflict, merge.source, merge.target)


def _draw_merged(session: Session, merge: _Merge, answer: Document) -> None:
    screen = session.screen
    if not answer["merged_count"] + answer["rejected_count"]:
        screen.line(f"Already up to date: {merge.target} has it all.")
        return
    done = {"auto": "Merged", "squash": "Squashed", "cherry_pick": "Picked from"}[merge.strategy]
    held = f", {answer['rejected_count']:,} held" if answer["rejected_count"] else ""
    merged = plural(answer["merged_count"], "memory", "memories")
    screen.line(
        f"{done} {merge.source} into {merge.target}: {merged}{held} ",
        (f"({short_commit(answer['written']['commit'])})", "commit"),
    )
    for conflict in answer["conflicts"]:
        cell = "" if conflict["cell"] == WHOLE else f" {conflict['cell']}"
        screen.line(("held ", "warn"), (short(conflict["id"]), "commit"), cell)
    if answer["conflicts"]:
        screen.note("`day1 held` lists what is held and decides it")
    for left in answer["left"]:
        screen.note(f"{short(left)} is superseded on {merge.source} and stays active here")
    if merge.strategy == "squash":
        screen.note(f"{merge.source} is closed now; fork anew to go on")
