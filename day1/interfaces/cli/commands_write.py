"""Commands that write: init, add, edit, rm, restore, redact."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from day1.errors import InvalidRequest, Refused
from day1.interfaces.cli.render import one_line, place, plural, short
from day1.interfaces.cli.session import Session, agent_option, branch_option, porcelain
from day1.model.rows.kind import FACT, MEMORIES

OBSERVATIONS = ("tool_use", "discovery", "decision", "error", "insight")


@click.command("init")
@click.argument("folder", required=False, type=click.Path(file_okay=False, path_type=Path))
@porcelain
def init_command(session: Session, folder: Path | None) -> None:
    """Make a store: the folder .day1 in FOLDER (default: here, or DAY1_HOME if that is set).

    With DAY1_STORE__URL it is that database on its server. A store that is there already is
    left as it is.
    """
    from day1.settings import FOLDER, find_home

    settings = session.settings
    if settings.store.url is not None and folder is not None:
        raise click.UsageError("DAY1_STORE__URL names the store: leave FOLDER out, or unset it.")
    if folder is None and (settings.home or settings.store.url):
        here = find_home(settings)
    else:
        here = ((folder or Path()) / FOLDER).absolute()
    made = session.app.create_store(settings, here, session.now)
    store = session.app.open_store(settings, folder=here)
    store.close()
    if not session.answer({"store": store.where, "created": made, "branch": "main"}):
        kind = "Initialized empty" if made else "Reinitialized existing"
        session.screen.line(f"{kind} day1 store in {store.where}")


@click.command("add")
@click.argument("text", required=False)
@click.option(
    "-o",
    "--observation",
    metavar="TYPE",
    type=click.Choice(OBSERVATIONS),
    help="TEXT is an observation of this type.",
)
@click.option("--tool", metavar="NAME", help="With -o: the tool that was used.")
@click.option(
    "--relation", nargs=3, metavar="SOURCE TYPE TARGET", help="Link two entities, without TEXT."
)
@click.option("-c", "--category", metavar="NAME", help="Of a fact: bug_fix, preference …")
@click.option("--confidence", type=click.FloatRange(0, 1), help="Of a fact; default 1.")
@click.option("--happened-at", metavar="TIME", help="When it was true or took place.")
@click.option("--request-id", metavar="ID", help="Run again with the same ID, it is added once.")
@branch_option
@agent_option
@porcelain
def add_command(session: Session, text: str | None, **given: Any) -> None:
    """Remember TEXT as a fact; with `-` TEXT is read from stdin, without it from an editor.

    `-o TYPE` makes it an observation (tool_use, discovery, decision, error, insight);
    `--relation` links two entities instead. Facts that name their subject and date are
    found best.
    """
    common = {
        "branch": given["branch"],
        "agent_id": given["agent"],
        "happened_at": session.moment(given["happened_at"]),
        "request_id": given["request_id"],
    }
    relation = given["relation"]
    _check_options(text, given)
    if relation:
        source, relation_type, target = relation
        said = f"{source} -{relation_type}-> {target}"
        ends = {"source_entity": source, "target_entity": target}
        answer = session.call(
            "memory_write_relation", create=True, relation_type=relation_type, **ends, **common
        )
    elif given["observation"]:
        said = _text(session, text)
        answer = session.call(
            "memory_write_observation",
            create=True,
            observation_type=given["observation"],
            summary=said,
            tool_name=given["tool"],
            **common,
        )
    else:
        said = _text(session, text)
        answer = session.call(
            "memory_write_fact",
            create=True,
            fact_text=said,
            category=given["category"],
            confidence=given["confidence"],
            **common,
        )
    if not session.answer(answer):
        where = f"[{answer['written']['branch']}] "
        session.screen.line((where, "branch"), (answer["id"], "commit"), f" {_head(said)}")
        twin = answer.get("near_duplicate_of")
        if twin:
            session.screen.note(("note: ", "dim"), f"{short(twin)} says exactly the same")
    session.notes(answer)


def _check_options(text: str | None, given: dict[str, Any]) -> None:
    """Refuse options that would be passed over."""
    if given["relation"] and (text is not None or given["observation"]):
        raise click.UsageError("--relation takes no TEXT and no -o.")
    of_facts = [name for name in ("category", "confidence") if given[name] is not None]
    if of_facts and (given["relation"] or given["observation"]):
        raise click.UsageError(f"--{of_facts[0]} is of facts only.")
    if given["tool"] and not given["observation"]:
        raise click.UsageError("--tool goes with -o.")


def _text(session: Session, text: str | None) -> str:
    """The text given, or read from stdin, or written in the editor."""
    if text == "-":
        return sys.stdin.read().strip()
    if text is not None:
        return text
    if not session.asks:
        raise click.UsageError("Missing argument 'TEXT' (`-` reads it from stdin).")
    written = click.edit("")
    if not written or not written.strip():
        raise Refused("Nothing was written, so nothing is remembered.")
    return written.strip()


def _head(text: str, most: int = 72) -> str:
    line = one_line(text)
    return line if len(line) <= most else line[: most - 1] + "…"


@click.command("edit")
@click.argument("fact_id", metavar="ID")
@click.argument("text", required=False)
@click.option("-c", "--category", metavar="NAME", help="The new category.")
@click.option("--confidence", type=click.FloatRange(0, 1), help="The new confidence.")
@click.option("--happened-at", metavar="TIME", help="The new time at which it was true.")
@click.option("--supersede", is_flag=True, help="Add TEXT as a new fact in place of the old one.")
@click.option("-m", "--reason", metavar="TEXT", help="Why.")
@branch_option
@agent_option
@porcelain
def edit_command(session: Session, fact_id: str, text: str | None, **given: Any) -> None:
    """Correct the fact ID; without TEXT or options its text opens in your editor.

    With --supersede the old fact stays, marked and out of search.
    """
    row = _fact(session, session.branch(given["branch"]), fact_id)
    columns = {name: given[name] for name in ("category", "confidence")}
    columns["happened_at"] = session.moment(given["happened_at"])
    text = _text(session, text) if text == "-" else text
    if text is None and (given["supersede"] or not any(v is not None for v in columns.values())):
        text = _edited(session, str(row["fact_text"]))
    common = {
        "fact_id": row["id"],
        "fact_text": text,
        "branch": given["branch"],
        "reason": given["reason"],
        "agent_id": given["agent"],
    }
    if given["supersede"]:
        if columns.pop("happened_at") is not None:
            raise click.UsageError("--happened-at does not go with --supersede.")
        answer = session.call("memory_supersede_fact", **common, **columns)
    else:
        expected = _revision(row)
        answer = session.call("memory_update_fact", **common, **columns, expect_revision=expected)
    if not session.answer(answer):
        said = f"{short(answer['id'])} changed"
        if given["supersede"]:
            said = f"{answer['id']} supersedes {short(answer['superseded'])}"
        session.screen.line(place(answer["written"]), said)
        if answer["decides_held"]:
            session.screen.line("This decided what was held of it.")
    session.notes(answer)


def _fact(session: Session, branch: str, text: str) -> dict[str, Any]:
    from day1.model.rows.change import Ref
    from day1.services.branches.resolving import row_id

    with session.repo().store.reading(Ref(branch=branch)) as reading:
        whole = row_id(reading, text)
        row = reading.get(FACT, [whole]).get(whole)
    if row is None:
        if not whole.startswith(f"{FACT.prefix}_"):
            raise Refused("Only facts are edited; `day1 rm` it and add it anew.", id=whole)
        raise InvalidRequest(f"{whole} is not on branch {branch!r}.", id=whole, branch=branch)
    return dict(row)


def _revision(row: dict[str, Any]) -> str:
    from day1.model.rows.kind import revision

    return revision(FACT, row)


def _edited(session: Session, text: str) -> str:
    if not session.asks:
        raise click.UsageError("Missing argument 'TEXT' (`-` reads it from stdin).")
    written = click.edit(text + "\n")
    if written is None or not written.strip() or written.strip() == text.strip():
        raise Refused("The text was left as it is, so nothing changed.")
    return written.strip()


@click.command("rm")
@click.argument("ids", metavar="ID...", nargs=-1, required=True)
@click.option("-m", "--reason", metavar="TEXT", help="Why.")
@branch_option
@porcelain
def rm_command(
    session: Session, ids: tuple[str, ...], reason: str | None, branch: str | None
) -> None:
    """Remove memories from a branch, as one commit; history keeps them.

    `day1 restore ID --source TIME` brings one back.
    """
    from day1.call.fields import WriteRequest
    from day1.model.rows.change import Ref
    from day1.model.values.instant import show
    from day1.services.branches.resolving import row_ids
    from day1.services.rows.editing import remove

    context = session.context()
    name = context.branch(branch)
    with context.repo.store.reading(Ref(branch=name)) as reading:
        found = row_ids(reading, ids)
    done = remove(context.repo, name, found, context.origin(WriteRequest()), reason)
    written = {"branch": name, "commit": done.commit, "pending": 0, "notes": []}
    before = show(done.at - 1)
    answer = {"ids": found, "removed_at": show(done.at), "before": before, "written": written}
    if not session.answer(answer):
        for one in found:
            session.screen.line(("rm ", "removed"), short(one))
        session.screen.note(f"`day1 restore {short(found[0])} --source {before}` brings it back")


@click.command("restore")
@click.argument("row", metavar="[ID]", required=False)
@click.option(
    "-s", "--source", "to", required=True, metavar="TIME|SNAPSHOT", help="The past state."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask before restoring a whole branch.")
@branch_option
@agent_option
@porcelain
def restore_command(session: Session, row: str | None, **given: Any) -> None:
    """Bring the memory ID, or without ID the whole branch, back to a past state.

    It is a new commit, and a snapshot is taken before it.
    """
    from day1.services.branches.snapshots import snapshots

    name = session.branch(given["branch"])
    labels = {text for s in snapshots(session.repo(), None) for text in (s.id, s.label)}
    to = given["to"] if given["to"] in labels else session.moment(given["to"], end=True)
    whole = None if row is None else _anywhere(session, name, row, str(to))
    yes = given["yes"]
    if whole is None and not yes and session.asks:
        yes = click.confirm(f"Bring every memory of {name} back to {given['to']}?", err=True)
        if not yes:
            raise Refused("Nothing was changed.")
    if whole is None and not yes:
        raise click.UsageError("This changes the whole branch: add --yes.")
    answer = session.call(
        "memory_restore",
        to=to,
        id=whole,
        branch=name,
        confirm=name if whole is None else None,
        agent_id=given["agent"],
    )
    if not session.answer(answer):
        rows = answer["restored_rows"]
        session.screen.line(f"Restored {plural(rows, 'row')}.")
        session.screen.note(f"`day1 restore --source {answer['snapshot_before']} --yes` undoes it")
    session.notes(answer)


@click.command("redact")
@click.argument("row", metavar="ID")
@click.option("-m", "--reason", metavar="TEXT", help="Why; kept, so it must not quote the text.")
@click.option("--confirm", metavar="ID", help="The ID again: this cannot be undone.")
@branch_option
@agent_option
@porcelain
def redact_command(session: Session, row: str, confirm: str | None, **given: Any) -> None:
    """Make the memory ID, all it ever said and every equal text read [redacted].

    On all branches and in their past, at once. It cannot be undone. ID may be shortened if the
    memory is on the branch.
    """
    from day1.errors import NotFound
    from day1.model.rows.change import Ref
    from day1.services.branches.resolving import row_id

    name = session.branch(given["branch"])
    whole = row
    with session.repo().store.reading(Ref(branch=name)) as reading, suppress(NotFound):
        whole = row_id(reading, row, MEMORIES)
    if confirm is None and session.asks:
        if not click.confirm(f"Redact {whole} for good? It cannot be undone.", err=True):
            raise Refused("Nothing was changed.")
        confirm = whole
    answer = session.call(
        "memory_redact",
        id=whole,
        reason=given["reason"],
        confirm=whole if confirm == row else confirm,
        branch=name,
        agent_id=given["agent"],
    )
    if not session.answer(answer):
        rows, branches = (
            plural(answer["rows"], "row"),
            plural(answer["branches"], "branch", "branches"),
        )
        done = "Was redacted before" if answer["already"] else "Redacted"
        session.screen.line(f"{done}: {rows} on {branches}.")
    session.notes(answer)


def _anywhere(session: Session, branch: str, text: str, to: str) -> str:
    """A whole id from the branch as it is, else from the state that it comes back from."""
    from day1.errors import NotFound
    from day1.model.rows.change import Ref
    from day1.model.values.instant import parse
    from day1.services.branches.resolving import row_id
    from day1.services.branches.snapshots import find_snapshot

    repo = session.repo()
    with repo.store.reading(Ref(branch=branch)) as reading:
        try:
            return row_id(reading, text, MEMORIES)
        except NotFound:
            pass
    try:
        past = Ref(commit=find_snapshot(repo, to).commit)
    except NotFound:
        past = Ref(branch=branch, until=parse(to))
    with repo.store.reading(past) as reading:
        return row_id(reading, text, MEMORIES)
