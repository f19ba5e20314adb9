"""Redaction below the wires: merges, restores, indexes and imports with what nobody may read."""

import json
import random
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.versioned.doltlite.store import DoltLiteStore
from day1.errors import Forbidden, NotFound
from day1.interfaces.open_store import OpenStore
from day1.model.access.permissions import Access
from day1.model.records.desk import Desk, next_desk
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import (
    CONVERSATION,
    FACT,
    HELD,
    MESSAGE,
    OBSERVATION,
    RELATION,
    Kind,
    canonical,
)
from day1.services.access.caller import Caller
from day1.services.access.calls import now
from day1.services.branches import deleting
from day1.services.branches.lookup import find
from day1.services.exchange.exporting import export_store
from day1.services.exchange.own_import import import_own
from day1.toolsets import TOOLSETS
from tests.flows.opened_store import MERGE, SIDES, branches, call, facts, opened, write

SECRET = "The vault opens with plover4711."
REDACTED = "[redacted]"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def store(folder: Path) -> Iterator[OpenStore]:
    with opened(folder, create=True) as store:
        yield store


def remember(store: OpenStore, text: str = SECRET, branch: str = "main", **more: Any) -> str:
    made: str = call(store, "memory_write_fact", fact_text=text, branch=branch, **more)["id"]
    return made


def redact(store: OpenStore, row_id: str) -> dict[str, Any]:
    return call(store, "memory_redact", id=row_id, confirm=row_id)


def change(store: OpenStore, row_id: str, branch: str, **columns: Any) -> None:
    call(store, "memory_update_fact", fact_id=row_id, branch=branch, **columns)


def stored(folder: Path, branch: str = "main") -> dict[str, str]:
    """The texts as they lie in the engine, whatever the ledger says of them."""
    store = DoltLiteStore(folder, lambda: 0)
    with store.reading(Ref(branch=branch)) as reading:
        found = {str(row["id"]): str(row["fact_text"]) for row in reading.find(FACT, Query())}
    store.close()
    return found


def test_texts_that_differ_where_nobody_may_look_do_not_conflict(
    store: OpenStore, folder: Path
) -> None:
    row = remember(store)
    call(store, "memory_branch_create", branch_name="side")
    change(store, row, "side", fact_text="It opened with plover4711.", confidence=0.5)
    change(store, row, "main", fact_text="It opens with plover4711 now.", category="codes")
    redact(store, row)
    plan = call(store, "memory_merge_preview", **SIDES)
    assert plan["conflicts"] == []
    assert "plover" not in json.dumps(plan)
    merged = call(store, "memory_branch_merge", **MERGE, expect=plan["digest"])
    assert merged["rejected_count"] == 0
    assert facts(store) == [REDACTED]
    assert call(store, "memory_held")["items"] == []
    with store.repo.store.reading(Ref(branch="main")) as reading:
        assert reading.get(FACT, [row])[row]["confidence"] == 0.5


def test_a_merge_leaves_what_is_stored_as_it_is(store: OpenStore, folder: Path) -> None:
    """Masks are for readers: purging is another step, and no side effect of a merge."""
    row = remember(store)
    call(store, "memory_branch_create", branch_name="side")
    write(store, "Otters dive.", branch="side")
    change(store, row, "side", confidence=0.5)
    redact(store, row)
    call(store, "memory_branch_merge", **MERGE)
    assert sorted(facts(store)) == ["Otters dive.", REDACTED]
    assert stored(folder)[row] == SECRET


def test_a_held_value_is_masked_and_taking_it_reveals_nothing(store: OpenStore) -> None:
    row = remember(store, "Nothing secret.")
    call(store, "memory_branch_create", branch_name="side")
    change(store, row, "side", fact_text=SECRET)
    change(store, row, "main", fact_text="Nothing at all.")
    call(store, "memory_branch_merge", **MERGE)
    deleting.delete(
        store.repo, find(store.repo, "side"), "main", now()
    )  # from now on the stored value is offered
    redact(store, remember(store, branch="main"))  # another memory that says the same
    (item,) = call(store, "memory_held")["items"]
    assert item["present"]["fact_text"] == "Nothing at all."
    assert item["offered"]["fact_text"] == REDACTED
    assert "plover" not in json.dumps(item)
    call(store, "memory_held", action="take", id=item["id"])
    assert facts(store) == [REDACTED, REDACTED]


def test_who_changed_what_is_told_of_redacted_words_too(store: OpenStore) -> None:
    row = remember(store, category="codes", agent_id="ada", expires_at="2999-01-01")
    change(store, row, "main", fact_text="It opens with plover4711.", agent_id="bob", reason="7")
    change(store, row, "main", category="vaults", agent_id="cy")
    change(store, row, "main", confidence=0.5, agent_id="dee")
    before = {cell["cell"]: cell for cell in call(store, "memory_blame", id=row)["cells"]}
    redact(store, row)
    after = {cell["cell"]: cell for cell in call(store, "memory_blame", id=row)["cells"]}
    who = ("agent_id", "at", "edited", "branch", "commit")
    assert [after[name][key] for name in after for key in who] == [
        before[name][key] for name in before for key in who
    ]
    assert after["fact_text"]["agent_id"] == "bob"
    assert (after["fact_text"]["value"]["fact_text"], after["fact_text"]["reason"]) == (
        REDACTED,
        REDACTED,
    )
    assert "plover" not in json.dumps(after)


def test_no_merge_makes_who_was_withheld_the_author_of_redacted_words(store: OpenStore) -> None:
    row = remember(store)
    call(store, "memory_branch_create", branch_name="side")
    change(store, row, "main", fact_text="It opens with plover4711.", agent_id="ada")
    change(store, row, "side", fact_text="It opened with plover4711.", agent_id="bob")
    assert call(store, "memory_branch_merge", **MERGE)["rejected_count"] == 1
    redact(store, row)
    text = next(
        cell for cell in call(store, "memory_blame", id=row)["cells"] if cell["cell"] == "fact_text"
    )
    assert text["agent_id"] == "ada"


def test_restoring_the_past_brings_nothing_back(store: OpenStore) -> None:
    row = remember(store)
    call(store, "memory_snapshot", label="told")
    change(store, row, "main", fact_text="Nothing.")
    redact(store, row)
    assert facts(store) == [REDACTED]
    call(store, "memory_update_fact", fact_id=row, fact_text="A new text.")
    call(store, "memory_restore", to="told", id=row)
    assert facts(store) == [REDACTED]
    call(store, "memory_restore", to="told", confirm="main")
    assert facts(store) == [REDACTED]


def test_texts_of_a_branch_that_is_gone_are_masked(store: OpenStore) -> None:
    row = remember(store, "Nothing secret.")
    call(store, "memory_branch_create", branch_name="side")
    change(store, row, "side", fact_text=SECRET)
    tip = store.repo.history.branches()["side"]
    deleting.delete(store.repo, find(store.repo, "side"), "main", now())
    assert branches(store) == {"main"}
    redact(store, row)
    with store.repo.store.reading(Ref(commit=tip)) as reading:
        assert reading.get(FACT, [row])[row]["fact_text"] == REDACTED


def test_what_was_read_before_is_read_anew(store: OpenStore, folder: Path) -> None:
    """Another process has read differences, and holds views for search, from before."""
    row = remember(store)
    call(store, "memory_branch_create", branch_name="side")
    change(store, row, "side", fact_text="It opened with plover4711.")
    with opened(folder) as peer:
        before = call(peer, "memory_branch_diff", **SIDES)
        assert "plover" in json.dumps(before)
        assert call(peer, "memory_search", query="vault")["result"]
        redact(store, row)
        assert "plover" not in json.dumps(call(peer, "memory_branch_diff", **SIDES))
        assert call(peer, "memory_search", query="vault opens")["result"] == []


def test_a_lost_index_learns_nothing_of_it(store: OpenStore, folder: Path) -> None:
    row = remember(store)
    write(store, "The vault is old.")
    redact(store, row)
    store.search.index.close()
    (folder / "index.db").unlink()
    found = call(store, "memory_search", query="vault opens plover4711 redacted")["result"]
    assert [hit["fact_text"] for hit in found] == ["The vault is old."]
    store.search.index.close()
    assert b"plover" not in (folder / "index.db").read_bytes()


def test_an_import_of_what_was_redacted_reads_masked(store: OpenStore) -> None:
    row = remember(store)
    exported = list(export_store(store.repo))
    redact(store, row)
    call(store, "memory_branch_create", branch_name="taken")
    call(store, "memory_retract_fact", fact_id=row)
    for branch in ("main", "taken"):
        import_own(store.repo, find(store.repo, branch), exported, now(), lambda done, total: None)
        assert set(facts(store, branch)) <= {REDACTED}
    write(store, SECRET)
    assert facts(store) == [REDACTED]


def test_an_export_of_what_is_redacted_is_sound_elsewhere(store: OpenStore, tmp_path: Path) -> None:
    redact(store, remember(store))
    with opened(tmp_path / "other", create=True) as other:
        import_own(
            other.repo,
            find(other.repo, "main"),
            export_store(store.repo),
            now(),
            lambda done, total: None,
        )
        assert facts(other) == [REDACTED]


def test_a_masked_relation_is_not_found_by_its_old_names(store: OpenStore) -> None:
    for target in ("vault", "cellar"):
        call(
            store,
            "memory_write_relation",
            source_entity="plover4711",
            target_entity=target,
            relation_type="opens",
        )
    with store.repo.store.reading(Ref(branch="main")) as reading:
        equal = {"source_entity": "plover4711"}
        first, second = reading.find(RELATION, Query(equal=equal))
        assert reading.count(RELATION, equal) == 2
    redact(store, str(first["id"]))
    with store.repo.store.reading(Ref(branch="main")) as reading:
        assert [r["id"] for r in reading.find(RELATION, Query(equal=equal))] == [second["id"]]
        assert reading.count(RELATION, equal) == 1
        assert reading.find(RELATION, Query(equal=equal, limit=1))[0]["id"] == second["id"]
        among = {"target_entity": ["vault", "cellar"]}
        assert len(reading.find(RELATION, Query(among=among))) == 1
        counted = reading.tally(RELATION, "source_entity")
        assert counted == {REDACTED: 1, "plover4711": 1}


def test_copies_of_a_conversation_are_masked_with_it(store: OpenStore) -> None:
    said = call(
        store, "memory_log_message", role="user", content=SECRET, thinking="Is it plover4711?"
    )
    for _ in range(2):  # a copy, and a copy of that
        call(
            store,
            "memory_fork_conversation",
            conversation_id=newest(store, CONVERSATION),
            fork_at_message_id=newest(store, MESSAGE),
        )
    assert redact(store, said["message_id"])["rows"] == 3
    with store.repo.store.reading(Ref(branch="main")) as reading:
        rows = reading.find(MESSAGE, Query())
    assert [(row["content"], row["thinking"]) for row in rows] == [(REDACTED, REDACTED)] * 3


def newest(store: OpenStore, kind: Kind) -> str:
    """The id of main's newest row of a kind."""
    with store.repo.store.reading(Ref(branch="main")) as reading:
        return max(str(row["id"]) for row in reading.find(kind, Query()))


def test_observations_that_are_redacted_become_no_facts(store: OpenStore) -> None:
    task = call(store, "memory_task_create", name="t")["task_id"]
    joined = call(store, "memory_task_join", task_id=task, agent_id="ada")
    for summary in (SECRET, "Otters sleep in holts by the river."):
        call(
            store,
            "memory_write_observation",
            observation_type="insight",
            summary=summary,
            branch=joined["branch_name"],
            task_id=task,
            agent_id="ada",
        )
    with store.repo.store.reading(Ref(branch=joined["branch_name"])) as reading:
        (row,) = reading.find(OBSERVATION, Query(equal={"summary": SECRET}))
    redact(store, str(row["id"]))
    call(store, "memory_consolidate", level="task", task_id=task)
    named = [branch for branch in branches(store) if facts(store, branch)]
    texts = {text for branch in named for text in facts(store, branch)}
    assert texts == {"Otters sleep in holts by the river."}


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_no_state_shows_a_redacted_text(store: OpenStore, seed: int) -> None:
    """Random writes, changes, merges, restores and redactions on three branches."""
    chance = random.Random(seed)
    names, said, redacted = ["main", "a", "b"], defaultdict[str, set[str]](set), set[str]()
    said[remember(store, "t0")].add("t0")
    start = store.repo.store.commit_pending("main")
    for name in names[1:]:
        call(store, "memory_branch_create", branch_name=name)

    def step() -> None:
        branch, text, row = chance.choice(names), f"t{chance.randrange(40)}", chance.choice([*said])
        match chance.randrange(8):
            case 0 | 1:
                said[remember(store, text, branch)].add(text)
            case 2 | 3:
                change(store, row, branch, fact_text=text)
                said[row].add(text)
            case 4:
                change(store, row, branch, confidence=chance.random(), category=text)
            case 5:
                call(store, "memory_retract_fact", fact_id=row, branch=branch)
            case 6:
                other = chance.choice([name for name in names if name != branch])
                sides = {"source_branch": other, "target_branch": branch, "strategy": "auto"}
                call(store, "memory_branch_merge", **sides)
            case 7 if chance.random() < 0.5:
                redact(store, row)
                redacted.update(said[row])

    for _ in range(60):
        with suppress(NotFound):  # the row is not on that branch
            step()
    tips = store.repo.history.branches()
    graph = store.repo.history.graph(list(tips.values()))
    states = [Ref(commit=commit.id) for commit in graph if commit.op != "foreign"]
    for state in (*states, *(Ref(branch=name) for name in names)):
        with store.repo.store.reading(state) as reading:
            rows = reading.find(FACT, Query())
            for item in reading.find(HELD, Query()):
                rows += [json.loads(str(item[side])) for side in ("ours", "theirs") if item[side]]
        changed = store.repo.history.changes(start, state).get("facts", [])
        rows += [side for change in changed for side in (change.before, change.after) if side]
        assert redacted.isdisjoint(row.get("fact_text") for row in rows)
    assert redacted


def test_what_is_redacted_leaves_the_desks_and_the_file_of_the_ledger(
    store: OpenStore, folder: Path
) -> None:
    row_id = remember(store)
    whose = find(store.repo, "main").id, "client", "session"
    value = {"lines": ["Ask ann.", f"Know: {SECRET}"], SECRET: [{"deep": SECRET}]}
    desk = next_desk(None, whose, canonical(value), 1)
    assert store.repo.ledger.swap(None, desk)
    redact(store, row_id)
    kept = store.repo.ledger.record(Desk, desk.id)
    assert kept is not None
    assert json.loads(kept.value) == {
        "lines": ["Ask ann.", f"Know: {REDACTED}"],
        REDACTED: [{"deep": REDACTED}],
    }
    store.close()
    files = {path.name: path.read_bytes() for path in folder.glob("ledger.db*")}
    assert "ledger.db" in files
    assert [name for name, content in files.items() if SECRET.encode() in content] == []


def test_a_token_with_limits_redacts_nothing(store: OpenStore) -> None:
    row = remember(store)
    (tool,) = TOOLSETS.choose("memory_redact")
    for access in (Access("t", "admin", ("main",)), Access("t", "merge")):
        context = store.context(Caller(access=access))
        with pytest.raises(Forbidden):
            tool.call(context, {"id": row, "confirm": row})
    assert facts(store) == [SECRET]
