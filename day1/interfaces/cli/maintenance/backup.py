"""`day1 backup`: write the store to one file, or restore one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from day1.interfaces.cli.render import plural
from day1.interfaces.cli.session import Session, command

if TYPE_CHECKING:
    from day1.model.files.backup import BranchContent, Manifest


@click.command("backup")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--restore", is_flag=True, help="Make a store of FILE, where there is none.")
@click.option("--check", is_flag=True, help="See that FILE can be restored, and what it holds.")
@click.option(
    "--into",
    "folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="With --restore: the store's folder. Default: DAY1_HOME, else .day1 here.",
)
@command
def backup_command(
    session: Session, file: Path, folder: Path | None, *, restore: bool, check: bool
) -> None:
    """Write the whole store to FILE, while servers and agents go on writing.

    FILE appears only after it was read back and compared with the store; an existing file is never
    overwritten. It holds every branch with its past and its pending rows, and the ledger with the
    hashes of tokens. The search index is rebuilt after a restore.
    """
    if (restore and check) or (folder is not None and not restore):
        raise click.UsageError("Use --restore or --check, not both; --into is for --restore.")
    if restore or check:
        if not file.is_file():
            raise click.UsageError(f"There is no file {file}.")
        _read(session, file.absolute(), folder if restore else None, restore=restore)
    else:
        _write(session, file.absolute())


def _write(session: Session, file: Path) -> None:
    from day1.services.exchange.backup import back_up

    store = session.store()
    backup = back_up(
        store.repo,
        session.app.archives.copying(store.settings, store.folder),
        session.app.archives.files(),
        file,
        session.now(),
    )
    wait_ms = round(backup.held_s * 1000, 1)
    file_bytes = file.stat().st_size
    document = {
        **_document(backup.manifest, file),
        "bytes": file_bytes,
        "writers_waited_ms": wait_ms,
    }
    if not session.answer(document):
        size_text = f"{file_bytes / 1e6:,.1f} MB; writers waited {wait_ms:g} ms"
        session.screen.line(f"Backed up {branch_counts(document)} to {file} ({size_text})")
        session.screen.note("Keep it as safe as the store: it holds every memory in plain text.")


def _read(session: Session, file: Path, folder: Path | None, *, restore: bool) -> None:
    from day1.git_folders import STORE
    from day1.services.exchange.backup import check_backup, restore_backup

    if not restore:
        check_folder = file.with_name(f"{file.name}.check")
        document = _document(check_backup(session.app.archives.files(), file, check_folder), file)
        if not session.answer(document):
            session.screen.line(
                f"{file} is whole: {branch_counts(document)}, as of {document['made_at']}"
            )
        return
    store_folder = (folder or session.settings.home or Path(STORE)).expanduser().absolute()
    manifest = restore_backup(
        session.app.archives.files(), file, store_folder, session.app.stores.point(session.settings)
    )
    document = {**_document(manifest, file), "folder": str(store_folder)}
    if not session.answer(document):
        content_text = f"{branch_counts(document)}, as of {document['made_at']}"
        session.screen.line(f"Restored {content_text} into {store_folder}")
        if document["tokens"]:
            session.screen.note("Tokens are as they were then: revoke what was revoked since.")


def _document(manifest: Manifest, file: Path) -> dict[str, Any]:
    from day1.model.values.instant import show

    return {
        "file": str(file),
        "made_at": show(manifest.created_at),
        "day1": manifest.day1,
        "engine": manifest.engine,
        "tokens": manifest.content.records.get("tokens", 0),
        "branches": branch_documents(manifest.content.branches),
    }


def branch_documents(branches: Sequence[BranchContent]) -> list[dict[str, Any]]:
    """Return the contents of a backup's or copy's branches in the form of the JSON answer."""
    return [
        {
            "branch_name": branch.name,
            "commit": branch.commit,
            "pending": branch.waiting,
            "rows": branch.rows,
            "sha256": branch.sha256,
        }
        for branch in branches
    ]


def branch_counts(document: dict[str, Any]) -> str:
    """Say how many branches a backup or a copy has, and how many rows are on main."""
    branches = document["branches"]
    main_row_count = next(
        (branch["rows"] for branch in branches if branch["branch_name"] == "main"), 0
    )
    branches_text = plural(len(branches), "branch", "branches")
    return f"{branches_text} ({plural(main_row_count, 'row')} on main)"
