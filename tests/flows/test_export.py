"""`day1 export`: one branch, or all, as lines that come back byte for byte."""

import json

import pytest

from day1.model.rows.change import Ref
from day1.model.rows.kind import CONVERSATION, HELD, MESSAGE
from day1.model.values.ids import content_hash
from day1.services.branches import lookup, notes
from day1.services.exchange.exporting import export_branch, export_store
from day1.services.rows.recording import origin_columns
from tests.flows.imported_memory import ImportedMemory


@pytest.fixture
def other(tmp_path):
    """An empty store on another day."""
    other = ImportedMemory(tmp_path / "other store")
    other.clock.now += 10_000_000_000
    yield other
    other.close()


def fill(memory):
    """Rows of every kind, edits, a removal, and held items."""
    for n in range(4):
        memory.add_fact("main", f"fact_{n}", fact_text=f'Zeile {n} "quoted"\n\u2028 é 🐦\t\\')
        memory.clock.tick()
    memory.add_fact("main", "fact_9", fact_text="Dated", happened_at=-5, confidence=0.1 + 0.2)
    memory.add_observation("main", "obs_1", summary="Seen", observation_type="insight")
    memory.add_relation(
        "main",
        "rel_1",
        source_entity="a",
        target_entity="b",
        relation_type="c",
        properties='{"x":1}',
    )
    memory.fork("side", "main")
    for branch, text in (("main", "Ours"), ("side", "Theirs")):
        memory.clock.tick()
        memory.update_fact(branch, "fact_0", fact_text=text)
    memory.update_fact("side", "fact_1", category="merged")
    memory.merge("side", "main")
    memory.supersede("main", "fact_2", "fact_5", "Better")
    memory.remove("main", "fact_3")
    with memory.store.adding("main") as work:
        origin = origin_columns(memory.origin, work.now)
        conversation = dict.fromkeys(CONVERSATION.columns) | origin | {"id": "conv_1"}
        work.add(CONVERSATION, [conversation])
        message = dict.fromkeys(MESSAGE.columns) | origin
        content = {"content": "Hello", "content_hash": content_hash("Hello"), "role": "user"}
        message |= {"id": "msg_1", "conversation_id": "conv_1", **content}
        work.add(MESSAGE, [message])


def test_import_into_an_empty_store_and_export_again_is_byte_identical(memory, other):
    fill(memory)
    exported = memory.export()
    tables = {json.loads(line).get("kind") for line in exported.splitlines()}
    assert tables >= {"facts", "observations", "relations", "conversations", "messages"}
    assert tables >= {"edits", "held"}
    assert other.take_own(exported.splitlines(keepends=True)).left == []
    assert other.export() == exported
    assert memory.export() == exported


def test_secrets_leave_only_where_it_is_said_and_come_back_as_secrets(memory, other):
    memory.add_fact("main", "fact_a", fact_text="The PIN is plover.", sensitivity="secret")
    memory.add_fact("main", "fact_b", fact_text="Plain.")
    memory.update_fact("main", "fact_a", fact_text="The PIN is 4712.")
    memory.fork("side", "main")
    for exported in (memory.export(), memory.export_all()):
        assert b"471" not in exported
        assert json.loads(exported.splitlines()[0]).keys() == {"format", "version"}
    whole = b"".join(export_store(memory.repo, with_secrets=True))
    assert json.loads(whole.splitlines()[0])["secrets"] is True
    assert b"4712" in whole
    other.take_own(whole.splitlines(keepends=True))
    assert b"".join(export_store(other.repo, with_secrets=True)) == whole
    assert other.export() == memory.export()
    for one in (memory, other):
        main = b"".join(export_branch(one.store, Ref(branch="main"), with_secrets=True))
        assert b"4712" in main
    assert {row["id"]: row["sensitivity"] for row in other.facts()} == {
        "fact_a": "secret",
        "fact_b": None,
    }


@pytest.mark.parametrize("hidden", [{"sensitivity": "secret"}, {"expires_at": 1}])
def test_a_held_item_tells_nothing_of_a_hidden_row_that_the_branch_removed(memory, other, hidden):
    memory.add_fact("main", "fact_a", fact_text="The PIN is plover.")
    memory.fork("side", "main")
    memory.remove("side", "fact_a")
    memory.update_fact("main", "fact_a", **hidden)
    memory.merge("main", "side")
    (item,) = memory.rows(HELD, "side")
    shown = memory.repo.shown(Ref(branch="side"))
    for exported in (b"".join(export_branch(memory.store, shown)), memory.export_all()):
        assert b"plover" not in exported
        assert str(item["id"]).encode() not in exported
    other.take_own(exported.splitlines(keepends=True))
    with_secrets = b"".join(export_branch(memory.store, shown, with_secrets=True))
    assert (b"plover" in with_secrets) == ("sensitivity" in hidden)
    memory.decide("side", "fact_a", "*", "keep")
    assert len(memory.rows(HELD, "side")) == 2
    exported = b"".join(export_branch(memory.store, shown))
    assert b'"kind":"held"' not in exported, "nor how it was decided"


def test_the_lines_are_canonical_and_sorted(memory):
    fill(memory)
    header, *rows, end = memory.export().splitlines()
    # The fact that was superseded has an end, which is a younger column.
    assert header == b'{"format":"day1-export","version":2}'
    assert end == b'{"end":{"rows":%d}}' % len(rows)
    read = [json.loads(row) for row in rows]
    tables = ["facts", "observations", "relations", "conversations", "messages", "edits", "held"]
    order = [(tables.index(row["kind"]), row["id"]) for row in read]
    assert order == sorted(order)
    for line, row in zip(rows, read, strict=True):
        text = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert line.decode() == text


def test_nothing_names_the_commit_the_place_or_the_time_of_the_export(memory, tmp_path):
    memory.add_fact("main", "fact_1", fact_text="One")
    first = memory.export()
    tip = memory.store.commit_pending("main")
    memory.clock.tick(10_000_000)
    assert memory.export() == first
    assert tip.encode() not in first
    assert str(tmp_path).encode() not in first


def test_one_branch_at_one_commit_is_written(memory, other):
    memory.add_fact("main", "fact_1", fact_text="One")
    commit = memory.store.commit_pending("main")
    then = memory.export()
    memory.add_fact("main", "fact_2", fact_text="Two")
    assert b"".join(export_branch(memory.store, Ref(commit=commit))) == then
    assert memory.export() != then


def test_an_empty_store_has_an_export_too(memory, other):
    exported = memory.export()
    assert len(exported.splitlines()) == 2
    assert other.take_own(exported.splitlines()).added == 0


def test_held_items_are_still_open_after_the_journey(memory, other):
    fill(memory)
    other.take_own(memory.export().splitlines(keepends=True))
    assert [held.row_id for held in other.held("main")] == ["fact_0"]
    assert other.rows(HELD) == memory.rows(HELD)


def test_a_whole_store_comes_back_byte_for_byte(memory, other):
    fill(memory)
    memory.fork("side/late", "side")
    memory.fork("a/first", "side/late")
    memory.add_fact("a/first", "fact_a", fact_text="Only here")
    memory.remove("side/late", "fact_1")
    notes.mark(memory.repo, lookup.find(memory.repo, "main"), purpose="all of it", tags=("x", "y"))
    notes.mark(memory.repo, lookup.find(memory.repo, "side"), owner="ada", ttl_days=3)
    memory.repo.ledger.put_branch(lookup.find(memory.repo, "side/late").with_notes(closed=True))
    exported = memory.export_all()
    names = [
        line["branch"]["name"]
        for line in map(json.loads, exported.splitlines())
        if "branch" in line
    ]
    assert names == ["main", "side", "side/late", "a/first"]
    imported = other.take_own(exported.splitlines(keepends=True))
    assert imported.branches == ["side", "side/late", "a/first"]
    assert other.export_all() == exported
    for name in names:
        assert other.export(name) == memory.export(name)
    again = other.take_own(exported.splitlines(keepends=True))
    assert (again.added, again.left, again.branches) == (0, [], [])


def test_a_whole_store_that_was_cut_off_is_completed(memory, tmp_path):
    fill(memory)
    memory.fork("late", "side")
    exported = memory.export_all()
    for place in range(len(exported) // 8, len(exported), len(exported) // 8):
        other = ImportedMemory(tmp_path / f"cut {place}")
        with pytest.raises(Exception, match="Line"):
            other.take_own(exported[:place].splitlines(keepends=True))
        assert other.take_own(exported.splitlines(keepends=True)).left == []
        assert other.export_all() == exported
        other.close()


def test_branches_that_came_back_do_not_undo_one_another_when_merged(memory, other):
    """The file holds no history, so what differs is held and never taken for a change."""
    memory.add_fact("main", "fact_1", fact_text="Old")
    memory.fork("side", "main")
    memory.update_fact("main", "fact_1", fact_text="New")
    memory.add_fact("main", "fact_2", fact_text="Later")
    memory.add_fact("side", "fact_3", fact_text="Aside")
    other.take_own(memory.export_all().splitlines(keepends=True))
    assert other.merge("side", "main").rejected == 1
    assert {f["id"]: f["fact_text"] for f in other.facts()} == {
        "fact_1": "New",
        "fact_2": "Later",
        "fact_3": "Aside",
    }


def test_a_branch_that_is_here_keeps_its_own_notes(memory, other):
    for each, purpose in ((memory, "theirs"), (other, "mine")):
        each.fork("side", "main")
        notes.mark(each.repo, lookup.find(each.repo, "side"), purpose=purpose)
    notes.mark(memory.repo, lookup.find(memory.repo, "side"), owner="ada")
    other.take_own(memory.export_all().splitlines(keepends=True))
    side = lookup.find(other.repo, "side")
    assert (side.purpose, side.owner) == ("mine", "ada")
