"""Commands that tend the store: model, doctor, gc."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from day1.errors import Day1Error, NotAStore
from day1.interfaces.cli.codes import FAILED
from day1.interfaces.cli.render import Part, in_commands, plural
from day1.interfaces.cli.session import Session, porcelain
from day1.model.values.showing import short_commit

if TYPE_CHECKING:
    from day1.ports.rewriting import Rewriting
    from day1.services.upkeep.doctor import Finding


@click.group("model")
def model_command() -> None:
    """The model that turns texts into vectors, for search by meaning."""


@model_command.command("install")
@click.argument("path", required=False, type=click.Path(exists=True, path_type=Path))
@porcelain
def install_command(session: Session, path: Path | None) -> None:
    """Install all-MiniLM-L6-v2 from PATH (a folder or archive), else by download.

    When no way leads to it that is no failure: search is by keywords then.
    """
    place = session.app.install_model(session.settings.embedder, path, session.screen.note)
    if not session.answer({"installed": place is not None, "folder": _text(place)}):
        session.screen.line("No model." if place is None else f"The model is in {place}")


@model_command.command("status")
@porcelain
def status_command(session: Session) -> None:
    """Say which model is used and whether it works."""
    from day1.errors import EmbedderUnavailable

    settings = session.settings.embedder
    used = session.app.embedder(settings)
    document: dict[str, Any] = {"kind": settings.kind, "name": None, "works": False}
    document["place"] = session.app.model_place(settings)
    problem = "search is by keywords, by setting"
    if used is not None:
        document["name"] = used.name
        try:
            used.embed(["tried"])
            document["works"] = True
        except EmbedderUnavailable as exc:
            problem = str(exc)
    if not session.answer(document):
        if document["works"]:
            session.screen.line(f"{document['name']} from {document['place']}")
        else:
            session.screen.line(f"No model: {problem}")


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


@click.command("doctor")
@click.option(
    "--repair", is_flag=True, help="Mend ledger rows, the index, and times ahead of the clock."
)
@porcelain
def doctor_command(session: Session, *, repair: bool) -> None:
    """Check engine, rows, ledger, refs, space, model and index, and say what to do.

    The exit code is 1 if anything is an error.
    """
    from day1 import __version__
    from day1.services.upkeep import doctor

    done: list[str] = []
    try:
        store = session.store()
        if repair:
            done = doctor.repair(store.repo, store.search, session.now())
        findings = list(doctor.check(store.repo, store.search, session.app.place_of(store)))
    except NotAStore:
        raise
    except Day1Error as exc:
        findings = [doctor.Finding("store", "error", str(exc), None)]
    document = {
        "version": __version__,
        "repaired": done,
        "findings": [
            {"name": f.name, "level": f.level, "text": f.text, "advice": f.advice} for f in findings
        ],
    }
    if not session.answer(document):
        for line in done:
            session.screen.line(("repair ", "changed"), line)
        _draw_findings(session, findings)
    if any(finding.level == "error" for finding in findings):
        raise click.exceptions.Exit(FAILED)


def _draw_findings(session: Session, findings: list[Finding]) -> None:
    rows: list[list[Part]] = []
    for finding in findings:
        advice = f" {finding.advice}" if finding.advice else ""
        text = in_commands(finding.text) + advice
        rows.append([(finding.level, finding.level), finding.name, text])
    session.screen.table(("", "check", "finding"), rows)


@click.command("gc")
@click.option("--retire", is_flag=True, help="Retire the branches that are offered.")
@click.option("--purge-redacted", "purges", is_flag=True, help="Purge what is redacted first.")
@porcelain
def gc_command(session: Session, *, retire: bool, purges: bool) -> None:
    """Give unused space back, and offer branches to retire.

    Offered are branches that are merged with nothing held, or past their ttl_days. A
    retired branch gives up its ref; `day1 switch` brings it back. Everybody else waits
    while the store is compacted; a server does that by itself.

    Purging writes the store's files anew without the words that are redacted; commits get other
    ids, and each says which one it was. Backups and exports from before still have the words.
    """
    from day1.services.upkeep import retiring

    repo, files = session.repo(), _files(session) if purges else None
    offered = retiring.candidates(repo, session.branch(), session.now())
    if retire:
        for one in offered:
            retiring.retire(repo, one.state.branch.name, session.now())
    purged = _purge(session, files) if files else {}
    sizes = repo.store.compact() if repo.store.capabilities.compaction else {}
    branches = [
        {"branch_name": one.state.branch.name, "commit": one.state.tip, "why": one.why}
        for one in offered
    ]
    if session.answer({**purged, **sizes, "retired" if retire else "offered": branches}):
        return
    if purges:
        redactions, commits = purged["purged"], purged["commits"]
        said = f"{plural(redactions, 'redaction')}, {plural(commits, 'commit')} written anew"
        session.screen.line(f"Purged {said}." if redactions else "Nothing is redacted.")
    if sizes:
        before, after = (int(str(sizes[key])) / 1024 for key in ("bytes_before", "bytes_after"))
        session.screen.line(f"memory.db: {before:,.0f} KB before, {after:,.0f} KB after")
    else:
        session.screen.note("The server gives unused space back by itself.")
    for one in offered:
        done: Part = ("retired ", "changed") if retire else "may be retired: "
        tip = (short_commit(one.state.tip), "commit")
        session.screen.line(done, (one.state.branch.name, "branch"), " ", tip, f" {one.why}")
    if offered and not retire:
        session.screen.note("`day1 gc --retire` retires them")


def _files(session: Session) -> Rewriting:

    store = session.store()
    return session.app.rewriting(store.settings, store.folder)


def _purge(session: Session, files: Rewriting) -> dict[str, int]:
    """Write the store anew as it reads."""
    from day1.model.records.redaction import Redaction, mask_of
    from day1.services.redaction.purging import purge

    store = session.store()
    redactions = store.repo.ledger.records(Redaction)
    with (
        session.app.seen_through(store, mask_of(redactions)) as seen,
        session.screen.progress("Purging") as report,
    ):
        done = purge(seen, redactions, files, report, session.now())
    return {"purged": done.redactions, "commits": done.commits}
