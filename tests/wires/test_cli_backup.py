"""`day1 backup` as a person and a timer meet it."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.wires.command_line import CommandLine


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    cli = CommandLine(tmp_path)
    cli("init")
    cli.add("Ada: tea")
    cli("switch", "-c", "side")
    cli.add("Ada: coffee")
    return cli


def test_a_store_goes_into_a_file_and_comes_back_elsewhere(cli: CommandLine) -> None:
    said = cli("backup", "b.tar.gz")
    assert said.out.startswith("Backed up 2 branches (1 row on main) to ")
    assert "writers waited" in said.out
    assert "as safe as the store" in said.err
    cli.env["DAY1_HOME"] = str(cli.folder / "new")
    said = cli("backup", "b.tar.gz", "--restore")
    assert said.out.startswith("Restored 2 branches (1 row on main), as of 20")
    assert said.out.endswith(f"into {cli.folder / 'new'}\n")
    assert cli.json("status")["branch"] == "side", "the HEAD comes along"
    assert "Ada: coffee" in cli("search", "coffee").out


def test_a_file_says_what_is_in_it(cli: CommandLine) -> None:
    made = cli.json("backup", "b.tar.gz")
    seen = cli.json("backup", "b.tar.gz", "--check")
    assert seen == {k: v for k, v in made.items() if k not in {"bytes", "writers_waited_ms"}}
    assert [(b["branch_name"], b["rows"]) for b in seen["branches"]] == [("main", 1), ("side", 2)]
    assert made["bytes"] == (cli.folder / "b.tar.gz").stat().st_size
    assert cli("backup", "b.tar.gz", "--check").out.startswith(str(cli.folder / "b.tar.gz"))
    assert {path.name for path in cli.folder.iterdir()} == {".day1", "b.tar.gz"}


def test_tokens_come_along_and_that_is_said(cli: CommandLine) -> None:
    secret = cli.json("token", "create", "ada")["secret"]
    cli("backup", "b.tar.gz")
    said = cli("backup", "b.tar.gz", "--restore", "--into", "new")
    assert "Tokens are as they were then" in said.err
    cli.env["DAY1_HOME"] = str(cli.folder / "new")
    assert [t["name"] for t in cli.json("token", "list")["result"]] == ["ada"]
    assert secret.encode() not in (cli.folder / "new" / "ledger.db").read_bytes()


def test_what_is_there_is_not_overwritten(cli: CommandLine) -> None:
    cli("backup", "b.tar.gz")
    assert cli.refused("backup", "b.tar.gz")["code"] == "refused"
    assert cli.refused("backup", "b.tar.gz", "--restore")["code"] == "refused"
    assert cli.json("status")["branch"] == "side"


def test_a_damaged_file_is_refused(cli: CommandLine) -> None:
    (cli.folder / "b.tar.gz").write_bytes(b"my holiday")
    for how in ("--check", "--restore"):
        more = ("--into", "new") if how == "--restore" else ()
        assert cli.refused("backup", "b.tar.gz", how, *more)["code"] == "store_damaged"
    assert not (cli.folder / "new").exists()


@pytest.mark.parametrize(
    "line",
    ["backup", "backup b --check --restore", "backup b --into new", "backup none --restore"],
)
def test_a_command_that_does_not_fit_is_exit_code_2(cli: CommandLine, line: str) -> None:
    assert cli.refused(*line.split(), code=2)["code"] == "usage"


def test_without_a_store_there_is_nothing_to_back_up(tmp_path: Path) -> None:
    bare = CommandLine(tmp_path)
    assert bare.refused("backup", "b.tar.gz")["code"] == "not_a_store"
    assert list(bare.folder.iterdir()) == []


def test_backup_prints_no_text_of_the_memory(cli: CommandLine) -> None:
    said = cli("backup", "b.tar.gz", "--json")
    assert "coffee" not in said.out + said.err
    assert json.loads(said.out)["engine"].startswith("doltlite ")


def test_a_folder_that_cannot_be_written_is_named(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("backup", "b.tar.gz")
    make_folder = Path.mkdir

    def of_a_disk_that_is_mounted_to_read(path: Path, *arguments: Any, **options: Any) -> None:
        if path.suffix == ".tmp":
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        make_folder(path, *arguments, **options)

    monkeypatch.setattr(Path, "mkdir", of_a_disk_that_is_mounted_to_read)
    for line in ("--check b.tar.gz", "c.tar.gz", "--restore b.tar.gz --into new"):
        refused = cli.refused("backup", *line.split())
        assert refused["code"] == "store_read_only"
        assert f"{cli.folder} cannot be written (Read-only file system)" in refused["message"]
