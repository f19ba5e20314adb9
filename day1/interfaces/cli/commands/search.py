"""`day1 search`: memories by meaning and by words."""

from __future__ import annotations

from typing import Any

import click

from day1.interfaces.cli.moments import day
from day1.interfaces.cli.options import at_option, branch_option, event_option, space_option
from day1.interfaces.cli.render import short
from day1.interfaces.cli.session import Session, command


@click.command("search")
@click.argument("query")
@click.option("--mode", type=click.Choice(["hybrid", "vector", "keyword"]), help="Default: hybrid.")
@click.option("-n", "limit", type=click.IntRange(1, 200), help="Maximum number; default 10.")
@click.option("-c", "--category", metavar="NAME", help="Facts of this category only.")
@click.option("--after", metavar="TIME", help="Happened then or later.")
@click.option("--before", metavar="TIME", help="Happened then or earlier.")
@click.option("--all-types", is_flag=True, help="Observations too.")
@click.option("--all-states", is_flag=True, help="Superseded, archived and ended facts too.")
@event_option
@space_option
@click.option("--full", is_flag=True, help="Long memories whole, not the passage that fits.")
@click.option("--wait", is_flag=True, help="First give every new text its vector.")
@at_option
@branch_option
@command
def search_command(session: Session, query: str, **options: Any) -> None:
    """Find memories on a branch by meaning and by words, best first."""
    if options["wait"]:
        from day1.interfaces.cli.indexing import bring_up

        bring_up(session, session.find(options["branch"]))
    time_range = {
        "after": session.moment(options["after"]),
        "before": session.moment(options["before"], end=True),
    }
    answer = session.call(
        "memory_search",
        query=query,
        search_type=options["mode"],
        limit=options["limit"],
        category=options["category"],
        branch=options["branch"],
        time_range=time_range if any(time_range.values()) else None,
        types=["fact", "observation"] if options["all_types"] else None,
        include_inactive=options["all_states"] or None,
        at=session.moment(options["at"], end=True),
        as_of_event=session.moment(options["as_of_event"], end=True),
        space=options["space"],
        full=options["full"] or None,
    )
    if not session.answer(answer):
        hits = answer["result"]
        rows = [
            (
                f"{hit['score']:.2f}",
                (short(hit["id"]), "commit"),
                day(hit["happened_at"] or hit["created_at"]),
                (not options["full"] and hit["passage"]) or hit["fact_text"],
            )
            for hit in hits
        ]
        session.screen.table(("score", "id", "date", "memory"), rows)
        if not hits:
            session.screen.note("Nothing found.")
        session.notes(answer)
