"""`day1 verify`: judge a fact or a branch's facts, or say whether a branch may be merged."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from day1.interfaces.cli.codes import FAILED, INTERRUPTED
from day1.interfaces.cli.options import agent_option, branch_option
from day1.interfaces.cli.render import place, plural, short
from day1.interfaces.cli.session import Session, command

_COLOURS: Final = {"verified": "ok", "invalidated": "warn", "unverified": "dim"}


@click.command("verify")
@click.argument("fact_id", metavar="[ID]", required=False)
@click.option("--gate", is_flag=True, help="Say whether the branch may be merged; exit 1 if not.")
@click.option("--into", metavar="NAME", help="With --gate: the branch to merge into; default main.")
@click.option("-n", "--limit", type=click.IntRange(1, 500), help="Maximum number; default 50.")
@click.option("--all", "every", is_flag=True, help="Also facts that have a verdict.")
@click.option("--context", metavar="TEXT", help="With ID: what the fact is needed for.")
@branch_option
@agent_option
@command
def verify_command(session: Session, fact_id: str | None, **options: Any) -> None:
    """Judge the fact ID, or the branch's facts, by other memories; verdicts are stored.

    Facts without a verdict come first. After an interrupt, the verdicts up to then stay stored.
    """
    _check_options(fact_id, options)
    if options["gate"]:
        _gate(session, options)
    elif fact_id is not None:
        _one(session, fact_id, options)
    else:
        _many(session, options)


def _check_options(fact_id: str | None, options: dict[str, Any]) -> None:
    """Refuse options that would have no effect."""
    if options["into"] and not options["gate"]:
        raise click.UsageError("--into can be used with --gate only.")
    if options["context"] and fact_id is None:
        raise click.UsageError("--context can be used with an ID only.")
    if fact_id is not None and options["gate"]:
        raise click.UsageError("--gate checks a branch, so it takes no ID.")
    if (options["limit"] or options["every"]) and (options["gate"] or fact_id is not None):
        raise click.UsageError("--limit and --all cannot be used with an ID or --gate.")


def _one(session: Session, fact_id: str, options: dict[str, Any]) -> None:
    whole_id = session.whole_id(fact_id, session.branch(options["branch"]))
    answer = session.call(
        "verify_fact",
        fact_id=whole_id,
        context=options["context"],
        branch=options["branch"],
        agent_id=options["agent"],
    )
    if not session.answer(answer):
        verdict = answer["verdict"]
        styled_verdict = (verdict, _COLOURS[verdict])
        session.screen.line(
            (short(whole_id), "commit"), " ", styled_verdict, (f" by {answer['judge']}", "dim")
        )
        for score in answer["scores"]:
            reason = f"  {score['reason']}" if score["reason"] else ""
            session.screen.line(f"  {score['dimension']:<12} {score['score']:.2f}{reason}")
    session.notes(answer)


def _many(session: Session, options: dict[str, Any]) -> None:
    with _interrupted() as is_interrupted, session.screen.progress("Verifying") as report_progress:
        answer = session.call(
            "verify_batch",
            watch=(report_progress, is_interrupted),
            branch_name=options["branch"],
            limit=options["limit"],
            only_unverified=not options["every"],
            agent_id=options["agent"],
        )
    if not session.answer(answer):
        counts = ", ".join(f"{answer[verdict]:,} {verdict}" for verdict in _COLOURS)
        summary = (
            f"{plural(answer['total_processed'], 'fact')} judged by {answer['judge']}: {counts}"
        )
        session.screen.line(place(answer["written"]), summary)
        if answer["remaining"]:
            session.screen.line(f"{plural(answer['remaining'], 'fact')} no judge has seen yet.")
    session.notes(answer)
    if answer["stopped"]:
        raise click.exceptions.Exit(INTERRUPTED)


@contextmanager
def _interrupted() -> Iterator[Callable[[], bool]]:
    """Catch Ctrl-C in the block: yield whether it was pressed; pressed again it interrupts."""
    signal_numbers: list[int] = []

    def press(number: int, _frame: object) -> None:
        if signal_numbers:
            raise KeyboardInterrupt
        signal_numbers.append(number)

    former_handler = signal.signal(signal.SIGINT, press)
    try:
        yield lambda: bool(signal_numbers)
    finally:
        signal.signal(signal.SIGINT, former_handler)


def _gate(session: Session, options: dict[str, Any]) -> None:
    answer = session.call(
        "verify_merge_gate",
        source_branch=session.branch(options["branch"]),
        target_branch=options["into"],
    )
    if not session.answer(answer):
        counts = ", ".join(f"{answer[verdict]:,} {verdict}" for verdict in _COLOURS)
        styled_outcome = (
            ("may be merged", "ok") if answer["can_merge"] else ("may not be merged", "warn")
        )
        session.screen.line(
            (answer["read"]["branch"], "branch"), " ", styled_outcome, f": {counts}"
        )
        for reason in answer["reasons"]:
            session.screen.line(f"  {reason}")
        for fact in answer["facts"]:
            session.screen.line(("  ", ""), (short(fact), "commit"))
    session.notes(answer)
    if not answer["can_merge"]:
        raise click.exceptions.Exit(FAILED)
