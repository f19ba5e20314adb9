"""`day1 import jsonl`: the MCP memory server's knowledge graph, and day1's own export."""

import json
from typing import Any

import pytest

from day1.adapters.sources.graph import GraphSource
from day1.errors import BranchClosed, ImportBroken, NotFound, UnknownBranch
from day1.services.branches import lookup
from day1.services.exchange import importing, own_import
from tests.flows.imported_memory import ImportedMemory, killed_import

GRAPH: list[dict[str, Any]] = [
    {
        "type": "entity",
        "name": "Ada",
        "entityType": "person",
        "observations": ["likes tea", "née Byron"],
    },
    {"type": "entity", "name": "Engine", "entityType": "machine", "observations": []},
    {"type": "relation", "from": "Ada", "to": "Engine", "relationType": "programs"},
]


@pytest.fixture
def other(tmp_path):
    other = ImportedMemory(tmp_path / "other store")
    yield other
    other.close()


@pytest.fixture
def file(tmp_path):
    return tmp_path / "memory.jsonl"


def write(file, items):
    file.write_text("\n".join(json.dumps(item) for item in items))


def test_a_knowledge_graph_becomes_facts_and_relations(memory, file):
    write(file, GRAPH)
    assert memory.take(GraphSource(file)).added == 5
    assert {(fact["fact_text"], fact["category"]) for fact in memory.facts()} == {
        ("Ada (person): likes tea", "person"),
        ("Ada (person): née Byron", "person"),
    }
    assert memory.triples() == {
        ("Ada", "is_a", "person"),
        ("Engine", "is_a", "machine"),
        ("Ada", "programs", "Engine"),
    }
    assert memory.reports[-1] == (3, 3)
    assert memory.take(GraphSource(file)).unchanged == 5


def test_an_entity_of_another_type_now_is_a_change(memory, file):
    write(file, GRAPH)
    memory.take(GraphSource(file))
    write(file, [{**GRAPH[0], "entityType": "countess"}, *GRAPH[1:]])
    assert memory.take(GraphSource(file)).changed == 3
    assert {fact["fact_text"] for fact in memory.facts()} == {
        "Ada (countess): likes tea",
        "Ada (countess): née Byron",
    }


def test_what_a_graph_says_twice_is_one_row(memory, file, monkeypatch):
    again = {**GRAPH[0], "entityType": "countess", "observations": ["likes tea", "wrote notes"]}
    write(file, [GRAPH[0], GRAPH[2], GRAPH[2], again])
    memory.take(GraphSource(file))
    assert {fact["fact_text"] for fact in memory.facts()} == {
        "Ada (person): likes tea",
        "Ada (person): née Byron",
        "Ada (person): wrote notes",
    }
    monkeypatch.setattr(importing, "UNIT_ROWS", 2)
    assert memory.take(GraphSource(file)).changed == 0


@pytest.mark.parametrize(
    "line",
    [
        '{"type":"entity","name":"B","entityType":"x","observ',
        '{"type":"entity","name":"B","entityType":"x"}',
        '{"type":"entity","name":"B","entityType":"x","observations":"one"}',
        '{"type":"entity","name":"B","entityType":"x","observations":[1]}',
        '{"type":"entity","name":"","entityType":"x","observations":[]}',
        '{"type":"relation","from":"B","to":"C"}',
        '{"type":"something"}',
        '{"type":"entity","name":"\\ud800","entityType":"x","observations":[]}',
        "[1]",
        "nonsense",
        "[" * 100_000,
    ],
)
def test_a_broken_line_of_a_graph_is_named_and_what_came_before_stays(memory, file, line):
    write(file, GRAPH)
    with file.open("a") as more:
        more.write(f"\n{line}\n")
    with pytest.raises(ImportBroken, match="line 4") as failed:
        memory.take(GraphSource(file))
    assert failed.value.details["line"] == 4
    assert failed.value.details["added"] == 5
    assert len(memory.facts()) == 2
    write(file, GRAPH)
    assert memory.take(GraphSource(file)).unchanged == 5


def test_a_missing_file_is_said(tmp_path):
    with pytest.raises(NotFound):
        GraphSource(tmp_path / "nowhere.jsonl")


def facts_of(memory, number):
    for n in range(number):
        memory.add_fact("main", f"fact_{n:03}", fact_text=f"Fact {n}")
    return memory.export().splitlines(keepends=True)


def test_own_rows_keep_every_column(memory, other):
    memory.clock.now += 86_400_000_000
    lines = facts_of(memory, 3)
    imported = other.take_own(lines)
    assert (imported.added, imported.left) == (3, [])
    assert other.facts() == memory.facts()
    again = other.take_own(lines)
    assert (again.added, again.unchanged) == (0, 3)
    # What is written next is later than what was brought in, whatever this clock says.
    assert other.add_fact("main", "fact_new", fact_text="New").at > memory.facts()[-1]["created_at"]


def test_the_past_does_not_know_what_was_brought_in_today(memory, other):
    lines = facts_of(memory, 3)
    other.clock.now += 1_000_000_000
    before = other.clock()
    other.clock.tick()
    other.take_own(lines)
    assert other.state("main", before)["facts"] == {}
    assert len(other.state("main")["facts"]) == 3


def test_other_content_under_one_id_is_a_conflict(memory, other):
    lines = facts_of(memory, 3)
    other.add_fact("main", "fact_001", fact_text="Mine")
    imported = other.take_own(lines)
    assert imported.added == 2
    assert [(left.id, left.branch, left.why) for left in imported.left] == [
        ("fact_001", "main", "conflict")
    ]
    assert next(f for f in other.facts() if f["id"] == "fact_001")["fact_text"] == "Mine"
    twice = [lines[0], lines[1], lines[1].replace(b'"confidence":1.0', b'"confidence":0.5')]
    imported = memory.take_own([*twice, b'{"end":{"rows":2}}'])
    assert (imported.unchanged, [left.why for left in imported.left]) == (1, ["conflict"])


def test_what_was_removed_here_stays_so(memory):
    lines = facts_of(memory, 3)
    memory.remove("main", "fact_001")
    (left,) = memory.take_own(lines).left
    assert (left.id, left.why) == ("fact_001", "removed")
    assert len(memory.facts()) == 2


def _columns(line, **columns):
    return json.dumps({**json.loads(line), **columns}).encode() + b"\n"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda line: line[: len(line) // 2],
        lambda line: b"\xff" + line,
        lambda line: b"[]\n",
        lambda line: b"\n",
        lambda line: line.replace(b'"category":null,', b""),
        lambda line: _columns(line, other=1),
        lambda line: _columns(line, kind="secrets"),
        lambda line: _columns(line, fact_text="Changed"),
        lambda line: _columns(line, created_at="today"),
        lambda line: _columns(line, created_at=True),
        lambda line: _columns(line, created_at=None),
        lambda line: _columns(line, created_at=2**60),
        lambda line: _columns(line, created_at=-1),  # C5: no time, and no ids either
        lambda line: _columns(line, id="fact_"),
        lambda line: _columns(line, id="fact_one two"),
        lambda line: _columns(line, id="fact_../../x"),
        lambda line: _columns(line, id="fact_\u202e1"),
        lambda line: _columns(line, confidence=float("nan")),
        lambda line: _columns(line, confidence=None),
        lambda line: _columns(line, id="obs_1"),
        lambda line: _columns(line, category="a\0b"),
        lambda line: _columns(line, category="\ud800"),
        lambda line: _columns(line, category=["a"]),
        lambda line: _columns(line, status="gone"),
        lambda line: _columns(line, source=None),
        lambda line: b'{"branch":{"name":"x"}}\n',
        lambda line: b'{"end":{"rows":3}}\n',
    ],
)
def test_a_broken_line_is_named_and_what_came_before_stays(memory, other, spoil):
    lines = facts_of(memory, 4)
    with pytest.raises(ImportBroken, match="Line 4 ") as failed:
        other.take_own([*lines[:3], spoil(lines[3]), *lines[4:]])
    assert failed.value.details["line"] == 4
    assert failed.value.details["added"] == 2
    assert [fact["id"] for fact in other.facts()] == ["fact_000", "fact_001"]
    assert other.take_own(lines).added == 2
    assert other.export() == memory.export()


@pytest.mark.parametrize(
    ("cut", "line"),
    [
        (lambda lines: [], 1),
        (lambda lines: lines[1:], 1),
        (lambda lines: [b'{"format":"day1-export","version":9}\n'], 1),
        (lambda lines: lines[:-1], 6),
        (lambda lines: [*lines, b"\n"], 7),
        (lambda lines: [*lines[:2], *lines[3:]], 5),
    ],
)
def test_a_file_that_is_not_whole_is_told_from_a_whole_one(memory, other, cut, line):
    lines = facts_of(memory, 4)
    with pytest.raises(ImportBroken) as failed:
        other.take_own(cut(lines))
    assert failed.value.details["line"] == line


def test_every_truncation_keeps_a_beginning(memory, tmp_path):
    whole = b"".join(facts_of(memory, 3))
    for place in range(1, len(whole) - 1, 97):
        other = ImportedMemory(tmp_path / f"cut {place}")
        before = whole[:place]
        with pytest.raises(ImportBroken) as failed:
            other.take_own(before.splitlines(keepends=True))
        complete = before.count(b"\n")
        assert failed.value.details["line"] == complete + 1
        assert len(other.facts()) == max(0, complete - 1)
        other.close()


def test_a_branch_that_takes_no_rows_refuses_them(memory, other):
    lines = facts_of(memory, 2)
    with pytest.raises(UnknownBranch):
        other.take_own(lines, "nowhere")
    other.fork("done", "main")
    other.repo.ledger.put_branch(lookup.find(other.repo, "done").with_notes(closed=True))
    with pytest.raises(BranchClosed):
        other.take_own(lines, "done")


@pytest.mark.parametrize("form", ["graph", "own"])
def test_a_killed_import_loses_nothing_acknowledged_and_a_second_run_completes_it(
    memory, tmp_path, file, form
):
    observations = [f"observation {n}" for n in range(40)]
    write(file, [{**GRAPH[0], "observations": [o]} for o in observations])
    memory.take(GraphSource(file))
    if form == "own":
        file.write_bytes(memory.export())
    folder = tmp_path / "killed"
    said = killed_import(folder, form, file, unit_rows=8, units=3)
    assert 0 < said < 40
    survivor = ImportedMemory(folder)
    assert len(survivor.contents()) >= said
    if form == "own":
        assert survivor.take_own(file.read_bytes().splitlines(keepends=True)).left == []
        assert survivor.export() == memory.export()
    else:
        assert survivor.take(GraphSource(file)).changed == 0
        agents = {"agent_id": "ada"}
        found = {row_id: {**row, **agents} for row_id, row in survivor.contents().items()}
        assert found == memory.contents()
    survivor.close()


def test_a_stopped_import_of_own_rows_goes_on(memory, other, monkeypatch):
    lines = facts_of(memory, 5)
    monkeypatch.setattr(own_import, "UNIT_ROWS", 2)
    with pytest.raises(ImportBroken):
        other.take_own(lines[:4])
    assert len(other.facts()) == 3
    assert other.take_own(lines).added == 2
    assert other.export() == memory.export()
