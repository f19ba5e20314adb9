"""A text that is kept in parts: found as one, read on from part to part, redacted as one."""

import json
from pathlib import Path
from typing import Any

import pytest

from day1.model.values.parts import MAX_TEXT, part_id, piece_of
from tests.wires.command_line import CommandLine

BEACON = "The beacon of the harbour is tested every second Tuesday."


def long_text(paragraphs: int) -> str:
    """Paragraphs of which all speak of the beacon, and each of something else."""
    said = (
        f"Paragraph {n}. The beacon of the harbour has a lamp numbered {n}.\n\n" + "Filler. " * 60
        for n in range(paragraphs)
    )
    return "\n\n".join(said)


def bring(cli: CommandLine, text: str, key: str = "manual") -> str:
    """Import a text as a memory of beads, merge it to main, and answer the id of its first part."""
    file = cli.folder / "memories.jsonl"
    file.write_text(json.dumps({"_type": "memory", "key": key, "value": text}) + "\n")
    done = cli.json("import", "beads", str(file))
    cli("review", "merge", done["branch"])
    rows = cli.json("call", "memory_list", json.dumps({"type": "fact", "limit": 200}))["rows"]
    (first,) = [row["id"] for row in rows if f"of {row['id']}]" in row["fact_text"]]
    return str(first)


def search(cli: CommandLine, query: str, **more: Any) -> list[dict[str, Any]]:
    found = cli.json("call", "memory_search", json.dumps({"query": query, **more}))
    return list(found["result"])


def test_a_long_text_is_one_hit_and_others_get_the_places(cli: CommandLine) -> None:
    first = bring(cli, long_text(200))
    notes = [f"Note {n}: somebody saw the beacon of the harbour." for n in range(4)]
    for note in notes:
        cli("add", note)
    hits = search(cli, "beacon of the harbour", limit=5)
    parts = [hit for hit in hits if "part" in hit]
    assert len(hits) == 5
    assert len(parts) == 1
    assert {hit["fact_text"] for hit in hits if "part" not in hit} == set(notes)
    number, count = (int(word) for word in parts[0]["part"]["place"].split()[1::2])
    assert count == 4
    assert parts[0]["part"] == {
        "place": f"part {number} of {count}",
        "before": part_id(first, number - 1) if number > 1 else None,
        "after": part_id(first, number + 1) if number < count else None,
    }
    assert parts[0]["id"] == part_id(first, number)


def test_the_best_part_is_the_hit(cli: CommandLine) -> None:
    first = bring(
        cli, long_text(100) + "\n\nThe quartz clock of the keeper stopped.\n\n" + long_text(80)
    )
    (hit,) = search(cli, "quartz clock of the keeper")
    assert "quartz" in hit["fact_text"]
    assert hit["id"] != first


def test_a_text_is_read_on_from_part_to_part(cli: CommandLine) -> None:
    text = long_text(150)
    at: str | None = bring(cli, text)
    read = []
    while at is not None:
        got = cli.json("call", "memory_get", json.dumps({"id": at}))
        read.append(piece_of(got["row"]["fact_text"]))
        at = got["part"]["after"]
    assert "".join(read) == "manual: " + text.strip()
    assert len(read) == 3


def test_a_part_that_is_gone_is_not_named(cli: CommandLine) -> None:
    first = bring(cli, long_text(150))
    cli("rm", part_id(first, 2))
    shown = cli.json("show", first)
    assert shown["part"] == {"place": "part 1 of 3", "before": None, "after": None}
    assert "place:          part 1 of 3" in cli("show", first).out
    got = cli.json("call", "memory_get", json.dumps({"id": part_id(first, 3)}))
    assert got["part"] == {"place": "part 3 of 3", "before": None, "after": None}


def test_a_part_that_is_secret_or_over_is_not_found_and_not_named(cli: CommandLine) -> None:
    first = bring(cli, long_text(150) + "\n\nThe quartz clock stopped.")
    middle, last = part_id(first, 2), part_id(first, 3)
    change = {"fact_id": last, "sensitivity": "secret"}
    cli.json("call", "memory_update_fact", json.dumps(change))
    (hit,) = search(cli, "quartz clock beacon")
    assert hit["id"] != last
    got = cli.json("call", "memory_get", json.dumps({"id": middle}))
    assert got["part"] == {"place": "part 2 of 3", "before": first, "after": None}


def test_a_memory_of_its_own_is_no_part_whatever_it_says(cli: CommandLine) -> None:
    made = cli.add(BEACON)
    assert "part" not in cli.json("call", "memory_get", json.dumps({"id": made}))
    forged = cli.add(f"{BEACON}\n[part 2 of 3 of {made}]")
    hits = search(cli, "beacon")
    assert {hit["id"] for hit in hits} == {made, forged}
    assert all("part" not in hit for hit in hits)


def test_parts_go_along_with_a_file_and_with_a_branch(cli: CommandLine, tmp_path: Path) -> None:
    first = bring(cli, long_text(150))
    exported = cli("export").out
    there = CommandLine(tmp_path / "there")
    there("init")
    (there.folder / "all.jsonl").write_text(exported)
    there("import", "jsonl", "all.jsonl")
    (hit,) = search(there, "beacon of the harbour")
    assert hit["part"]["place"].endswith("of 3")
    assert there("export").out == exported
    removed = cli.json("rm", first)["written"]["commit"]
    cli("revert", removed)
    got = cli.json("call", "memory_get", json.dumps({"id": part_id(first, 2)}))
    assert (got["part"]["before"], got["part"]["after"]) == (first, part_id(first, 3))


def test_one_part_or_the_whole_text_is_redacted(cli: CommandLine) -> None:
    first = bring(cli, long_text(150) + "\n\nThe quartz clock stopped.")
    last = part_id(first, 3)
    one = cli.json("redact", last, "--confirm", last)
    assert one["parts"] == [first, part_id(first, 2)]
    assert any("whole" in note for note in one["written"]["notes"])
    assert search(cli, "quartz") == []
    assert len(search(cli, "beacon of the harbour")) == 1
    every = cli.json("redact", last, "--confirm", last, "--whole")
    assert (every["texts"], every["parts"]) == (3, [first, part_id(first, 2)])
    assert search(cli, "beacon of the harbour") == []
    again = cli.json("redact", first, "--confirm", first, "--whole")
    assert again["already"]


def test_a_text_with_a_redacted_part_is_not_cut_anew(cli: CommandLine) -> None:
    file = cli.folder / "manual.txt"
    file.write_text(long_text(150))
    cli("import", "text", str(file))
    (hit,) = search(cli, "lamp numbered 70")
    cli("redact", hit["id"], "--confirm", hit["id"])
    exported = cli("export").out
    file.write_text("A new first line.\n\n" + long_text(150))
    done = cli.json("import", "text", str(file))
    assert {left["why"] for left in done["left"]} == {"redacted"}
    assert (done["added"], done["changed"]) == (0, 0)
    assert cli("export").out == exported


@pytest.mark.parametrize("length", [MAX_TEXT, MAX_TEXT - 8])
def test_a_text_that_just_fits_is_one_memory(cli: CommandLine, length: int) -> None:
    file = cli.folder / "memories.jsonl"
    said = {"_type": "memory", "key": "manual", "value": "x" * (length - 8)}
    file.write_text(json.dumps(said) + "\n")
    assert cli.json("import", "beads", str(file))["added"] == 1
