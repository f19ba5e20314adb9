"""`day1 import git` of a copy that a stranger made: it runs no program of the copy's choice."""

import stat
import subprocess
from pathlib import Path

import pytest

from day1.adapters.sources.git import GitSource
from day1.errors import InvalidRequest
from tests.flows.git_repository import GitRepository

WAYS = {
    "fsmonitor": ("core.fsmonitor",),
    "external diff": ("diff.external", "diff.planted.command"),
    "textconv": ("diff.planted.textconv",),
    "signature": ("gpg.program", "gpg.openpgp.program", "gpg.ssh.program"),
    "pager": ("core.pager", "pager.log", "pager.for-each-ref", "pager.rev-list"),
    "filter": ("filter.planted.smudge", "filter.planted.clean", "filter.planted.process"),
    "alias": ("alias.log", "alias.rev-list", "alias.for-each-ref"),
    "ssh": ("core.sshCommand", "core.gitProxy", "credential.helper", "core.askPass"),
    "editor": ("core.editor", "core.alternateRefsCommand", "sequence.editor"),
}


@pytest.fixture
def git(tmp_path: Path) -> GitRepository:
    git = GitRepository(tmp_path / "project")
    git.commit("First", {"a.txt": "1", ".gitattributes": "* diff=planted filter=planted\n"})
    git.commit("Second", {"a.txt": "2", "b.txt": "1"})
    git.git("tag", "v1", "-m", "One")
    return git


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    return tmp_path / "ran"


@pytest.fixture
def program(tmp_path: Path, marker: Path) -> Path:
    """What the copy would have run."""
    program = tmp_path / "planted"
    program.write_text(f'#!/bin/sh\ntouch "{marker}"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return program


@pytest.mark.parametrize("way", WAYS)
def test_no_setting_of_the_repository_runs_a_program(git, marker, program, way) -> None:
    """C1: a repository's own settings name programs; none is run."""
    for key in WAYS[way]:
        git.git("config", key, str(program))
    git.git("config", "log.showSignature", "true")
    git.git("config", "log.diffMerges", "on")
    source = GitSource(git.folder)
    assert source.total() == 3
    assert [len(drafts) for drafts in source.items()] == [4, 4, 1]
    assert not marker.exists()


def test_no_hook_of_the_repository_runs(git, marker, program) -> None:
    """C1: nor do its hooks, in the usual place or another."""
    hooks = git.folder / "hooks"
    hooks.mkdir()
    for name in (
        "fsmonitor-watchman",
        "post-index-change",
        "reference-transaction",
        "post-checkout",
    ):
        for folder in (hooks, git.folder / ".git" / "hooks"):
            folder.mkdir(exist_ok=True)
            (folder / name).write_bytes(program.read_bytes())
            (folder / name).chmod(0o700)
    git.git("config", "core.hooksPath", str(hooks))
    marker.unlink(missing_ok=True)
    assert [len(drafts) for drafts in GitSource(git.folder).items()] == [4, 4, 1]
    assert not marker.exists()


@pytest.mark.parametrize("lacking", ["HEAD", "HEAD^{tree}"])
def test_what_the_copy_lacks_is_not_fetched(git, marker, program, lacking) -> None:
    """C1: a partial copy does not run its `uploadpack` to fetch what it lacks."""
    missing = git.git("rev-parse", lacking)
    (git.folder / ".git" / "objects" / missing[:2] / missing[2:]).unlink()
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": str(git.folder),
        "remote.origin.uploadpack": str(program),
    }.items():
        git.git("config", key, value)
    subprocess.run(["git", "show", "HEAD"], cwd=git.folder, capture_output=True, check=False)
    assert marker.exists(), "git no longer fetches what is missing: this test shows nothing"
    marker.unlink()
    with pytest.raises(InvalidRequest):
        list(GitSource(git.folder).items())
    assert not marker.exists()
