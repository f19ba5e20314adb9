"""Back up, copy and rewrite stores: fulfils the command line's `ArchiveTools`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from day1.errors import Unsupported
from day1.settings import Settings

if TYPE_CHECKING:
    from day1.ports.archive import Archives, Copying
    from day1.ports.rewriting import Rewriting


def files() -> Archives:
    """Return the writer and reader of backup files."""
    from day1.adapters.archive.files import FileArchives

    return FileArchives()


def copying(settings: Settings, folder: Path) -> Copying:
    """Return the copier of the files of the open store in `folder`.

    Raises:
        Unsupported: the rows are on a server.
    """
    if settings.store.url is not None:
        raise Unsupported(
            "A store on a server is backed up with the server's own tools (docs/servers.md says "
            "how); `day1 copy` brings it into a folder, and `day1 export --all` into text.",
            operation="backup",
        )
    from day1.adapters.archive.file_copy import StoreCopying

    return StoreCopying(folder, settings.store.wait_s)


def rewriting(settings: Settings, folder: Path) -> Rewriting:
    """Return the rewriter of an open store without its redacted texts.

    Raises:
        Unsupported: the rows are on a server.
    """
    if settings.store.url is not None:
        raise Unsupported(
            "A database on a server cannot be rewritten in its place: `day1 copy "
            "--purge-redacted` writes it into a new one, which you then use instead.",
            operation="purge",
            instead="day1 copy --purge-redacted",
        )
    from day1.adapters.archive.rewriting import StoreRewriting

    return StoreRewriting(folder, settings.store.wait_s)
