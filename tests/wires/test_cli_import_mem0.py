"""`day1 import mem0`: each event of its history is a commit, with blame and undo."""

import json
import pickle
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from day1.model.values import instant
from day1.services.exchange import importing
from tests.wires import tool_databases as tools
from tests.wires.command_line import CommandLine
from tests.wires.tool_databases import database
from tests.wires.tool_memories import note, texts

NEXT = "2025-04-01T17:00:00.000000+00:00"


def commits(cli: CommandLine, branch: str) -> list[dict[str, Any]]:
    """The import's commits, the oldest first."""
    found = cli.json("log", branch)["result"]
    return [commit for commit in reversed(found) if "mem0" in json.dumps(commit)]


def test_each_event_is_a_commit_and_a_fact_has_its_past(cli: CommandLine) -> None:
    tools.mem0(cli)
    done = cli.json("import", "mem0")
    assert (done["added"], done["changed"], done["events"]) == (3, 3, 6)
    assert done["left_out"] == {"events other than ADD, UPDATE, DELETE": ["e7"]}
    assert len(commits(cli, done["branch"])) == 6
    rows = texts(cli, done["branch"])
    assert set(rows) == {"It waits 45 seconds.", "Tests come first."}
    fact = rows["It waits 45 seconds."]
    assert fact["happened_at"] == instant.parse(NEXT)
    told = cli("history", str(fact["id"]), "-b", done["branch"]).out
    assert "It waits 30 seconds." in told
    blame = cli("blame", str(fact["id"]), "-b", done["branch"]).out
    assert "import" in blame
    log = cli("log", done["branch"]).out
    assert f"mem0 UPDATE of {NEXT} by desk" in log
    assert "mem0 DELETE" in log
    assert "45 seconds" not in log


def test_an_update_of_mem0_is_undone_by_a_revert(cli: CommandLine) -> None:
    tools.mem0(cli)
    branch = cli.json("import", "mem0")["branch"]
    update = next(c for c in commits(cli, branch) if "mem0 UPDATE" in json.dumps(c))
    cli("switch", branch)
    cli("revert", str(update["commit"]))
    assert "It waits 30 seconds." in texts(cli, branch)
    assert cli.json("import", "mem0", "--into", "main")["changed"] == 0


def test_only_new_events_come_even_through_another_branch(cli: CommandLine) -> None:
    file = tools.mem0(cli)
    first = cli.json("import", "mem0")["branch"]
    again = cli.json("import", "mem0")
    assert (again["added"], again["changed"], again["unchanged"]) == (0, 0, 6)
    cli("review", "merge", first, "--squash")
    with closing(database(file)) as there:
        there.execute(
            tools.HAPPEN,
            ("e8", "m1", None, "It waits 60 seconds.", "UPDATE", "2025-03-01", "2025-05-01"),
        )
    later = cli.json("import", "mem0")
    assert later["branch"] == f"{first}-2"
    assert (later["added"], later["changed"], later["unchanged"]) == (0, 1, 6)
    assert set(texts(cli, later["branch"])) == {"It waits 60 seconds.", "Tests come first."}


def test_a_history_that_lost_its_beginning_is_taken_up_once(cli: CommandLine) -> None:
    file = tools.mem0(cli)
    with closing(database(file)) as there:
        there.execute("DELETE FROM history WHERE id IN ('e1', 'e2')")
    done = cli.json("import", "mem0")
    assert (done["added"], done["changed"]) == (2, 1)
    with closing(database(file)) as there:
        there.execute(
            tools.HAPPEN, ("e8", "m1", None, "It waits 60 seconds.", "UPDATE", None, None)
        )
    assert cli.json("import", "mem0")["changed"] == 1
    assert cli.json("import", "mem0")["changed"] == 0
    assert "It waits 60 seconds." in texts(cli, done["branch"])


def test_a_fact_that_was_edited_or_removed_here_is_left(cli: CommandLine) -> None:
    file = tools.mem0(cli)
    branch = cli.json("import", "mem0")["branch"]
    rows = texts(cli, branch)
    mine, gone = rows["It waits 45 seconds."]["id"], rows["Tests come first."]["id"]
    cli("edit", str(mine), "Mine.", "-b", branch)
    cli("rm", str(gone), "-b", branch)
    with closing(database(file)) as there:
        for event, memory in (("e8", "m1"), ("e9", "m3")):
            there.execute(tools.HAPPEN, (event, memory, None, "Theirs.", "UPDATE", None, None))
        there.execute(tools.HAPPEN, ("e10", "m1", None, None, "DELETE", None, None))
    left = cli.json("import", "mem0")["left"]
    assert [(row["id"], row["why"]) for row in left] == [
        (mine, "edited"),
        (gone, "removed"),
        (mine, "edited"),
    ]
    assert set(texts(cli, branch)) == {"Mine."}


def test_the_answer_of_get_all_is_the_same_facts(cli: CommandLine) -> None:
    tools.mem0(cli)
    branch = cli.json("import", "mem0")["branch"]
    results = [
        {"id": "m1", "memory": "It waits 45 seconds.", "updated_at": NEXT},
        {"id": "m9", "memory": "Another.", "created_at": NEXT},
        {"id": "m8"},
    ]
    note(cli.folder, "all.json", json.dumps({"results": results}))
    done = cli.json("import", "mem0", "all.json")
    assert (done["added"], done["changed"], done["unchanged"]) == (1, 0, 1)
    assert done["left_out"] == {"entries without an id or a text": ["results 2"]}
    assert "Another." in texts(cli, branch)
    note(cli.folder, "other.json", '{"results": 1}')
    assert cli.refused("import", "mem0", "other.json")["details"]["line"] == 1


def test_a_long_history_tells_how_far_it_is(
    cli: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "EVENTS", 2)
    tools.mem0(cli)
    told = cli("import", "mem0").err.splitlines()
    assert [line for line in told if line.startswith("Importing")] == [
        "Importing: 1",
        "Importing: 3",
        "Importing: 5",
        "Importing: 6",
        "Importing: 6",
    ]


class Planted:
    """Makes a file when it is unpickled."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return (open, (str(self.marker), "w"))


def test_its_pickles_are_never_opened(cli: CommandLine) -> None:
    marker = cli.folder / "ran"
    folder = cli.folder / "qdrant"
    folder.mkdir()
    (folder / "storage.pkl").write_bytes(pickle.dumps(Planted(marker)))
    refused = cli.refused("import", "mem0", "qdrant")
    assert refused["code"] == "not_found"
    assert "pickles" in refused["message"]
    assert cli.refused("import", "mem0", "qdrant/storage.pkl")["code"] == "import_broken"
    assert not marker.exists()
