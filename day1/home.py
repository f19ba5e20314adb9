"""Which store is meant, and why: by the settings, by the folder, by the git repository.

A hook asks too, and has to be quick: so this module needs the standard library only, and of that
the parts that start fast.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple, Protocol
from urllib.parse import urlsplit

from day1.git_folders import STORE, Repository, repository_of

Rule = Literal["home", "server", "origin", "upward", "worktree", "user", "repository", "none"]

WHY: Final[dict[Rule, str]] = {
    "home": "DAY1_HOME names it.",
    "server": "DAY1_STORE__URL names it.",
    "origin": "DAY1_PROJECT=origin: all clones of this repository's origin share it.",
    "upward": "It is the nearest .day1 upward.",
    "worktree": "This is a worktree of the repository that has it.",
    "user": "No folder upward has a store, and this user's home has one.",
    "repository": "There is no store yet; one of this git repository would be its.",
    "none": "There is no store yet, and this folder is in no git repository.",
}
_FOUND: Final = frozenset[Rule]({"upward", "worktree"})
"""How a store is found that nobody named."""


class Named(NamedTuple):
    """What the settings say of the store."""

    home: Path | None = None
    url: str | None = None
    """Of a database on a server."""
    project: str = "repository"

    @property
    def named(self) -> Named:
        """This."""
        return self


class Asked(Protocol):
    """Settings, as far as they matter here."""

    @property
    def named(self) -> Named:
        """What they say of the store."""
        ...


def named_by(environment: Mapping[str, str]) -> Named:
    """What the environment says of the store, as the settings read it."""
    said = {name.upper(): value for name, value in environment.items() if value}
    home = said.get("DAY1_HOME")
    project = said.get("DAY1_PROJECT", "repository")
    return Named(None if home is None else Path(home), said.get("DAY1_STORE__URL"), project)


class Home(NamedTuple):
    """The folder of the store that is meant."""

    folder: Path
    rule: Rule
    repository: Repository | None = None
    """The git repository of the present folder, where it was asked for."""


def find_home(settings: Asked, start: Path | None = None) -> Path:
    """The folder of the store that is meant in `start`; default: the present folder.

    Of a store on a server it holds what this machine has of its own, which can be made again.
    """
    return locate(settings, start).folder


def locate(settings: Asked, start: Path | None = None) -> Home:
    """The same, with the rule that decided.

    A store that exists is found before one is proposed: so a user's store goes on serving the
    repositories that have none.
    """
    named = settings.named
    if named.home is not None:
        return Home(named.home.expanduser().absolute(), "home")
    if named.url is not None:
        url = urlsplit(named.url)
        place = f"{url.hostname}:{url.port}{url.path}"
        return Home(cache_folder() / "day1" / "nodes" / _hashed(place), "server")
    here = (start or Path.cwd()).absolute()
    repository = repository_of(here)
    if named.project == "origin" and repository is not None:
        origin = _origin(repository)
        if origin is not None:
            folder = _data_folder() / "day1" / "projects" / _hashed(origin)
            return Home(folder, "origin", repository)
    return _existing(here, repository) or _proposed(repository)


def is_ours(home: Home) -> bool:
    """Whether a store is this user's, or was named: one that is planted upward would hear all.

    Raises:
        OSError: its folder is not there.
    """
    if home.rule not in _FOUND:
        return True
    user, owner = os.geteuid(), home.folder.stat().st_uid
    # Root in a container works in the folders of a user of the machine.
    return owner == user or (not user and owner == home.folder.parent.stat().st_uid)


def is_store(folder: Path) -> bool:
    """Whether a folder has a store in it."""
    return (folder / "memory.db").is_file()


def _existing(here: Path, repository: Repository | None) -> Home | None:
    for folder in (here, *here.parents):
        if is_store(folder / STORE):
            return Home(folder / STORE, "upward", repository)
        if repository is not None and folder == repository.worktree and repository.linked:
            shared = repository.folder / STORE
            if is_store(shared):
                return Home(shared, "worktree", repository)
    users = Path.home() / STORE
    return Home(users, "user", repository) if is_store(users) else None


def _proposed(repository: Repository | None) -> Home:
    if repository is not None and os.access(repository.folder, os.W_OK):
        return Home(repository.folder / STORE, "repository", repository)
    return Home(Path.home() / STORE, "none", repository)


def _origin(repository: Repository) -> str | None:
    """The address of the remote `origin`, as all ways to write it: HOST/PATH; None without one."""
    import subprocess  # noqa: PLC0415 - most starts need none

    asked = ["git", f"--git-dir={repository.common}", "config", "--get", "remote.origin.url"]
    try:
        done = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603 - git, with a folder
    except OSError:  # there is no git on this machine
        return None
    return address(done.stdout) if done.returncode == 0 else None


def address(url: str) -> str | None:
    """One text for all ways to write a remote's address: HOST/PATH, without user and scheme.

    A local path stays a path. None: there is no address.
    """
    text = url.strip()
    if "://" in text:
        parts = urlsplit(text)
        text = f"{(parts.hostname or '').lower()}{parts.path}"
    elif found := re.fullmatch(r"(?:[^@/:]+@)?([^/:]+):(.+)", text):
        text = f"{found[1].lower()}/{found[2].lstrip('/')}"
    return text.rstrip("/").removesuffix(".git").rstrip("/") or None


def _hashed(text: str) -> str:
    import hashlib  # noqa: PLC0415 - most starts need none

    return hashlib.sha256(text.encode()).hexdigest()[:16]


def cache_folder() -> Path:
    """Where this user's programs keep what can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _data_folder() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
