"""Find the git repository of a folder. git's files are read, git itself is not started.

A repository is identified by its common directory: worktrees share it, clones do not.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

STORE = ".day1"
"""The name of a store's folder."""
_MAX_BYTES = 64 * 1024
"""Maximum number of bytes read of a git file that names a folder."""


class Repository(NamedTuple):
    """A git repository, seen from one of its worktrees."""

    worktree: Path
    """The worktree's top folder."""
    common: Path
    """The folder that all worktrees share, such as `.git` of the first one."""

    @property
    def folder(self) -> Path:
        """The repository's first worktree; of a bare repository, its own folder."""
        if not self.linked:
            return self.worktree
        return self.common.parent if self.common.name == ".git" else self.common

    @property
    def linked(self) -> bool:
        """Whether this worktree was added by `git worktree add`."""
        return _linked(self.worktree) is not None


def repository_of(folder: Path) -> Repository | None:
    """Find the repository of a folder; None if there is none or it cannot be read."""
    for ancestor in (folder, *folder.parents):
        try:
            common_folder = _common(ancestor)
        except (OSError, ValueError):  # another user's file, or one without a path
            return None
        if common_folder is not None:
            return Repository(ancestor, common_folder)
    return None


def keep_out(store: Path) -> None:
    """Make git ignore a store that lies in a worktree, by a line in `.git/info/exclude`.

    An existing line is not written again.

    Raises:
        OSError: the file cannot be written, and git shows the folder as untracked.
    """
    repository = repository_of(store.parent) if store.name == STORE else None
    if repository is None:
        return
    exclude_file = repository.common / "info" / "exclude"
    exclude_bytes = exclude_file.read_bytes() if exclude_file.exists() else b""
    ignored_names = {line.strip().strip(b"/") for line in exclude_bytes.splitlines()}
    if STORE.encode() not in ignored_names:
        exclude_file.parent.mkdir(exist_ok=True)
        line_break = b"\n" if exclude_bytes and not exclude_bytes.endswith(b"\n") else b""
        with exclude_file.open("ab") as file:
            file.write(line_break + f"{STORE}/\n".encode())


def _common(top: Path) -> Path | None:
    """Find a repository's common directory from its top folder or a worktree's; None for others."""
    git_path = top / ".git"
    if (git_path / "HEAD").is_file():
        return git_path
    if not git_path.is_file():
        return None
    git_folder = _named_in(git_path, b"gitdir:")
    if not (git_folder / "HEAD").is_file():
        return None
    return _linked(top) or git_folder  # else a submodule, or `git init --separate-git-dir`


def _linked(top: Path) -> Path | None:
    """Find the common directory of a worktree that `git worktree add` made; None for others.

    The repository must name the worktree too: a foreign folder may name any repository.
    """
    git_path = top / ".git"
    if not git_path.is_file():
        return None
    git_folder = _named_in(git_path, b"gitdir:")
    common_file, back_link = git_folder / "commondir", git_folder / "gitdir"
    if not (common_file.is_file() and back_link.is_file()):
        return None
    common_folder = _named_in(common_file)
    is_worktree = git_folder.resolve().is_relative_to(common_folder / "worktrees")
    return common_folder if is_worktree and _named_in(back_link) == git_path.resolve() else None


def _named_in(file: Path, label: bytes = b"") -> Path:
    """Read the path in a git file, which may be relative to the file's folder."""
    with file.open("rb") as open_file:
        content = open_file.read(_MAX_BYTES)
    if not content.startswith(label):
        raise ValueError(file)
    path_bytes = content.removeprefix(label).strip()
    return (file.parent / path_bytes.decode("utf-8", "surrogateescape")).resolve()
