"""Which git repository a folder belongs to. git's files are read, git itself is not started.

A repository is known by its common directory: worktrees share it, clones do not.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

STORE = ".day1"
"""The name of a store's folder."""
_LONGEST = 64 * 1024
"""A file that names a folder is shorter, in bytes."""


class Repository(NamedTuple):
    """A git repository, seen from one of its worktrees."""

    worktree: Path
    """The worktree's top folder."""
    common: Path
    """The folder that all worktrees share, such as `.git` of the first one."""

    @property
    def folder(self) -> Path:
        """The first worktree; of a bare repository, its own folder."""
        if not self.linked:
            return self.worktree
        return self.common.parent if self.common.name == ".git" else self.common

    @property
    def linked(self) -> bool:
        """Whether this worktree was added by `git worktree add`."""
        return _linked(self.worktree) is not None


def repository_of(folder: Path) -> Repository | None:
    """The repository whose worktree a folder is in; None if it is in none, or it cannot be read."""
    for top in (folder, *folder.parents):
        try:
            common = _common(top)
        except (OSError, ValueError):  # another user's, or no text
            return None
        if common is not None:
            return Repository(top, common)
    return None


def keep_out(store: Path) -> None:
    """Have git ignore a store that lies in a worktree, by a line in `.git/info/exclude`.

    A line that is there already stays the only one.

    Raises:
        OSError: the file cannot be written, and git shows the folder as untracked.
    """
    repository = repository_of(store.parent) if store.name == STORE else None
    if repository is None:
        return
    path = repository.common / "info" / "exclude"
    before = path.read_bytes() if path.exists() else b""
    lines = {line.strip().strip(b"/") for line in before.splitlines()}
    if STORE.encode() not in lines:
        path.parent.mkdir(exist_ok=True)
        start = b"\n" if before and not before.endswith(b"\n") else b""
        with path.open("ab") as file:
            file.write(start + f"{STORE}/\n".encode())


def _common(top: Path) -> Path | None:
    """The common directory of the worktree whose top folder this is; None if it is no such."""
    git = top / ".git"
    if (git / "HEAD").is_file():
        return git
    if not git.is_file():
        return None
    own = _named_in(git, b"gitdir:")
    if not (own / "HEAD").is_file():
        return None
    return _linked(top) or own  # else a submodule, or `git init --separate-git-dir`


def _linked(top: Path) -> Path | None:
    """The common directory of a worktree that was added to a repository.

    The repository must name the worktree too: a folder from elsewhere may claim any.
    """
    git = top / ".git"
    if not git.is_file():
        return None
    own = _named_in(git, b"gitdir:")
    shared, back = own / "commondir", own / "gitdir"
    if not (shared.is_file() and back.is_file()):
        return None
    common = _named_in(shared)
    known = own.resolve().is_relative_to(common / "worktrees")
    return common if known and _named_in(back) == git.resolve() else None


def _named_in(file: Path, label: bytes = b"") -> Path:
    """The path that a file of git's names, which may be relative to the file's folder."""
    with file.open("rb") as opened:
        text = opened.read(_LONGEST)
    if not text.startswith(label):
        raise ValueError(file)
    path = text.removeprefix(label).strip()
    return (file.parent / path.decode("utf-8", "surrogateescape")).resolve()
