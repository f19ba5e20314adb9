"""`day1 setup` on files that cannot be edited, killed, and with others at work."""

import errno
import hashlib
import json
import os
import signal
import stat
import subprocess
from pathlib import Path

import pytest

from day1.adapters.clients import jsonc
from day1.adapters.clients.copies import MOST
from tests.forkserver import python
from tests.wires.clients_files import COMMENTED, TOML, codex, fresh, states, tree, zed
from tests.wires.command_line import CommandLine


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """A fresh home, and a project; `day1` is on the PATH."""
    return fresh(tmp_path)


# Files that cannot be edited


@pytest.mark.parametrize(
    "content",
    [
        b"{", b"[]", b'{"a": 1,,}', b'{"a": 1} {}', b"\xff\xfe", b"{'a': 1}", b'{"a": "open}',
        b'{"context_servers": []}', b'{"context_servers": 3}', b"[" * 100_000,
        b'{"context_servers": {}, "context_servers": {}}', b'{"a": 1 // }', b"{}/*",
        b'{"a": 1 // x\r, "b": 2\n}', b'{"a": NaN}', b'{"context_servers": {"day1": null}}',
        b"{\0}", '{"a": 1}'.encode("utf-16"), b'{"context_servers": null}',
    ],
)  # fmt: skip
def test_json_that_is_not_sound_is_never_touched(cli: CommandLine, content: bytes) -> None:
    path = zed(cli, content)
    for more in ([], ["--check"], ["--dry-run"], ["--remove"]):
        assert "refused" in states(cli, "zed", *more, code=1).values()
    assert tree(cli.home) == {".config/zed/settings.json": content}
    assert stat.S_ISREG(path.lstat().st_mode)


@pytest.mark.parametrize(
    "content", [b"a = ", b"[mcp_servers]\n[mcp_servers]\n", b"\xff", b"mcp_servers = {}\n", b"mcp_servers = 1"]
)  # fmt: skip
def test_toml_that_is_not_sound_is_never_touched(cli: CommandLine, content: bytes) -> None:
    path = codex(cli, content)
    assert states(cli, "codex", code=1)["config.toml mcp_servers.day1"] == "refused"
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "content", [b"<!-- BEGIN day1\nopen", b"<!-- END day1 -->\n", b"<!-- END day1 --><!-- BEGIN day1 -->", "# Ours".encode("utf-16")]
)  # fmt: skip
def test_marks_that_do_not_fit_are_never_touched(cli: CommandLine, content: bytes) -> None:
    notes = cli.folder / "CLAUDE.md"
    notes.write_bytes(content)
    assert states(cli, "claude", "--project", code=1) == {
        ".mcp.json mcpServers.day1": "added", "settings.json hooks": "added",
        "CLAUDE.md section day1": "refused",
    }  # fmt: skip
    assert notes.read_bytes() == content


def test_a_read_only_file_stays(cli: CommandLine) -> None:
    path = zed(cli)
    path.chmod(0o444)
    assert "read-only" in cli("setup", "zed", code=1).err
    assert path.read_bytes() == COMMENTED


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_read_only_folder_is_said(cli: CommandLine) -> None:
    path = zed(cli)
    path.parent.chmod(0o555)
    assert "cannot be written" in cli("setup", "zed", code=1).err


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop"])
def test_what_is_no_file_stays(cli: CommandLine, kind: str) -> None:
    path = zed(cli, None)
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(path)
    assert states(cli, "zed", code=1)["settings.json context_servers.day1"] == "refused"


def test_links_are_followed_and_stay(cli: CommandLine) -> None:
    path, kept = zed(cli, None), cli.home / "dotfiles" / "zed.json"
    kept.parent.mkdir()
    path.symlink_to("../../dotfiles/zed.json")
    cli("setup", "zed")
    assert path.is_symlink()
    assert "day1" in kept.read_text(), "also where the link led nowhere yet"
    kept.write_bytes(COMMENTED)
    kept.chmod(0o640)
    cli("setup", "zed")
    assert path.is_symlink()
    assert b"day1" in kept.read_bytes()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o640


def test_a_link_that_led_nowhere_leads_nowhere_again(cli: CommandLine) -> None:
    path, kept = zed(cli, None), cli.home / "zed.json"
    path.symlink_to(kept)
    cli("setup", "zed")
    cli("setup", "zed", "--remove")
    assert path.is_symlink()
    assert not kept.exists()


def test_without_a_place_for_copies_nothing_is_done(cli: CommandLine) -> None:
    path = zed(cli)
    (cli.home / ".local").write_text("in the way")
    assert "XDG_DATA_HOME" in cli.refused("setup", "zed")["message"]
    assert path.read_bytes() == COMMENTED


def test_a_large_file_is_edited_and_a_huge_one_refused(cli: CommandLine) -> None:
    chats = {str(n): "x" * 1_000 for n in range(5_000)}
    path = cli.home / ".claude.json"
    path.write_text(json.dumps({"chats": chats}, indent=2))
    before = path.read_bytes()
    cli("setup", "claude")
    assert json.loads(path.read_text())["chats"] == chats
    cli("setup", "claude", "--remove")
    assert path.read_bytes() == before
    with path.open("r+b") as file:
        file.truncate(65 * 1024 * 1024)
    assert "bytes" in cli("setup", "claude", code=1).err


def test_an_empty_file_is_filled_and_empty_again(cli: CommandLine) -> None:
    path = zed(cli, b"")
    cli("setup", "zed")
    assert json.loads(path.read_text())["context_servers"]["day1"]
    cli("setup", "zed", "--remove")
    assert path.read_bytes() == b""


# Backups, kills, others at work


def copy_of(cli: CommandLine, *arguments: str) -> Path:
    """The copy that a set-up of Zed names."""
    (copy,) = [each["backup"] for each in cli.json("setup", "zed", *arguments)["files"]]
    return Path(copy)


def test_a_copy_is_kept_before_each_change(cli: CommandLine) -> None:
    path = zed(cli)
    path.chmod(0o644)
    first = copy_of(cli)
    assert first.read_bytes() == COMMENTED
    assert "zed-settings.json" in first.name
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert stat.S_IMODE(first.parent.stat().st_mode) == 0o700
    changed = path.read_bytes()
    assert copy_of(cli, "--tools", "core14").read_bytes() == changed
    changed = path.read_bytes()
    assert copy_of(cli, "--remove").read_bytes() == changed
    assert path.read_bytes() == first.read_bytes() == COMMENTED


def test_copies_do_not_pile_up(cli: CommandLine) -> None:
    path = zed(cli)
    first = newest = copy_of(cli)
    for times in range(2 * MOST):
        path.write_bytes(path.read_bytes() + b"// more\n")
        newest = copy_of(cli, "--tools", "core14" if times % 2 else "core")
    every = sorted(first.parent.iterdir())
    assert len(every) == MOST
    assert (every[0], every[-1]) == (first, newest), "the first one stays, and the newest"
    assert first.read_bytes() == COMMENTED


def test_the_copy_of_an_earlier_day1_still_gives_the_same_bytes_back(cli: CommandLine) -> None:
    path = zed(cli)
    copy = copy_of(cli)
    place = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
    copy.rename(copy.with_name(f"{place}-settings.json"))
    cli("setup", "zed", "--remove")
    assert path.read_bytes() == COMMENTED


def test_an_edit_that_changes_more_than_day1s_own_is_not_written(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever an editor of one format does wrong, no byte of others' is written."""
    path = zed(cli)
    right = jsonc.put
    monkeypatch.setattr(jsonc, "put", lambda *a: right(*a).replace(b"// nice", b"// Nice"))
    for look in (["--check"], []):
        assert states(cli, "zed", *look, code=1) == {
            "settings.json context_servers.day1": "refused"
        }
    assert path.read_bytes() == COMMENTED


def test_a_file_of_another_owner_that_cannot_stay_theirs_is_left(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zed(cli)
    path.chmod(0o666)
    if os.geteuid() != 0:
        pytest.skip("only the superuser can give a file away")
    os.chown(path, 12345, 12345)

    def denied(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chown", denied)
    assert "its owner or group would change" in cli("setup", "zed", code=1).err
    assert path.read_bytes() == COMMENTED
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]


@pytest.mark.parametrize("full", ["settings.json.day1-new", "backups"])
def test_a_full_disk_leaves_the_file(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch, full: str
) -> None:
    path, sync = zed(cli), os.fsync

    def fails(handle: int) -> None:
        if full in str(Path(f"/proc/self/fd/{handle}").readlink()):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(handle)

    monkeypatch.setattr(os, "fsync", fails)
    assert "No space left" in cli("setup", "zed", code=1).err
    assert path.read_bytes() == COMMENTED
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]
    monkeypatch.undo()
    cli("setup", "zed")
    cli("setup", "zed", "--remove")
    assert path.read_bytes() == COMMENTED


@pytest.mark.parametrize("point", ["setup-after-backup", "setup-before-rename"])
def test_a_kill_leaves_the_file_and_the_next_run_does_it(cli: CommandLine, point: str) -> None:
    path = zed(cli)
    killed = cli.process("setup", "zed", DAY1_KILL_AT=point)
    assert killed.returncode == -signal.SIGKILL
    assert path.read_bytes() == COMMENTED
    cli("setup", "zed")
    assert b"day1" in path.read_bytes()
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]
    cli("setup", "zed", "--remove")
    assert path.read_bytes() == COMMENTED


def test_many_at_once_do_it_once(cli: CommandLine) -> None:
    path, config = zed(cli), codex(cli)
    command = [*python(), "-m", "day1", "setup", "zed", "codex"]
    running = [
        subprocess.Popen(command, cwd=cli.folder, env=cli.env, stdout=subprocess.DEVNULL)
        for _ in range(4)
    ]
    assert [process.wait() for process in running] == [0] * 4
    assert path.read_bytes().count(b'"day1": {') == 1
    assert config.read_bytes().count(b"[mcp_servers.day1]") == 1
    cli("setup", "zed", "codex", "--remove")
    assert (path.read_bytes(), config.read_bytes()) == (COMMENTED, TOML)


def test_a_file_that_a_client_changes_meanwhile_is_not_overwritten(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = zed(cli)

    def changing(name: str) -> None:
        if name == "setup-before-rename":
            path.write_bytes(b'{"theme": "theirs"}')

    monkeypatch.setattr("day1.app.stores.point", lambda _: changing)
    assert "try again" in cli("setup", "zed", code=1).err
    assert path.read_bytes() == b'{"theme": "theirs"}'
