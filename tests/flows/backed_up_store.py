"""Backups of a store, made and put back as the command line does it."""

from pathlib import Path

from day1.app.archives import copying
from day1.app.archives import files as archives
from day1.interfaces.open_store import OpenStore
from day1.model.files.backup import Manifest
from day1.services.access.calls import now
from day1.services.exchange.backup import Backup, back_up, restore_backup


def backed_up(opened_store: OpenStore, file: Path) -> Backup:
    return back_up(
        opened_store.repo,
        copying(opened_store.settings, opened_store.folder),
        archives(),
        file,
        now(),
    )


def restored(file: Path, folder: Path) -> Manifest:
    return restore_backup(archives(), file, folder)
