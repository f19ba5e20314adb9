"""Import other tools' memories: count them, show them, and import them as a review."""

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
"""The most characters that are shown of a sample."""
_MAX_SHOWN = 10
_WHY = {
    "edited": "was edited here",
    "removed": "was removed here",
    "held": "has a held item to decide",
    "redacted": "or another part of its text was redacted here",
    "conflict": "is here with other content",
    "foreign": "names sources of a memory that this import does not bring",
}


def import_named(session: Session, name: str, paths: Sequence[Path], options: Document) -> None:
    """Import from the tool `name`, or with `--dry-run` show what would be imported."""
    source = session.app.sources.tool_memory(name, paths, _machine(options, paths))
    document: Document = {}
    _import_one(session, _screened(session, source), options, document, asks=False)
    session.answer(document)


def import_found(session: Session, options: Document) -> None:
    """Import from every tool that has a memory on this machine, if a person confirms it.

    Raises:
        click.exceptions.Exit: a tool's memory could not be read; the others were imported.
    """
    documents = [
        _import_if_confirmed(session, _screened(session, source), options)
        for source in session.app.sources.found_memories(_machine(options))
    ]
    prints_words = not session.answer({"found": documents})
    if prints_words and not documents:
        session.screen.note("No other tool's memory was found here; --all-projects looks further.")
    elif prints_words and not (options["yes"] or options["dry_run"] or session.asks):
        session.screen.note("Nothing was imported: --yes imports all of it.")
    if any("error" in document for document in documents):
        raise click.exceptions.Exit(FAILED)


def _import_if_confirmed(session: Session, source: ToolMemory, options: Document) -> Document:
    """Show one tool's memory, and import it if that is confirmed; an error joins the answer."""
    document: Document = {"source": source.name, "paths": [shown(path) for path in source.paths]}
    try:
        _import_one(session, source, options, document, asks=not options["yes"])
    except Day1Error as exc:
        document |= exc.body()
        if not session.as_json:
            message = exc.worded(command_of)
            session.screen.note((f"{source.name}: ", "error"), message)
    return document


def _import_one(
    session: Session, source: ToolMemory, options: Document, document: Document, *, asks: bool
) -> None:
    """Show one tool's memory, and import it unless `--dry-run` is given; fill the answer."""
    from day1.services.exchange.tool_import import survey

    memory_survey = survey(source)
    document |= _described(source, memory_survey)
    if not session.as_json:
        _draw(session, document, samples=options["dry_run"])
    if memory_survey.total and not options["dry_run"] and (not asks or _confirmed(session, source)):
        document |= _bring(session, source, options)


def _screened(session: Session, source: ToolMemory) -> ToolMemory:
    """Return a tool's memory, without texts that look like secrets if settings refuse those."""
    from day1.services.exchange.screening import MemoryWithoutSecrets

    refuses_secrets = session.settings.write.secrets == "refuse"
    return MemoryWithoutSecrets(source) if refuses_secrets else source


def _machine(options: Document, paths: Sequence[Path] = ()) -> Machine:
    from day1.ports.source import Machine

    home = Path.home()
    return Machine(
        home,
        os.environ,
        () if options["all_projects"] else _projects(Path.cwd(), home),
        sensitive=options["sensitive"],
        stdin=sys.stdin.buffer.read(MOST_BYTES + 1) if Path("-") in paths else b"",
    )


def _projects(start: Path, home: Path) -> tuple[Path, ...]:
    """Return the project of a folder: its repository, else the nearest folder with a store upward.

    A worktree counts with the repository's first one. The home folder is no project.
    """
    from day1.git_folders import STORE, repository_of

    repository = repository_of(start)
    if repository is not None and repository.worktree != home:
        return tuple(dict.fromkeys((repository.folder, repository.worktree)))
    for folder in (start, *start.parents):
        if folder == home:
            break
        if (folder / STORE).is_dir():
            return (folder,)
    return ()


def _described(source: ToolMemory, counts: Survey) -> Document:
    return {
        "source": source.name,
        "paths": [shown(path) for path in source.paths],
        "facts": counts.facts,
        "observations": counts.observations,
        "relations": counts.relations,
        "events": counts.events,
        "samples": counts.samples,
        "left_out": counts.left_out,
        "secrets": counts.secrets,
    }


def _draw(session: Session, document: Document, *, samples: bool) -> None:
    counts_text = ", ".join(
        plural(document[f"{kind}s"], kind) for kind in ("fact", "observation", "relation")
    )
    counts_text += f", {plural(document['events'], 'event')}" if document["events"] else ""
    session.screen.line((document["source"], "bold"), f": {counts_text}")
    for path in document["paths"]:
        session.screen.line(("    from ", "dim"), path)
    for sample in document["samples"] if samples else ():
        session.screen.line("    ", one_line(sample)[:_SAMPLE])
    for secret_kind, ids in document["secrets"].items():
        texts_phrase = f"{plural(len(ids), 'text')} that look as if they hold {secret_kind}"
        session.screen.line(("    beware of ", "warn"), f"{texts_phrase}; memory is shared")
    _draw_left_out(session, document["left_out"])


def _draw_left_out(session: Session, left_out: Mapping[str, Sequence[str]]) -> None:
    for reason, places in left_out.items():
        examples = ", ".join(places[:_SHOWN_PLACES])
        more_text = (
            f" and {len(places) - _SHOWN_PLACES:,} more" if len(places) > _SHOWN_PLACES else ""
        )
        session.screen.line(
            ("    left out ", "warn"), f"{reason} ({len(places):,}): {examples}{more_text}"
        )


def _confirmed(session: Session, source: ToolMemory) -> bool:
    return session.asks and click.confirm(f"Import {source.name} for review?", default=False)


def _bring(session: Session, source: ToolMemory, options: Document) -> Document:
    """Import onto the tool's branch, and open a review of that branch."""
    from day1.services.access.calls import branch_of
    from day1.services.exchange.importing import import_foreign
    from day1.services.exchange.tool_import import import_branch

    context = session.context(create=True)
    target_branch = branch_of(context, options["into"])
    branch = import_branch(context.repo, source.name, target_branch, session.now())
    origin = session.origin(options["agent"])
    with session.screen.progress("Importing") as report_progress:
        import_result = import_foreign(context.repo, branch, source, origin, report_progress)
    document = imported(session, branch.name, import_result)
    if import_result.added or import_result.changed or _waits_unseen(context.repo, branch):
        review = session.call(
            "review_open",
            source_branch=branch.name,
            target_branch=target_branch.name,
            title=f"Import from {source.name}",
            agent_id=options["agent"],
        )
        document["review"] = review["id"]
        if not session.as_json:
            session.screen.line(
                "Review ", (short(review["id"]), "commit"), f": {review['summary']}"
            )
            session.screen.note(f"`day1 review show {branch.name}` shows it")
    if not options["no_index"]:
        bring_up(session, branch)
    return document


def _waits_unseen(repo: Repository, branch: Branch) -> bool:
    """Whether the branch has rows without a review, left by a run that was stopped."""
    from day1.services.merges.reviews import reviews

    tip_id = repo.history.branches()[branch.name]
    return tip_id != branch.fork_commit and not reviews(repo, None, branch)


def imported(session: Session, into: str, result: Imported, what: str = "") -> Document:
    """Return an import's counts as a document; print them too unless `--json` was given."""
    counts = {"added": result.added, "changed": result.changed, "unchanged": result.unchanged}
    rows_left = [{"id": row.id, "branch": row.branch, "why": row.why} for row in result.left]
    if not session.as_json:
        counts_text = ", ".join(f"{count:,} {name}" for name, count in counts.items())
        session.screen.line(f"Imported {what}into {into}: {counts_text}")
        for row in result.left[:_MAX_SHOWN]:
            session.screen.line(("left ", "warn"), f"{short(row.id)}: it {_WHY[row.why]}")
        if len(rows_left) > _MAX_SHOWN:
            session.screen.line(f"… and {plural(len(rows_left) - _MAX_SHOWN, 'more row')} left")
        for name in result.branches:
            session.screen.line(f"Branch {name} created.")
        _draw_left_out(session, result.left_out if what else {})  # a tool's was printed before
    document = {"branch": into, **counts, "left": rows_left, "branches": result.branches}
    return {**document, "left_out": result.left_out} if what else document
