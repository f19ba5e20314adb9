"""The dialogue of a merge: show the plan, ask about its conflicts, merge by that plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from day1.interfaces.cli.asking import WHOLE, ChoiceDocument, ask, decision, show_conflict
from day1.interfaces.cli.codes import HELD, WAITS
from day1.interfaces.cli.diffing import MARKS, one_spaced
from day1.interfaces.cli.options import agent_option
from day1.interfaces.cli.render import one_line, plural, short
from day1.interfaces.cli.session import Session
from day1.model.values.showing import short_commit

Document = dict[str, Any]
Decide = Callable[[Document], ChoiceDocument | None]

_MAX_SHOWN = 20
"""The most rows of a plan that are shown; `day1 diff` shows all."""


@dataclass(frozen=True, slots=True)
class MergeDialogue:
    """The branches, strategy and rows of a merge that a person decides."""

    source: str
    target: str
    strategy: str
    items: list[str] | None
    agent: str | None

    def preview(self, session: Session, choices: list[ChoiceDocument], **more: Any) -> Document:
        """Ask for the plan with these choices; nothing changes."""
        return session.call("memory_merge_preview", **self._sides(choices), **more)

    def do(self, session: Session, choices: list[ChoiceDocument], digest: str) -> Document:
        """Merge by the plan with this digest; any other plan is refused."""
        merge_arguments = self._sides(choices)
        return session.call(
            "memory_branch_merge", **merge_arguments, expect=digest, agent_id=self.agent
        )

    def _sides(self, choices: list[ChoiceDocument]) -> Document:
        return {
            "source_branch": self.source,
            "target_branch": self.target,
            "strategy": self.strategy,
            "items": self.items,
            "choices": choices,
        }


def merge_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of commands that merge."""
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
        click.option("-y", "--yes", is_flag=True, help="Ask nothing: conflicts are held."),
        agent_option,
    ):
        command = option(command)
    return command


def decide_and_merge(session: Session, merge: MergeDialogue, options: Mapping[str, Any]) -> None:
    """Show the plan, decide its conflicts, and merge by the plan that was shown."""
    if options["ours"] and options["theirs"]:
        raise click.UsageError("Use --ours or --theirs, not both.")
    choices = _chosen(session, merge, options["choose"])
    plan = merge.preview(session, choices, hold_duplicates=options["hold_duplicates"])
    if plan["choices"]:
        choices += plan["choices"]
        plan = merge.preview(session, choices)
    if not session.as_json:
        _draw_plan(session, merge, plan)
    plan = _decide_conflicts(session, merge, plan, choices, _decider(session, merge, options))
    if options["dry_run"]:
        if not session.answer(plan):
            for conflict in plan["conflicts"]:
                show_conflict(session.screen, conflict, merge.source, merge.target)
        return
    answer = merge.do(session, choices, plan["digest"])
    if not session.answer(answer):
        _draw_merged(session, merge, answer)
    if answer["rejected_count"] or answer["review_id"]:
        raise click.exceptions.Exit(HELD if answer["rejected_count"] else WAITS)


def _chosen(session: Session, merge: MergeDialogue, texts: tuple[str, ...]) -> list[ChoiceDocument]:
    """Parse the decisions in the values of `--choose`."""
    choices = []
    for decision_text in texts:
        row_name, _, side = decision_text.rpartition("=")
        row_name, _, cell = row_name.partition(":")
        if side not in {"ours", "theirs", "skip"} or not row_name:
            raise click.UsageError(
                f"--choose takes ID[:CELL]=ours|theirs|skip, not {decision_text!r}."
            )
        row_id = session.whole_id(row_name, merge.source)
        choices.append({"id": row_id, "cell": cell or WHOLE, "take": side})
    return choices


def _decider(session: Session, merge: MergeDialogue, options: Mapping[str, Any]) -> Decide:
    """Return the function that decides the conflicts that `--choose` leaves open."""
    if options["ours"] or options["theirs"]:
        default_side = "ours" if options["ours"] else "theirs"
        return lambda conflict: decision(conflict, default_side)
    if not session.asks or options["yes"] or options["dry_run"]:
        return lambda _: None

    def ask_person(conflict: Document) -> ChoiceDocument | None:
        # Another conflict, which the person is asked about, decides this one too.
        if conflict["reason"] in {"belongs_to", "skipped", "duplicate"}:
            return None
        return ask(session.screen, conflict, merge.source, merge.target)

    return ask_person


def _decide_conflicts(
    session: Session,
    merge: MergeDialogue,
    plan: Document,
    choices: list[ChoiceDocument],
    decide: Decide,
) -> Document:
    """Decide each conflict once, and return the last plan: a decision may cause new conflicts."""
    decided_cells = {(choice["id"], choice["cell"]) for choice in choices}
    while True:
        undecided = [
            plan_conflict
            for plan_conflict in plan["conflicts"]
            if decided_cells.isdisjoint(
                {(plan_conflict["id"], plan_conflict["cell"]), (plan_conflict["id"], WHOLE)}
            )
        ]
        decisions = [choice for conflict in undecided if (choice := decide(conflict)) is not None]
        if not decisions:
            return plan
        decided_cells |= {(conflict["id"], conflict["cell"]) for conflict in undecided}
        choices += decisions
        plan = merge.preview(session, choices)


def _draw_plan(session: Session, merge: MergeDialogue, plan: Document) -> None:
    screen = session.screen
    rows = [row for row in plan["rows"] if row["effect"] != "kept"]
    for row in rows[:_MAX_SHOWN]:
        row_text = f" {one_line(row['text'])}"
        screen.line(MARKS[row["effect"]], (short(row["id"]), "commit"), row_text)
    if len(rows) > _MAX_SHOWN:
        screen.line(
            f"… and {len(rows) - _MAX_SHOWN:,} more (`day1 diff {merge.target} {merge.source}`)"
        )
    for twin in plan["possible_duplicates"]:
        screen.line(
            ("possible duplicate ", "warn"),
            (short(twin["id"]), "commit"),
            f" of {short(twin['other_id'])} ({twin['cosine']:.2f})",
        )
        screen.line(f"    {one_spaced(twin['text'])}")
        screen.line(f"    {one_spaced(twin['other_text'])}")


def _draw_merged(session: Session, merge: MergeDialogue, answer: Document) -> None:
    screen = session.screen
    if answer["review_id"]:
        review_id = short(answer["review_id"])
        screen.note(
            f"{plural(len(answer['left']), 'change')} must be looked at first, by the tiers of "
            f"{merge.target}: `day1 review show {review_id.rpartition('_')[2]}` says which and why"
        )
    if not answer["merged_count"] + answer["rejected_count"]:
        up_to_date_text = f"Already up to date: {merge.target} has it all."
        screen.line("Nothing is merged yet." if answer["review_id"] else up_to_date_text)
        return
    verb = {"auto": "Merged", "squash": "Squashed", "cherry_pick": "Picked from"}[merge.strategy]
    held_text = f", {answer['rejected_count']:,} held" if answer["rejected_count"] else ""
    merged_text = plural(answer["merged_count"], "memory", "memories")
    screen.line(
        f"{verb} {merge.source} into {merge.target}: {merged_text}{held_text} ",
        (f"({short_commit(answer['written']['commit'])})", "commit"),
    )
    for conflict in answer["conflicts"]:
        cell_label = "" if conflict["cell"] == WHOLE else f" {conflict['cell']}"
        screen.line(("held ", "warn"), (short(conflict["id"]), "commit"), cell_label)
    if answer["conflicts"]:
        screen.note("`day1 held` lists what is held and decides it")
    if not answer["review_id"]:  # the note about the review is drawn already
        session.notes(answer)
    if merge.strategy == "squash":
        screen.note(f"{merge.source} is closed now; fork anew to go on")
