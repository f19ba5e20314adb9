"""Import what other tools remember: look through it, show it, and bring it in as a review."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from day1.errors import Day1Error
from day1.foreign_files import MOST_BYTES, shown
from day1.interfaces.cli.codes import FAILED
from day1.interfaces.cli.indexing import bring_up
from day1.interfaces.cli.render import one_line, plural, short
from day1.interfaces.cli.session import Session
from day1.interfaces.cli.wording import command_of

if TYPE_CHECKING:
    from day1.model.branches.branch import Branch
    from day1.ports.source import Machine, ToolMemory
    from day1.services.exchange.imported import Imported
    from day1.services.exchange.tool_import import Survey
    from day1.services.repository.repository import Repository

Document = dict[str, Any]

_SHOWN_PLACES = 3
_SAMPLE = 100
"""Characters of a sample that are shown."""
_SHOWN = 10
_WHY = {
    "edited": "was edited here",
    "removed": "was removed here",
    "held": "has a held item to decide",
    "redacted": "or another part of its text was redacted here",
    "conflict": "is here with other content",
    "foreign": "names sources of a memory that this import does not bring",
}


def import_named(session: Session, name: str, paths: Sequence[Path], given: Document) -> None:
    """Import from the tool of that name, or show with `--dry-run` what that would bring."""
    from day1.services.exchange.tool_import import survey

    source = _screened(
        session, session.app.sources.tool_memory(name, paths, _machine(given, paths))
    )
    found = survey(source)
    document = _described(source, found)
    if not session.as_json:
        _draw(session, document, samples=given["dry_run"])
    if found.total and not given["dry_run"]:
        document |= _bring(session, source, given)
    session.answer(document)


def import_found(session: Session, given: Document) -> None:
    """Import from every tool that has a memory here, as a person confirms it.

    Raises:
        click.exceptions.Exit: one of them could not be read; the others were.
    """
    documents = [
        _one_of_them(session, _screened(session, source), given)
        for source in session.app.sources.found_memories(_machine(given))
    ]
    in_words = not session.answer({"found": documents})
    if in_words and not documents:
        session.screen.note("No other tool's memory was found here; --all-projects looks further.")
    elif in_words and not (given["yes"] or given["dry_run"] or session.asks):
        session.screen.note("Nothing was imported: --yes imports all of it.")
    if any("error" in document for document in documents):
        raise click.exceptions.Exit(FAILED)


def _one_of_them(session: Session, source: ToolMemory, given: Document) -> Document:
    """Show what one tool has, and import it if it is confirmed; a failure is part of the answer."""
    from day1.services.exchange.tool_import import survey

    document: Document = {"source": source.name, "paths": [shown(path) for path in source.paths]}
    try:
        found = survey(source)
        document = _described(source, found)
        if not session.as_json:
            _draw(session, document, samples=given["dry_run"])
        if found.total and not given["dry_run"] and (given["yes"] or _confirmed(session, source)):
            document |= _bring(session, source, given)
    except Day1Error as exc:
        document |= exc.body()
        if not session.as_json:
            told = exc.worded(command_of)
            session.screen.note((f"{source.name}: ", "error"), told)
    return document


def _screened(session: Session, source: ToolMemory) -> ToolMemory:
    """The tool's memory, without what looks like a secret where that is refused."""
    from day1.services.exchange.screening import WithoutSecrets

    refused = session.settings.write.secrets == "refuse"
    return WithoutSecrets(source) if refused else source


def _machine(given: Document, paths: Sequence[Path] = ()) -> Machine:
    from day1.ports.source import Machine

    home = Path.home()
    return Machine(
        home,
        os.environ,
        () if given["all_projects"] else _projects(Path.cwd(), home),
        sensitive=given["sensitive"],
        stdin=sys.stdin.buffer.read(MOST_BYTES + 1) if Path("-") in paths else b"",
    )


def _projects(here: Path, home: Path) -> tuple[Path, ...]:
    """The project that a folder is part of: its repository, else the nearest store upward.

    A worktree counts with the repository's first one. The home folder is no project.
    """
    from day1.git_folders import STORE, repository_of

    repository = repository_of(here)
    if repository is not None and repository.worktree != home:
        return tuple(dict.fromkeys((repository.folder, repository.worktree)))
    for folder in (here, *here.parents):
        if folder == home:
            break
        if (folder / STORE).is_dir():
            return (folder,)
    return ()


def _described(source: ToolMemory, found: Survey) -> Document:
    return {
        "source": source.name,
        "paths": [shown(path) for path in source.paths],
        "facts": found.facts,
        "observations": found.observations,
        "relations": found.relations,
        "events": found.events,
        "samples": found.samples,
        "left_out": found.left_out,
        "secrets": found.secrets,
    }


def _draw(session: Session, document: Document, *, samples: bool) -> None:
    counts = ", ".join(
        plural(document[f"{kind}s"], kind) for kind in ("fact", "observation", "relation")
    )
    counts += f", {plural(document['events'], 'event')}" if document["events"] else ""
    session.screen.line((document["source"], "bold"), f": {counts}")
    for path in document["paths"]:
        session.screen.line(("    from ", "dim"), path)
    for text in document["samples"] if samples else ():
        session.screen.line("    ", one_line(text)[:_SAMPLE])
    for what, ids in document["secrets"].items():
        told = f"{plural(len(ids), 'text')} that look as if they hold {what}"
        session.screen.line(("    beware of ", "warn"), f"{told}; memory is shared")
    _draw_left_out(session, document["left_out"])


def _draw_left_out(session: Session, left_out: Mapping[str, Sequence[str]]) -> None:
    for why, places in left_out.items():
        some = ", ".join(places[:_SHOWN_PLACES])
        more = f" and {len(places) - _SHOWN_PLACES:,} more" if len(places) > _SHOWN_PLACES else ""
        session.screen.line(("    left out ", "warn"), f"{why} ({len(places):,}): {some}{more}")


def _confirmed(session: Session, source: ToolMemory) -> bool:
    return session.asks and click.confirm(f"Import {source.name} for review?", default=False)


def _bring(session: Session, source: ToolMemory, given: Document) -> Document:
    """Import onto the tool's branch, and open the review of it."""
    from day1.call.fields import WriteRequest
    from day1.services.access.calls import branch_of, origin_of
    from day1.services.exchange.importing import import_foreign
    from day1.services.exchange.tool_import import import_branch

    context = session.context(create=True)
    into = branch_of(context, given["into"])
    branch = import_branch(context.repo, source.name, into, session.now())
    origin = origin_of(context, WriteRequest(agent_id=given["agent"]))
    with session.screen.progress("Importing") as report:
        done = import_foreign(context.repo, branch, source, origin, report)
    document = imported(session, branch.name, done)
    if done.added or done.changed or _waits_unseen(context.repo, branch):
        review = session.call(
            "review_open",
            source_branch=branch.name,
            target_branch=into.name,
            title=f"Import from {source.name}",
            agent_id=given["agent"],
        )
        document["review"] = review["id"]
        if not session.as_json:
            session.screen.line(
                "Review ", (short(review["id"]), "commit"), f": {review['summary']}"
            )
            session.screen.note(f"`day1 review show {branch.name}` shows it")
    if not given["no_index"]:
        bring_up(session, branch)
    return document


def _waits_unseen(repo: Repository, branch: Branch) -> bool:
    """Whether a run that was stopped has left rows on the branch for which no review was opened."""
    from day1.services.merges.reviews import reviews

    tip = repo.history.branches()[branch.name]
    return tip != branch.fork_commit and not reviews(repo, None, branch)


def imported(session: Session, into: str, done: Imported, what: str = "") -> Document:
    """Tell what an import did, in words unless JSON was asked for."""
    counts = {"added": done.added, "changed": done.changed, "unchanged": done.unchanged}
    left = [{"id": row.id, "branch": row.branch, "why": row.why} for row in done.left]
    if not session.as_json:
        told = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        session.screen.line(f"Imported {what}into {into}: {told}")
        for row in done.left[:_SHOWN]:
            session.screen.line(("left ", "warn"), f"{short(row.id)}: it {_WHY[row.why]}")
        if len(left) > _SHOWN:
            session.screen.line(f"… and {plural(len(left) - _SHOWN, 'more row')} left")
        for name in done.branches:
            session.screen.line(f"Branch {name} created.")
        _draw_left_out(session, done.left_out if what else {})  # a tool's was told before
    document = {"branch": into, **counts, "left": left, "branches": done.branches}
    return {**document, "left_out": done.left_out} if what else document
