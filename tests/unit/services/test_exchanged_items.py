"""Exporting items as lines and importing them: what comes back, what is new, what is refused."""

import json
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from day1.model.branches.branch import MAIN
from day1.model.files.item_lines import read_lines
from day1.model.redaction.mask import REDACTED_HASH, Mask
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT, OBSERVATION, RELATION, Row
from day1.model.rows.origin import Origin
from day1.model.values.ids import content_hash
from day1.model.values.instant import show
from day1.model.workspace.mind import Mind
from day1.services.access.caller import Caller
from day1.services.access.calls import Writing, active_branch
from day1.services.workspace.desks import change_mind, seat_of
from day1.services.workspace.storing import NewItem, link_items, store_item
from day1.services.workspace.upkeep.exporting import export_items
from day1.services.workspace.upkeep.importing import Imported, import_items
from tests.unit.services.conftest import ADA, Bench

OTHER = Origin("bo")
TYPES = ["semantic", "episodic", "procedural", "working"]


def writing(bench: Bench, origin: Origin = ADA, space: str | None = None) -> Writing:
    return Writing(bench.branch(), origin, bench.repo, space)


def call(bench: Bench, space: str | None = None, agent: str = "ada") -> Any:
    caller = Caller(agent, space=space)
    clock = lambda: bench.now  # noqa: E731 - a field
    return SimpleNamespace(repo=bench.repo, caller=caller, clock=clock, branch_rule=active_branch)


def store(bench: Bench, text: str, *linked: str, origin: Origin = ADA, **more: Any) -> str:
    bench.now += 100
    write = writing(bench, origin, more.get("space"))
    return store_item(write, NewItem(text, **more), linked, (), None).item.id


def exported(bench: Bench, space: str | None = None, **more: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text(bench, space, **more).splitlines()]


def text(bench: Bench, space: str | None = None, **more: Any) -> str:
    return export_items(call(bench, space), **more).jsonl


def bring(bench: Bench, lines: str, *, dedupe: bool = True, space: str | None = None) -> Imported:
    bench.now += 100
    return import_items(writing(bench, space=space), read_lines(lines).items, dedupe=dedupe)


def rows(bench: Bench, *kinds: Any) -> list[Row]:
    with bench.store.reading(Ref(branch=MAIN)) as reading:
        return [row for kind in kinds or (FACT, OBSERVATION) for row in reading.find(kind, Query())]


def test_what_is_exported_comes_back_byte_for_byte(bench: Bench) -> None:
    first = store(bench, "Herons fish.", tags=("b", "a"), source="notes")
    store(bench, "Storks nest.", first, memory_type="working")
    store(bench, "Swans swim.", first, memory_type="procedural", expires_at=bench.now + 10_000)
    lines = text(bench)
    assert [line["linked_ids"] != [] for line in exported(bench)] == [True, True, True]
    there = Bench()
    there.now = bench.now + 7
    done = bring(there, lines)
    assert list(done.incoming.fresh) == [line["id"] for line in exported(bench)]
    assert text(there) == lines
    assert bring(there, lines).incoming.fresh == {}
    assert text(there) == lines


LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
ITEM = st.tuples(
    st.text(LETTERS, min_size=1, max_size=6).filter(str.strip),
    st.sampled_from(TYPES),
    st.lists(st.sampled_from(["a", "b", "ü\u2028"]), max_size=2, unique=True).map(tuple),
    st.none() | st.sampled_from(["notes", "file:\x85"]),
    st.none() | st.integers(-(10**12), 900),
    st.lists(st.integers(0, 4), max_size=2),
    st.booleans(),
)


@settings(deadline=None)
@given(st.lists(ITEM, min_size=1, max_size=5))
def test_any_items_come_back_byte_for_byte(items: Sequence[Any]) -> None:
    bench, ids = Bench(), list[str]()
    for words, memory_type, tags, source, at, linked, is_found in items:
        ends = dict.fromkeys(ids[number] for number in linked if number < len(ids))
        more = {"memory_type": memory_type, "tags": tags, "source": source, "happened_at": at}
        bench.now += 70_000_000  # or it is said again
        ids.append(store(bench, words, *ends, **more))
        if is_found:
            found = (ids[-1],)
            seat = seat_of(call(bench))
            change_mind(bench.repo, seat, lambda m, f=found: m.found(f, bench.now), bench.now)  # type: ignore[misc]  # mypy knows no type of a lambda's default
    lines = text(bench)
    there = Bench()
    there.now = bench.now
    assert bring(there, lines, dedupe=False).incoming.bad == []
    assert text(there) == lines
    assert bring(there, lines).incoming.fresh == {}


def test_an_export_has_what_the_caller_sees_and_nothing_hidden(bench: Bench) -> None:
    store(bench, "Herons fish.", space="project:x")
    store(bench, "Storks nest.")
    store(bench, "Swans swim.", expires_at=bench.now + 101)
    secret = store(bench, "The PIN is plover.")
    redacted = store(bench, "[redacted]")
    with bench.store.changing(MAIN) as work:
        work.change(FACT, secret, {"sensitivity": "secret"})
        work.change(FACT, redacted, {"content_hash": REDACTED_HASH})
        work.commit(SimpleNamespace(op="change", line="hide", id=None, meta={}))  # type: ignore[arg-type]  # stands for an intent
    assert [line["content"] for line in exported(bench)] == ["Herons fish.", "Storks nest."]
    assert [line["content"] for line in exported(bench, "project:x")] == ["Herons fish."]


def test_an_export_is_narrowed_by_type_and_tag(bench: Bench) -> None:
    for memory_type in TYPES:
        store(
            bench, memory_type, memory_type=memory_type, tags=("x",) if "s" in memory_type else ()
        )
    assert [line["content"] for line in exported(bench, memory_type="working")] == ["working"]
    assert [line["content"] for line in exported(bench, tag="x")] == ["semantic", "episodic"]
    assert exported(bench, memory_type="working", tag="x") == []


def test_links_to_what_is_not_in_the_file_are_told_and_do_not_come_back(bench: Bench) -> None:
    first = store(bench, "Herons fish.")
    store(bench, "Storks nest.", first, memory_type="working")
    lines = text(bench, memory_type="working")
    assert json.loads(lines)["linked_ids"] == [first]
    there = Bench()
    assert bring(there, lines).incoming.links == []
    assert rows(there, RELATION) == []


def test_the_last_use_is_the_latest_that_is_known(bench: Bench) -> None:
    row_id = store(bench, "Herons fish.")
    at = bench.now
    seat = seat_of(call(bench))
    change_mind(bench.repo, seat, lambda mind: mind.found((row_id,), at + 5), at)
    (line,) = exported(bench)
    assert (line["created_at"], line["last_accessed"]) == (show(at), show(at + 5))
    change_mind(bench.repo, seat, lambda mind: Mind(uses={row_id: (1, at - 50)}), at)
    assert exported(bench)[0]["last_accessed"] == show(at)


def test_a_foreign_file_gets_ids_of_its_words_and_its_links(bench: Bench) -> None:
    lines = [
        {"id": "0a1b", "content": "Herons fish.", "linked_ids": ["9f", "zz", "0a1b"], "created_at": "2020-01-01"},
        {"id": "9f", "content": "Storks nest.", "memory_type": "working", "linked_ids": ["0a1b"]},
        {"content": "Swans  swim.", "tags": ["b", "a"]},
        {"id": "77", "content": "Swans swim.", "tags": ["a", "b"], "linked_ids": ["9f"]},
    ]  # fmt: skip
    done = bring(bench, "\n".join(map(json.dumps, lines)))
    fresh = list(done.incoming.fresh)
    assert [row_id.split("_")[0] for row_id in fresh] == ["fact", "obs", "fact"]
    assert [(same.number, same.row_id) for same in done.incoming.duplicates] == [(4, fresh[2])]
    linked = {(row["source_entity"], row["target_entity"]) for row in rows(bench, RELATION)}
    assert linked == {tuple(sorted(fresh[:2])), tuple(sorted(fresh[1:]))}
    first = next(row for row in rows(bench) if row["id"] == fresh[0])
    assert show(int(first["happened_at"] or 0)) == "2020-01-01T00:00:00.000000+00:00"
    assert list(bring(Bench(), "\n".join(map(json.dumps, lines))).incoming.fresh) == fresh
    again = bring(bench, "\n".join(map(json.dumps, lines)))
    assert (again.incoming.fresh, len(again.incoming.duplicates)) == ({}, 4)
    assert again.after.tip == done.after.tip, "no commit for nothing"


def test_a_link_alone_is_new(bench: Bench) -> None:
    lines = [{"id": "1", "content": "Herons fish."}, {"id": "2", "content": "Storks nest."}]
    bring(bench, "\n".join(map(json.dumps, lines)))
    lines[0] |= {"linked_ids": ["2"]}  # type: ignore[dict-item]  # wrong on purpose
    done = bring(bench, "\n".join(map(json.dumps, lines)))
    assert done.incoming.fresh == {}
    assert len(rows(bench, RELATION)) == 1


def test_what_others_stored_in_the_same_words_is_a_duplicate_and_in_another_space_is_none(
    bench: Bench,
) -> None:
    row_id = store(bench, "Herons fish.", origin=OTHER)
    line = json.dumps({"content": "Herons  fish.", "source": "agent"})
    assert bring(bench, line).incoming.duplicates == [(1, row_id)]
    assert len(bring(bench, line, space="project:x").incoming.fresh) == 1
    assert len(rows(bench)) == 2


def test_without_dedupe_each_line_is_a_row(bench: Bench) -> None:
    row_id = store(bench, "Herons fish.")
    lines = f"{text(bench)}\n{text(bench)}"
    done = bring(bench, lines, dedupe=False)
    assert len({*done.incoming.fresh, row_id}) == 3
    assert len(rows(bench)) == 3


def test_an_id_that_another_text_has_is_not_taken(bench: Bench) -> None:
    row_id = store(bench, "Herons fish.")
    line = json.dumps({"id": row_id, "content": "Storks nest."})
    (fresh,) = bring(bench, line).incoming.fresh
    assert fresh != row_id
    kept = {row["id"]: row["fact_text"] for row in rows(bench)}
    assert kept == {row_id: "Herons fish.", fresh: "Storks nest."}


def test_what_is_over_or_was_redacted_does_not_come_in(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    mask = Mask(hashes=frozenset({content_hash("The PIN is plover.")}))
    monkeypatch.setattr(bench.repo.ledger, "mask", lambda: mask)
    lines = [
        {"content": "The PIN is plover."},
        {"content": "Herons fish.", "expires_at": show(bench.now)},
        {"content": "Storks nest.", "valid_until": show(bench.now + 100)},
        {"content": "Swans swim.", "expires_at": show(bench.now + 101)},
    ]
    done = bring(bench, "\n".join(map(json.dumps, lines)))
    assert [bad.number for bad in done.incoming.bad] == [1, 2, 3]
    assert "redacted" in done.incoming.bad[0].error
    assert [row["fact_text"] for row in rows(bench)] == ["Swans swim."]


def test_the_rows_of_an_import_have_their_author_and_are_one_commit(bench: Bench) -> None:
    lines = [{"content": f"Heron {number}.", "memory_type": TYPES[number]} for number in range(4)]
    origin = replace(ADA, task_id="t1")
    write = writing(bench, origin)
    done = import_items(write, read_lines("\n".join(map(json.dumps, lines))).items, dedupe=True)
    assert {(row["agent_id"], row["task_id"]) for row in rows(bench)} == {("ada", "t1")}
    (newest, *_) = bench.store.history.log(MAIN)
    assert (newest.id, newest.op, newest.line) == (done.after.tip, "import", "import 4 rows")


def test_linked_rows_of_an_import_can_be_linked_again(bench: Bench) -> None:
    lines = [{"id": "1", "content": "a b", "linked_ids": ["2"]}, {"id": "2", "content": "c d"}]
    one, other = bring(bench, "\n".join(map(json.dumps, lines))).incoming.fresh
    link_items(writing(bench), other, one, ())
    assert len(rows(bench, RELATION)) == 1
