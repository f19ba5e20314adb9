"""Which store is meant: by folder, by worktree, by origin; and that git leaves it alone."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from day1.app.cli import run
from day1.interfaces.cli.codes import FAILED
from tests.engine import FOLDER, engine
from tests.wires.command_line import CommandLine

pytestmark = pytest.mark.skipif(engine() != FOLDER, reason="a store on a server is named by a URL")


def git(folder: Path, *arguments: str) -> str:
    env = {**os.environ, "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    for name in ("AUTHOR", "COMMITTER"):
        env |= {f"GIT_{name}_NAME": "someone", f"GIT_{name}_EMAIL": "someone@example.org"}
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """In a repository with one commit."""
    cli = CommandLine(tmp_path)
    git(cli.folder, "init", "-q")
    git(cli.folder, "commit", "-q", "--allow-empty", "-m", "first")
    return cli


def at(cli: CommandLine, folder: Path) -> str:
    """The store that is meant in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    before, cli.folder = cli.folder, folder
    try:
        return str(cli.json("where")["store"])
    finally:
        cli.folder = before


def worktree(cli: CommandLine, name: str = "beside") -> Path:
    path = cli.folder.parent / name
    git(cli.folder, "worktree", "add", "-q", str(path))
    return path


def test_a_repository_is_one_project_with_its_subfolders_and_worktrees(cli: CommandLine) -> None:
    store = str(cli.folder / ".day1")
    linked = worktree(cli)
    folders = (cli.folder, cli.folder / "deep" / "below", linked, linked / "deep")
    assert {at(cli, folder) for folder in folders} == {store}
    before, cli.folder = cli.folder, linked / "deep"
    cli.add("Written in a worktree.")
    assert cli.json("where")["rule"] == "worktree"
    cli.folder = before
    assert "Written in a worktree." in cli("log", "-n", "1").out + cli("search", "Written").out
    assert {at(cli, folder) for folder in folders} == {store}


def test_a_worktree_belongs_to_its_repository_before_the_folders_around_it(
    cli: CommandLine,
) -> None:
    cli("init", str(cli.home))
    cli("init")
    linked = cli.home / "linked"
    git(cli.folder, "worktree", "add", "-q", str(linked))
    assert at(cli, linked) == str(cli.folder / ".day1")
    assert at(cli, cli.home / "elsewhere") == str(cli.home / ".day1")


def test_a_store_of_the_worktrees_own_stays_its_store(cli: CommandLine) -> None:
    linked = worktree(cli)
    cli("init", str(linked))
    cli("init")
    assert at(cli, linked) == str(linked / ".day1")


def test_a_store_of_a_worktree_is_made_in_the_repository(cli: CommandLine) -> None:
    top, cli.folder = cli.folder, worktree(cli)
    assert cli.json("init")["store"] == str(top / ".day1")
    assert cli.json("init", ".")["store"] == str(cli.folder / ".day1")
    assert cli.json("init")["store"] == str(cli.folder / ".day1"), "it has one by now"


def test_a_users_store_goes_on_serving_repositories_that_have_none(cli: CommandLine) -> None:
    cli("init", str(cli.home))
    assert cli.json("where")["rule"] == "user"
    assert at(cli, cli.folder) == str(cli.home / ".day1")
    cli("init")
    assert at(cli, cli.folder) == str(cli.folder / ".day1")


def test_without_store_and_repository_it_is_the_users(tmp_path: Path) -> None:
    bare = CommandLine(tmp_path)
    found = bare.json("where")
    assert (found["store"], found["exists"]) == (str(bare.home / ".day1"), False)
    assert (found["rule"], found["project"]) == ("none", None)
    assert not (bare.home / ".day1").exists(), "to ask makes nothing"


def test_a_folder_that_claims_to_be_a_worktree_is_not_believed(cli: CommandLine) -> None:
    """An unpacked archive could name any repository of the user's."""
    cli("init")
    linked = worktree(cli)
    strange = cli.folder.parent / "strange"
    strange.mkdir()
    (strange / ".git").write_bytes((linked / ".git").read_bytes())
    assert at(cli, strange) != str(cli.folder / ".day1")
    mine = strange / "own"
    mine.mkdir()
    (mine / "HEAD").write_text("ref: refs/heads/main\n")
    (mine / "commondir").write_text(f"{cli.folder}/.git\n")
    (mine / "gitdir").write_text(f"{strange}/.git\n")
    (strange / ".git").write_text("gitdir: own\n")
    assert at(cli, strange) != str(cli.folder / ".day1")


@pytest.mark.parametrize("content", [b"", b"gitdir:", b"\xff\xfe\0", b"gitdir: /nowhere\n"])
def test_a_git_file_that_says_nothing_means_no_repository(tmp_path: Path, content: bytes) -> None:
    bare = CommandLine(tmp_path)
    (bare.folder / ".git").write_bytes(content)
    assert bare.json("where")["project"] is None


def test_worktrees_of_a_bare_repository_are_one_project(tmp_path: Path) -> None:
    cli = CommandLine(tmp_path)
    git(cli.folder, "init", "-q", "--bare", "shared.git")
    bare = cli.folder / "shared.git"
    tree = git(bare, "hash-object", "-t", "tree", "-w", "/dev/null").strip()
    commit = git(bare, "commit-tree", tree, "-m", "first").strip()
    for name in ("one", "two"):
        git(bare, "worktree", "add", "-q", "-b", name, str(tmp_path / name), commit)
    assert at(cli, tmp_path / "one") == at(cli, tmp_path / "two") == str(bare / ".day1")


def test_clones_of_one_origin_are_one_project_only_if_asked(cli: CommandLine) -> None:
    clones = [cli.folder.parent / name for name in ("one", "two")]
    for clone, address in zip(
        clones,
        ("git@Example.org:team/app.git", "https://someone:secret@example.org/team/app"),
        strict=True,
    ):
        git(cli.folder, "clone", "-q", str(cli.folder), str(clone))
        git(clone, "remote", "set-url", "origin", address)
    assert at(cli, clones[0]) != at(cli, clones[1])
    cli.env["DAY1_PROJECT"] = "origin"
    shared = at(cli, clones[0])
    assert shared == at(cli, clones[1])
    assert shared.startswith(str(cli.home / ".local" / "share" / "day1" / "projects"))
    assert at(cli, cli.folder) == str(cli.folder / ".day1"), "it has no origin"


def test_git_ignores_the_store(cli: CommandLine) -> None:
    exclude = cli.folder / ".git" / "info" / "exclude"
    exclude.parent.mkdir(exist_ok=True)
    exclude.write_bytes(b"*.tmp")
    cli("init")
    cli("init", "below")
    assert exclude.read_bytes() == b"*.tmp\n.day1/\n"
    assert git(cli.folder, "status", "--porcelain") == ""


def test_a_store_is_made_though_git_cannot_be_told(cli: CommandLine) -> None:
    exclude = cli.folder / ".git" / "info" / "exclude"
    exclude.unlink(missing_ok=True)
    exclude.mkdir(parents=True)
    cli("init")
    assert cli.json("where")["exists"]


def test_a_damaged_store_is_still_said(cli: CommandLine) -> None:
    cli("init")
    (cli.folder / ".day1" / "memory.db").write_bytes(b"no store at all" * 1_000)
    found = cli.json("where")
    assert found["store"] == str(cli.folder / ".day1")
    assert found["branch"]["name"] is None
    assert found["branch"]["why"] in cli("where").out


def test_where_says_branch_and_agent(cli: CommandLine) -> None:
    cli("init")
    cli("switch", "-c", "ops")
    cli.env |= {"DAY1_AGENT_ID": "someone", "DAY1_BRANCH": "task/1"}
    found = cli.json("where")
    names = [found[key]["name"] for key in ("branch", "server_branch", "agent")]
    assert names == ["ops", "task/1", "someone"]
    said = cli("where").out
    for text in (str(cli.folder / ".day1"), found["why"], "ops", "task/1", "someone"):
        assert text in said
    cli.env["DAY1_HOME"] = str(cli.folder / "other")
    assert cli.json("where")["rule"] == "home"


def test_init_refuses_the_folder_of_another_user(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = cli.folder / ".day1"
    store.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: store.stat().st_uid + 1)
    for folder in ((), (".",), (str(cli.folder),)):
        error = cli.refused("init", *folder)
        assert error["code"] == "store_of_another"
        assert f"DAY1_HOME={store}" in error["message"]
    assert list(store.iterdir()) == [], "nothing is made in it"
    cli.env["DAY1_HOME"] = str(store)
    cli("init")
    del cli.env["DAY1_HOME"]
    assert cli.refused("init")["code"] == cli.refused("status")["code"] == "store_of_another"


@pytest.mark.parametrize("command", ["status", "where", "init", "backup all.day1"])
def test_a_deleted_present_folder_is_named(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    deleted = tmp_path / "deleted"
    deleted.mkdir()
    monkeypatch.chdir(deleted)
    for name in ("DAY1_HOME", "DAY1_STORE__URL"):
        monkeypatch.delenv(name, raising=False)
    deleted.rmdir()
    assert run([*command.split(), "--json"]) == FAILED
    error = json.loads(capsys.readouterr().err)["error"]
    assert error["code"] == "not_found"
    assert error["message"].startswith("The present folder was deleted")
