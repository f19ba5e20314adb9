"""Find the store that a process uses: by the settings, the folder or the git repository.

Hooks use this too and must be quick: so this module needs the standard library only, and of that
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
    "repository": "There is no store yet; a new one would be in the folder of this git repository.",
    "none": "There is no store yet, and this folder is in no git repository.",
}
_SERVER_URL: Final = re.compile(
    r"[^:]*://(?:[^:/]*(?::[^@]*)?@)?(\[[^/?]+\]|[^:/?]*)(?::([^/?]*))?(/[^?]*)?"
)
"""A URL as the driver reads it: unlike in other URLs, a password may have any character but '@'."""
_FOUND: Final = frozenset[Rule]({"upward", "worktree"})
"""The rules by which a store is found that no setting names."""


class Named(NamedTuple):
    """The settings that decide which store is used."""

    home: Path | None = None
    url: str | None = None
    """The URL of a database on a server."""
    project: str = "repository"

    @property
    def named(self) -> Named:
        """These settings themselves, so that they can stand for all settings."""
        return self


class Asked(Protocol):
    """Settings of which only those that name the store are read."""

    @property
    def named(self) -> Named:
        """The settings that decide which store is used."""


def named_by(environment: Mapping[str, str]) -> Named:
    """Read the settings that name the store from the environment, as `Settings` would."""
    value_by_name = {name.upper(): value for name, value in environment.items() if value}
    home = value_by_name.get("DAY1_HOME")
    project = value_by_name.get("DAY1_PROJECT", "repository")
    return Named(
        None if home is None else Path(home), value_by_name.get("DAY1_STORE__URL"), project
    )


class Home(NamedTuple):
    """A store's folder, and the rule by which it was found."""

    folder: Path
    rule: Rule
    repository: Repository | None = None
    """The git repository of the present folder; None if there is none or no rule needed it."""


def find_home(settings: Asked, start: Path | None = None) -> Path:
    """Find the folder of the store for `start`; default: the present folder.

    For a store on a server it is the folder of this machine's own files, which can be rebuilt.
    """
    return locate(settings, start).folder


def locate(settings: Asked, start: Path | None = None) -> Home:
    """Find the folder of the store for `start`, with the rule that decided.

    An existing store goes before a new one: so a user's store goes on serving the
    repositories that have none.
    """
    naming_settings = settings.named
    if naming_settings.home is not None:
        return Home(naming_settings.home.expanduser().absolute(), "home")
    if naming_settings.url is not None:
        node_name = _hashed(_server_address(naming_settings.url))
        return Home(cache_folder() / "day1" / "nodes" / node_name, "server")
    start_folder = (start or Path.cwd()).absolute()
    repository = repository_of(start_folder)
    if naming_settings.project == "origin" and repository is not None:
        origin_address = _origin(repository)
        if origin_address is not None:
            data_folder = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
            folder = data_folder / "day1" / "projects" / _hashed(origin_address)
            return Home(folder, "origin", repository)
    return _existing(start_folder, repository) or _proposed(repository)


def _server_address(url: str) -> str:
    """Return host, port and database of a store on a server, without user and password.

    A text of another form is returned as it is: it names no server, and nothing can open it.
    """
    match = _SERVER_URL.match(url)
    if match is None:
        return url
    host, port, path = match.groups()
    return f"{host.strip('[]').lower()}:{port}{path or ''}"


def server_name(url: str) -> str | None:
    """Return where a store on a server is, as messages name it: without user and password.

    A text of another form has no such name, since any part of it may be of the password.
    """
    match = _SERVER_URL.match(url)
    host, port, path = match.groups() if match is not None else ("", None, None)
    if not host or "@" in host or not (port or "0").isdecimal():
        return None
    return f"{host.strip('[]')}:{port or 3306}{path or ''}"


def is_ours(home: Home) -> bool:
    """Whether a store is this user's, or a setting names it: its owner can read all writes.

    Raises:
        OSError: the store's folder does not exist.
    """
    if home.rule not in _FOUND:
        return True
    process_uid, owner_uid = os.geteuid(), home.folder.stat().st_uid
    # Root in a container works in the folders of a user of the machine.
    return owner_uid == process_uid or (
        not process_uid and owner_uid == home.folder.parent.stat().st_uid
    )


def is_store(folder: Path) -> bool:
    """Whether a folder has a store in it."""
    return (folder / "memory.db").is_file()


def _existing(start: Path, repository: Repository | None) -> Home | None:
    for folder in (start, *start.parents):
        if is_store(folder / STORE):
            return Home(folder / STORE, "upward", repository)
        if repository is not None and folder == repository.worktree and repository.linked:
            project_store = repository.folder / STORE
            if is_store(project_store):
                return Home(project_store, "worktree", repository)
    user_store = Path.home() / STORE
    return Home(user_store, "user", repository) if is_store(user_store) else None


def _proposed(repository: Repository | None) -> Home:
    if repository is not None and os.access(repository.folder, os.W_OK):
        return Home(repository.folder / STORE, "repository", repository)
    return Home(Path.home() / STORE, "none", repository)


def _origin(repository: Repository) -> str | None:
    """Return the address of the remote `origin` as HOST/PATH; None without one."""
    import subprocess  # noqa: PLC0415 - most starts need none

    command = ["git", f"--git-dir={repository.common}", "config", "--get", "remote.origin.url"]
    try:
        git_result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - git, with a folder
    except OSError:  # there is no git on this machine
        return None
    return address(git_result.stdout) if git_result.returncode == 0 else None


def address(url: str) -> str | None:
    """Return a remote's address as HOST/PATH, the same for every way to write it.

    A local path stays a path; without an address the result is None.
    """
    remote = url.strip()
    if "://" in remote:
        try:
            url_parts = urlsplit(remote)
        except ValueError:  # such as a bracket that is not closed: git cannot use it either
            return None
        remote = f"{(url_parts.hostname or '').lower()}{url_parts.path}"
    elif match := re.fullmatch(r"(?:[^@/:]+@)?([^/:]+):(.+)", remote):
        remote = f"{match[1].lower()}/{match[2].lstrip('/')}"
    return remote.rstrip("/").removesuffix(".git").rstrip("/") or None


def _hashed(text: str) -> str:
    import hashlib  # noqa: PLC0415 - most starts need none

    return hashlib.sha256(text.encode()).hexdigest()[:16]


def cache_folder() -> Path:
    """Return the user's folder for files that can be made again."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
