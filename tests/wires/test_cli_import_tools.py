"""`day1 import NAME` for every tool alike: looked through, once, for review, nothing touched."""

import hashlib
from pathlib import Path

import pytest

from tests.wires.tool_memories import ALL, Written, texts


@pytest.fixture(params=ALL)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tool(name: str) -> Written:
    return ALL[name]


def untouched(path: Path) -> dict[str, tuple[int, str]]:
    """Every file at a path or beside it, with its time of change and its content."""
    top = path if path.is_dir() else path.parent
    return {
        str(file): (file.stat().st_mtime_ns, hashlib.sha256(file.read_bytes()).hexdigest())
        for file in top.rglob("*")
        if file.is_file() and ".day1" not in file.parts
    }


def test_a_dry_run_tells_counts_and_samples_and_changes_nothing(cli, name, tool) -> None:
    place = tool.write(cli)
    before, branches = untouched(place), cli("branch").out
    told = cli.json("import", name, str(place), "--dry-run")
    assert (told["facts"], told["observations"], told["relations"]) == tool.counts
    assert len(told["samples"]) == min(5, sum(tool.counts[:2]))
    assert cli("branch").out == branches
    assert untouched(place) == before
    shown = cli("import", name, str(place), "--dry-run").out
    assert f"{name}: {tool.counts[0]} fact" in shown


def test_an_import_lands_on_a_branch_of_its_own_and_opens_a_review(cli, name, tool) -> None:
    place = tool.write(cli)
    before = untouched(place)
    done = cli.json("import", name, str(place))
    assert done["added"] == sum(tool.counts)
    assert done["branch"].startswith(f"import/{name}-2")
    assert tool.texts <= set(texts(cli, done["branch"]))
    assert texts(cli, "main") == {}
    (review,) = cli.json("review", "list")["result"]
    assert (review["id"], review["title"]) == (done["review"], f"Import from {name}")
    assert untouched(place) == before
    merged = cli.json("review", "merge", done["branch"])["merged_count"]
    assert merged == done["added"] - tool.removed
    assert tool.texts <= set(texts(cli, "main"))


def test_a_second_run_brings_only_what_is_new(cli, name, tool) -> None:
    place = tool.write(cli)
    first = cli.json("import", name, str(place))
    second = cli.json("import", name, str(place))
    assert (second["added"], second["changed"], second["branch"]) == (0, 0, first["branch"])
    assert "review" not in second
    tool.grow(cli)
    third = cli.json("import", name, str(place))
    assert (third["added"], third["changed"], third["review"]) == (1, 0, first["review"])
    cli("review", "merge", first["branch"])
    assert cli.json("import", name, str(place))["added"] == 0


def test_auto_finds_it_and_imports_it_when_that_is_confirmed(cli, name, tool) -> None:
    tool.write(cli)
    listed = cli("import", "auto")
    if not tool.automatic:
        assert name not in listed.out
        return
    assert f"{name}: {tool.counts[0]} fact" in listed.out
    assert "--yes imports all of it" in listed.err
    assert cli.json("import", "auto")["found"][0]["facts"] == tool.counts[0]
    assert cli.json("review", "list")["result"] == []
    (found,) = cli.json("import", "auto", "--yes")["found"]
    assert (found["source"], found["added"]) == (name, sum(tool.counts))
    assert cli.json("import", "auto", "--yes")["found"][0]["added"] == 0
