"""Refuse the store of another user, unless a setting names it."""

from __future__ import annotations

from pathlib import Path
from shlex import quote

from day1.errors import StoreOfAnother
from day1.home import Home, is_ours, locate
from day1.settings import Settings


def own_home(settings: Settings) -> Path:
    """Find the store's folder, and refuse another user's.

    Raises:
        StoreOfAnother: the store was found upward, and another user made it.
    """
    home = locate(settings)
    _refuse_anothers(home)
    return home.folder


def refuse_anothers(folder: Path) -> None:
    """Refuse the folder of a store that another user made, as if it were found upward.

    Raises:
        StoreOfAnother: the folder is another user's.
    """
    if folder.is_dir():
        _refuse_anothers(Home(folder, "upward"))


def _refuse_anothers(home: Home) -> None:
    if not is_ours(home):
        raise StoreOfAnother(
            f"{home.folder} belongs to another user of this machine, who could read what you write "
            "to it and choose what you are told. If that is wanted, name it: "
            f"`export DAY1_HOME={quote(str(home.folder))}`. Else name a folder of your own.",
            store=str(home.folder),
        )
