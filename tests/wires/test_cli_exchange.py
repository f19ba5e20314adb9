"""Exports and imports on the command line."""

import json
from pathlib import Path

from tests.wires.command_line import CommandLine


def test_an_export_comes_back_byte_for_byte(cli: CommandLine, tmp_path: Path) -> None:
    cli.add("Ada: 30")
    cli("switch", "-c", "try")
    cli("add", "--relation", "a", "b", "c")
    whole = cli("export", "--all").out
    assert cli.json("export", "--all", "-o", "all.jsonl")["lines"] == whole.count("\n")
    assert (cli.folder / "all.jsonl").read_text() == whole
    other = CommandLine(tmp_path / "other")
    other("init")
    done = other.json("import", "jsonl", "-", stdin=whole)
    assert done["branches"] == ["try"]
    assert other("export", "--all").out == whole
    assert cli("export", "--all", "--at", "now", code=2).err
    assert cli.refused("export", code=2)["code"] == "usage"


def test_notes_are_imported_once_from_wherever_one_stands(cli: CommandLine) -> None:
    notes = cli.folder / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Gateway\n\nIt waits 30 seconds.\n\n# Cache\n\nRedis.\n")
    assert cli.json("import", "markdown", "notes")["added"] == 2
    cli.folder = notes
    again = cli.json("import", "markdown", ".")
    assert (again["added"], again["unchanged"]) == (0, 2)
    (notes / "a.md").write_text("# Gateway\n\nIt waits 45 seconds.\n\n# Cache\n\nRedis.\n")
    said = cli("import", "markdown", ".")
    assert "0 added, 1 changed, 1 unchanged" in said.out
    hit = cli.json("search", "gateway waits")["result"][0]
    cli("edit", hit["id"], "Gateway: mine")
    (notes / "a.md").write_text("# Gateway\n\nIt waits 60 seconds.\n\n# Cache\n\nRedis.\n")
    assert f"left fact_{hit['id'][-8:]}: it was edited here" in cli("import", "markdown", ".").out
    assert cli.refused("import", "markdown", "nowhere")["code"] == "not_found"


def test_import_makes_a_store_and_takes_a_graph(bare: CommandLine) -> None:
    lines = [
        {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["likes tea"]},
        {"type": "relation", "from": "Ada", "to": "Bo", "relationType": "knows"},
    ]
    (bare.folder / "g.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert bare.json("import", "graph", "g.jsonl")["added"] >= 2
    assert (bare.home / ".day1").is_dir()


def test_an_export_to_a_link_writes_the_file_that_it_names(cli: CommandLine) -> None:
    file, link = cli.folder / "today.jsonl", cli.folder / "latest.jsonl"
    file.write_text("yesterday's\n")
    file.chmod(0o640)
    link.symlink_to(file.name)
    cli("export", "-o", "latest.jsonl")
    assert link.is_symlink()
    assert file.read_text() == cli("export").out
    assert file.stat().st_mode & 0o777 == 0o640
