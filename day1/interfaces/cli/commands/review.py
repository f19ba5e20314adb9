"""`day1 review`: see what a branch would change, decide its conflicts together, and merge it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import click

from day1.errors import InvalidRequest, Refused
from day1.interfaces.cli.asking import WHOLE, ask, decision
from day1.interfaces.cli.codes import HELD
from day1.interfaces.cli.diffing import MARKS, one_spaced, text_of, words
from day1.interfaces.cli.options import agent_option
from day1.interfaces.cli.render import Screen, plural, short
from day1.interfaces.cli.session import Session, command
from day1.model.values.showing import short_commit

Document = Mapping[str, Any]

_SIDES = ("ours", "theirs", "skip", "delete", "clear")
_PAGE = 200

review_argument = click.argument("review", required=False)


@click.group("review", invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print the list as one JSON document.")
@click.pass_context
def review_command(ctx: click.Context, *, as_json: bool) -> None:
    """Review a branch before it is merged; without a command, list the open reviews.

    REVIEW is an id or its last letters, or the name of the branch under review; default: the
    current branch.
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_command, as_json=as_json)
    elif as_json:
        raise click.UsageError(f"Write --json after {ctx.invoked_subcommand!r}.")


@review_command.command("list")
@click.option("--all", "every", is_flag=True, help="Also those that are merged or closed.")
@command
def list_command(session: Session, *, every: bool = False) -> None:
    """List reviews, newest first."""
    answer = session.call("review_list", status="all" if every else None)
    if session.answer(answer):
        return
    for review in answer["result"]:
        status_note = "" if review["status"] == "open" else f"  ({review['status']})"
        title_text = f" {review['title']}:" if review["title"] else ""
        session.screen.line(
            (short(review["id"]), "commit"), f"{title_text} {review['summary']}{status_note}"
        )
    if not answer["result"]:
        session.screen.note("No review is open; `day1 review open BRANCH` opens one.")


@review_command.command("open")
@click.argument("source", metavar="[BRANCH]", required=False)
@click.option("--into", metavar="BRANCH", help="Default: main.")
@click.option("-t", "--title", metavar="TEXT", help="Its title in lists.")
@click.option("--description", metavar="TEXT", help="What reviewers should know.")
@agent_option
@command
def open_command(session: Session, source: str | None, **options: Any) -> None:
    """Open a review of BRANCH (default: the current one), or name the one that is open."""
    answer = session.call(
        "review_open",
        source_branch=session.branch(source),
        target_branch=options["into"],
        title=options["title"],
        description=options["description"],
        agent_id=options["agent"],
    )
    if not session.answer(answer):
        session.screen.line("Review ", (short(answer["id"]), "commit"), f": {answer['summary']}")
        _draw_left(session.screen, answer)


@review_command.command("show")
@review_argument
@click.option("--offset", type=click.IntRange(0), help="Rows to leave out.")
@click.option("--limit", type=click.IntRange(1, 200), help="Rows to show; default 50.")
@command
def show_command(session: Session, review: str | None, **options: Any) -> None:
    """Show what REVIEW would change, with both sides of each conflict."""
    answer = session.call("review_show", review_id=_find(session, review), **options)
    if session.answer(answer):
        return
    screen = session.screen
    screen.line((short(answer["id"]), "commit"), f" {answer['title'] or ''}".rstrip())
    screen.line(answer["summary"])
    for row in answer["rows"]:
        _draw_row(screen, row, answer)
    next_offset = answer["offset"] + len(answer["rows"])
    if next_offset < answer["total"]:
        limit_option = f" --limit {options['limit']}" if options["limit"] else ""
        next_command = f"day1 review show {_letters(answer)} --offset {next_offset}{limit_option}"
        screen.note(f"{answer['total'] - next_offset:,} more: `{next_command}`")
    _draw_left(screen, answer)


@review_command.command("decide")
@click.argument("arguments", metavar="[REVIEW] [ID[:CELL]=SIDE]...", nargs=-1)
@agent_option
@command
def decide_command(session: Session, arguments: tuple[str, ...], agent: str | None) -> None:
    """Decide rows of REVIEW: ours, theirs, skip (hold it), delete, or clear (undecide it).

    Without ID=SIDE you are asked about each undecided conflict; each answer is stored at once.
    """
    review_names = [argument for argument in arguments if "=" not in argument]
    if len(review_names) > 1:
        raise click.UsageError(
            f"After REVIEW come decisions, ID[:CELL]={'|'.join(_SIDES)}: "
            f"{review_names[1]!r} has no '='."
        )
    review_id = _find(session, review_names[0] if review_names else None)
    decision_texts = [argument for argument in arguments if "=" in argument]
    if not decision_texts and not session.asks:
        raise click.UsageError(f"No decision is given: add ID[:CELL]={'|'.join(_SIDES)}.")
    if decision_texts:
        rows = _rows(session, review_id)
        choices = [_choice(rows, argument) for argument in decision_texts]
        answer = _decide(session, review_id, choices, agent)
    else:
        answer = _ask_each(session, review_id, agent)
    if not session.answer(answer):
        session.screen.line(answer["summary"])
        _draw_left(session.screen, answer)


@review_command.command("merge")
@review_argument
@click.option("--squash", is_flag=True, help="One commit with one parent; it closes the branch.")
@click.option("--expect", metavar="DIGEST", help="Refuse another plan than this one.")
@agent_option
@command
def merge_command(session: Session, review: str | None, **options: Any) -> None:
    """Merge REVIEW as decided; undecided conflicts are held, and the exit code is then 3."""
    answer = session.call(
        "review_merge",
        review_id=_find(session, review),
        strategy="squash" if options["squash"] else None,
        expect=options["expect"],
        agent_id=options["agent"],
    )
    if not session.answer(answer):
        held_text = f", {answer['rejected_count']:,} held" if answer["rejected_count"] else ""
        merged_text = plural(answer["merged_count"], "memory", "memories")
        session.screen.line(
            f"Merged into {answer['written']['branch']}: {merged_text}{held_text} ",
            (f"({short_commit(answer['written']['commit'])})", "commit"),
        )
        session.notes(answer)
    if answer["rejected_count"]:
        raise click.exceptions.Exit(HELD)


@review_command.command("approve")
@review_argument
@click.option(
    "--expect", metavar="DIGEST", help="Digest of the plan you saw. Default: the present one."
)
@click.option("--withdraw", is_flag=True, help="Take your approval back.")
@agent_option
@command
def approve_command(session: Session, review: str | None, **options: Any) -> None:
    """Approve what REVIEW would merge; this is one of the approvals that its changes need.

    The approval is of the present plan: when that changes, somebody has to look again.
    """
    whole_id = _find(session, review)
    plan = {} if options["expect"] else session.call("review_show", review_id=whole_id, limit=1)
    answer = session.call(
        "review_approve",
        review_id=whole_id,
        expect=options["expect"] or plan["digest"] or "none",
        withdraw=options["withdraw"],
        agent_id=options["agent"],
    )
    if not session.answer(answer):
        session.screen.line(answer["summary"])
        _draw_left(session.screen, answer)


@review_command.command("close")
@review_argument
@click.option("--reason", metavar="TEXT", help="Why; the review shows it.")
@agent_option
@command
def close_command(session: Session, review: str | None, **options: Any) -> None:
    """Close REVIEW without merging."""
    answer = session.call(
        "review_close",
        review_id=_find(session, review),
        reason=options["reason"],
        agent_id=options["agent"],
    )
    if not session.answer(answer):
        session.screen.line(answer["summary"])


def _find(session: Session, text: str | None) -> str:
    """Find a review's id by its last letters or by the branch under review."""
    from day1.services.branches.lookup import name_of
    from day1.services.merges.reviews import reviews

    repo = session.repo()
    all_reviews, review_name = reviews(repo, None), text or session.branch()
    branch_reviews = [
        review for review in all_reviews if name_of(repo, review.source_id) == review_name
    ]
    last_letters = review_name.rpartition("_")[2].upper()
    matching_reviews = [
        review for review in branch_reviews if review.status == "open"
    ] or branch_reviews[:1]
    matching_reviews = matching_reviews or [
        review for review in all_reviews if last_letters and review.id.endswith(last_letters)
    ]
    if len(matching_reviews) != 1:
        problem = "No review" if not matching_reviews else "More than one review"
        raise InvalidRequest(
            f"{problem} {review_name!r}; `day1 review list` shows them.", review=review_name
        )
    return matching_reviews[0].id


def _rows(session: Session, review: str) -> list[Document]:
    """Read every row of a review, page by page."""
    rows: list[Document] = []
    while True:
        answer = session.call("review_show", review_id=review, offset=len(rows), limit=_PAGE)
        rows += answer["rows"]
        if len(rows) >= answer["total"] or not answer["rows"]:
            return rows


def _choice(rows: Iterable[Document], text: str) -> dict[str, Any]:
    """Parse the decision `ID[:CELL]=SIDE`, with ID completed from the review's rows."""
    row_name, _, side = text.rpartition("=")
    row_name, _, cell = row_name.partition(":")
    if side not in _SIDES or not row_name:
        raise click.UsageError(f"A decision is ID[:CELL]={'|'.join(_SIDES)}, not {text!r}.")
    last_letters = row_name.rpartition("_")[2].upper()
    matching_ids = {str(row["id"]) for row in rows if str(row["id"]).endswith(last_letters)}
    if len(matching_ids) > 1:
        raise InvalidRequest(
            f"The review has several rows {row_name!r}: write more letters of the id.", id=row_name
        )
    return {
        "id": matching_ids.pop() if matching_ids else row_name,
        "cell": cell or WHOLE,
        "take": side,
    }


def _decide(
    session: Session, review: str, choices: list[dict[str, Any]], agent: str | None
) -> dict[str, Any]:
    return session.call("review_decide", review_id=review, decisions=choices, agent_id=agent)


def _ask_each(session: Session, review: str, agent: str | None) -> dict[str, Any]:
    """Ask about each undecided conflict once; each answer is stored at once."""
    cells_asked: set[tuple[str, str]] = set()
    while True:
        answer = session.call("review_show", review_id=review, limit=_PAGE)
        row_by_id = {row["id"]: row for row in answer["rows"]}
        unasked_conflicts = [
            item for item in answer["undecided"] if (item["id"], item["cell"]) not in cells_asked
        ]
        unasked_conflicts = [
            conflict for conflict in unasked_conflicts if conflict["id"] in row_by_id
        ]
        if not unasked_conflicts:
            return answer
        for conflict in unasked_conflicts:
            cells_asked.add((conflict["id"], conflict["cell"]))
            row = row_by_id[conflict["id"]]
            branch_names = answer["source_branch"], answer["target_branch"]
            try:
                choice = ask(session.screen, _conflict(row, conflict), *branch_names)
            except Refused:
                return answer
            choice = choice or decision(conflict, "skip")
            _decide(session, review, [{**choice, "seen": row["seen"]}], agent)


def _conflict(row: Document, conflict: Document) -> dict[str, Any]:
    """Return a conflict in the form that `ask` takes: with the texts of both sides."""
    row_by_side = {"source": row["theirs"], "target": row["ours"]}
    return {
        **conflict,
        **{
            side_name: _cell(row, side_row, conflict["cell"])
            for side_name, side_row in row_by_side.items()
        },
    }


def _cell(row: Document, side: Document | None, cell: str) -> str:
    if side is None:
        return ""
    if cell == WHOLE:
        return text_of({**side, "type": row["type"]})
    return "" if side.get(cell) is None else str(side[cell])


def _draw_row(screen: Screen, row: Document, review: Document) -> None:
    """Draw one row: its effect, and both sides of its conflicts."""
    effect_mark = MARKS.get(row["effect"], ("  ", ""))
    shown_row = row["theirs"] or row["ours"] or row["base"]
    row_text = text_of({**shown_row, "type": row["type"]})
    screen.line(effect_mark, (short(row["id"]), "commit"), f" {row_text}", (_by(row), "dim"))
    reasons = {**{held_item["cell"]: "held" for held_item in row["held"]}, **row["clashes"]}
    if row["group"] == "changed" and row["ours"] and row["theirs"]:
        our_row, their_row = row["ours"], row["theirs"]
        reasons = {
            column: ""
            for column in {**our_row, **their_row}
            if our_row.get(column) != their_row.get(column)
        }
    label_width = max(len(review["source_branch"]), len(review["target_branch"])) + 1
    for cell, reason in reasons.items():
        our_text, their_text = (
            _cell(row, row[side_name], cell) for side_name in ("ours", "theirs")
        )
        if reason:
            screen.line(("    conflict ", "warn"), f"{cell}: {reason.replace('_', ' ')}")
            screen.line(
                f"    {review['target_branch'] + ':':<{label_width}} {one_spaced(our_text)}"
            )
            value_texts = (
                words(screen, our_text, their_text)
                if our_text and their_text
                else [one_spaced(their_text)]
            )
            screen.line(f"    {review['source_branch'] + ':':<{label_width}} ", *value_texts)
        else:
            screen.line(f"    {cell}: ", *words(screen, our_text, their_text))
    for twin in row["twins"]:
        screen.line(("    possible duplicate ", "warn"), f"({twin['cosine']:.2f}) ", twin["text"])
    if row["tier"] is not None:
        screen.line(("    tier ", "dim"), f"{row['tier']}: {row['why']}")
    for decision_document in row["decisions"]:
        stale_note = " (stale)" if decision_document["stale"] else ""
        author_note = f" by {decision_document['by']}" if decision_document["by"] else ""
        screen.line(
            ("    decided ", "ok"),
            f"{decision_document['cell']}: {decision_document['take']}{author_note}{stale_note}",
        )


def _letters(review: Document) -> str:
    """Return the last letters of a review's id, by which commands find it."""
    return short(review["id"]).rpartition("_")[2]


def _by(row: Document) -> str:
    author = row["theirs_by"] or row["ours_by"]
    return f"  {author['agent_id']}" if author and author["agent_id"] else ""


def _draw_left(screen: Screen, answer: Document) -> None:
    """Draw what is still required before the review can be merged."""
    if answer["stale"]:
        ids = ", ".join(short(row["id"]) for row in answer["stale"])
        screen.note(
            f"Changed after the decision: {ids}. Decide them again, or clear them with ID=clear."
        )
    if answer["tier"] and answer["tier"]["needs"] and "tiers" not in answer["missing"]:
        approvals = answer["tier"]
        screen.note(f"Approvals: {approvals['looks']} of {approvals['needs']} ({approvals['why']})")
    for requirement, reason in answer["missing"].items():
        if requirement != "review":  # it means undecided conflicts, which the next note counts
            screen.note(f"{answer['target_branch']} is protected. {reason}")
    if answer["undecided_count"]:
        conflicts_text = plural(answer["undecided_count"], "conflict")
        screen.note(f"{conflicts_text} left: `day1 review decide {_letters(answer)}`")
    elif answer["can_merge"]:
        screen.note(f"`day1 review merge {_letters(answer)}` merges it")
