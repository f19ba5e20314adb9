"""`day1 doctor`: check the store and say what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from day1.errors import Day1Error, NotAStore
from day1.interfaces.cli.codes import FAILED
from day1.interfaces.cli.render import Part
from day1.interfaces.cli.session import Session, command
from day1.interfaces.cli.wording import command_of

if TYPE_CHECKING:
    from day1.services.health.doctor import Finding


@click.command("doctor")
@click.option(
    "--repair", is_flag=True, help="Mend ledger rows, the index, and times ahead of the clock."
)
@command
def doctor_command(session: Session, *, repair: bool) -> None:
    """Check engine, rows, ledger, refs, space, model and index, and say what to do.

    The exit code is 1 if anything is an error.
    """
    from day1.services.health import doctor
    from day1.version import __version__

    repairs: list[str] = []
    try:
        store = session.store()
        if repair:
            repairs = doctor.repair(store.repo, store.search, session.now())
        findings = list(doctor.check(store.repo, store.search, session.app.stores.place_of(store)))
    except NotAStore:
        raise
    except Day1Error as exc:
        findings = [doctor.Finding("store", "error", exc.advice)]
    document = {
        "version": __version__,
        "repaired": repairs,
        "findings": [
            {
                "name": finding.name,
                "level": finding.level,
                "text": str(finding.text),
                "advice": finding.advice,
            }
            for finding in findings
        ],
    }
    if not session.answer(document):
        for repair_text in repairs:
            session.screen.line(("repair ", "changed"), repair_text)
        _draw_findings(session, findings)
    if any(finding.level == "error" for finding in findings):
        raise click.exceptions.Exit(FAILED)


def _draw_findings(session: Session, findings: list[Finding]) -> None:
    table_rows: list[list[Part]] = []
    for finding in findings:
        advice_text = f" {finding.advice}" if finding.advice else ""
        text = finding.text if isinstance(finding.text, str) else finding.text.worded(command_of)
        table_rows.append([(finding.level, finding.level), finding.name, text + advice_text])
    session.screen.table(("", "check", "finding"), table_rows)
