"""`day1 rm`: remove memories from a branch."""

from __future__ import annotations

import click

from day1.interfaces.cli.options import branch_option
from day1.interfaces.cli.render import short
from day1.interfaces.cli.session import Session, porcelain


@click.command("rm")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("-m", "--reason", metavar="TEXT", help="Why.")
@branch_option
@porcelain
def rm_command(
    session: Session, ids: tuple[str, ...], reason: str | None, branch: str | None
) -> None:
    """Remove memories from a branch in one commit; history keeps them.

    `day1 restore ID --source TIME` brings one back.
    """
    from day1.call.fields import WriteRequest
    from day1.model.rows.change import Ref
    from day1.model.values.instant import show
    from day1.services.access.calls import origin_of, writable
    from day1.services.branches.resolving import row_ids
    from day1.services.rows.editing import Removal, remove

    context = session.context()
    target = writable(context, branch)
    name = target.name
    with context.repo.store.reading(Ref(branch=name)) as reading:
        found = row_ids(reading, ids)
    removal = Removal(found, reason)
    done = remove(context.repo, target, removal, origin_of(context, WriteRequest()))
    written = {"branch": name, "commit": done.commit, "pending": 0, "notes": []}
    before = show(done.at - 1)
    answer = {"ids": found, "removed_at": show(done.at), "before": before, "written": written}
    if not session.answer(answer):
        for one in found:
            session.screen.line(("rm ", "removed"), short(one))
        session.screen.note(f"`day1 restore {short(found[0])} --source {before}` brings it back")
