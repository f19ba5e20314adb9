"""What counts as used: what agents find and open, by whatever tool, and not what a prime has."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from day1.adapters.index.uses import FILE, FileUses
from day1.adapters.sources.markdown import MarkdownSource
from day1.app.background import prime_renewer
from day1.model.lessons.rating import rating_of
from day1.model.rows.change import Message
from day1.model.rows.kind import FACT
from day1.model.rows.origin import Origin
from day1.ports.primes import NoPrimes
from day1.ports.uses import Use
from day1.services.branches.lookup import find
from day1.services.exchange.importing import import_foreign
from day1.services.prime.gathering import prime_of
from day1.services.prime.prime_services import PrimeServices
from tests.flows.opened_store import call, remember
from tests.flows.opened_store import store as store  # noqa: PLC0414 - a fixture
from tests.flows.test_prime import known, primed


def test_passages_of_imported_documents_are_told_if_somebody_said_so_or_used_them(
    store, tmp_path
) -> None:
    """An agent's own note of the same category is no passage, nor is what another tool knew."""
    remember(store, "Ann is on call.")
    remember(store, "The note of an agent.", category="note")
    document = tmp_path / "reference.md"
    sections = (
        f"## Option {number}\n| argument | type |\n| a{number} | b |" for number in range(150)
    )
    document.write_text("\n\n".join(sections), encoding="utf-8")
    source = MarkdownSource([document], tmp_path)
    branch = find(store.repo, "main")
    import_foreign(store.repo, branch, source, Origin(), lambda *_: None)
    assert set(known(primed(store))) == {"Ann is on call.", "The note of an agent."}
    listed = call(store, "memory_search", query="Option 7 argument", limit=6)["result"]
    pinned, verified, rated, *others = (hit["id"] for hit in listed)
    call(store, "memory_update_fact", fact_id=pinned, category="pinned")
    with store.repo.store.changing("main") as work:
        work.change(FACT, verified, {"verification": "verified"})
        work.commit(Message("update", "verify"))
    store.repo.ledger.put(rating_of(rated, "ada", None, 1.0, store.clock()))
    assert len(known(primed(store))) == 5
    for _ in range(9):
        call(store, "memory_get", id=others[0])
        call(store, "memory_list", type="fact", limit=200)
        call(store, "memory_timeline", limit=500)
        primed(store)
    assert len(known(primed(store))) == 5
    call(store, "memory_get", id=others[0])
    (opened_text,) = (hit["fact_text"] for hit in listed if hit["id"] == others[0])
    assert len(known(primed(store))) == 6
    assert " ".join(opened_text.split()) in known(primed(store))
    store.repo.ledger.put(rating_of(others[0], "ada", None, 0.0, store.clock()))
    assert len(known(primed(store))) == 5, "of no use, somebody said"


def test_what_agents_find_and_open_is_used_and_what_a_prime_has_is_not(store) -> None:
    joined = call(store, "memory_task_create", name="login")
    call(store, "memory_task_join", task_id=joined["task_id"], agent_id="ada")
    ids = [remember(store, f"Wagon {n}: {'load ' * (9 - n)}of coal.") for n in range(8)]

    def used() -> dict[str, int]:
        return {row: use.times for row, use in store.search.uses.known().items() if use.times}

    for _ in range(20):
        primed(store)
        prime_renewer(store).renew(["main"])
    call(store, "memory_list", type="fact")
    call(store, "memory_timeline")
    assert store.search.uses.known() == {}
    hits = call(store, "memory_search", query="load of coal", limit=6)["result"]
    best = [hit["id"] for hit in hits]
    assert used() == dict.fromkeys(best[:3], 1)
    assert store.search.uses.known().keys() == set(best), "engram asks for judgements of all"
    call(store, "memory_time_travel", timestamp="2100-01-01", query="load of coal", limit=1)
    assert used() == {best[0]: 2, best[1]: 1, best[2]: 1}
    call(store, "memory_get", id=best[5])
    assert used()[best[5]] == 1
    assert store.prime.uses.most(50).keys() == {*best[:3], best[5]}
    assert set(ids) - set(best) == set(ids) - store.search.uses.known().keys()


def test_what_is_found_among_a_tasks_memories_is_used(store) -> None:
    task = call(store, "memory_task_create", name="login")["task_id"]
    branch = call(store, "memory_task_join", task_id=task, agent_id="ada")["branch_name"]
    made = remember(store, "The page has a lamp.", branch=branch, task_id=task, agent_id="ada")
    found = call(store, "memory_search_task", task_id=task, query="lamp")["result"]
    assert [hit["id"] for hit in found] == [made]
    assert {row: use.times for row, use in store.prime.uses.most(9).items()} == {made: 1}


def test_the_same_state_and_instant_give_the_same_bytes(store) -> None:
    for number in range(40):
        remember(store, f"Note {number}.", session_id=f"s{number % 3}")
    for query in ("note 1", "note 7", "note 33"):
        call(store, "memory_search", query=query)
    now = store.clock()
    still, branch = replace(store.repo, clock=lambda: now), find(store.repo, "main")
    texts = {prime_of(still, store.prime, branch, None, 1_200).text for _ in range(3)}
    fresh = PrimeServices(FileUses(store.folder, read_only=True), NoPrimes())
    texts.add(prime_of(still, fresh, branch, None, 1_200).text)
    assert len(texts) == 1


def test_the_best_of_an_answer_count_as_used_and_the_others_as_shown(tmp_path: Path) -> None:
    uses = FileUses(tmp_path, read_only=False)
    uses.shown(["a", "b", "c", "d", "e"], 1, "main")
    uses.shown(["d"], 2, "side")
    uses.shown(["x", "y", "z", "a"], 3, "main")
    assert uses.known() == {
        **dict.fromkeys(("b", "c"), Use(1, 1)),
        "a": Use(1, 3),
        "d": Use(1, 2),
        "e": Use(0, 1),
        **dict.fromkeys(("x", "y", "z"), Use(1, 3)),
    }
    assert uses.most(1) == {"a": Use(1, 3)}, "of those used as often and as lately the first id"
    assert uses.most(9).keys() == uses.known().keys() - {"e"}
    assert uses.most(9, frozenset({"side"})) == {"d": Use(1, 2)}


@pytest.mark.parametrize("branch", ["", "branch_id TEXT, "])
def test_what_an_earlier_day1_counted_counts(tmp_path: Path, branch: str) -> None:
    name, value = ("shown", "'b', ") if branch else ("uses", "")
    with closing(sqlite3.connect(tmp_path / FILE)) as connection, connection:
        keys = "row_id, branch_id" if branch else "row_id"
        connection.execute(
            f"CREATE TABLE {name} (row_id TEXT, {branch}times INTEGER NOT NULL, "
            f"last INTEGER NOT NULL, PRIMARY KEY ({keys})) WITHOUT ROWID"
        )
        connection.execute(f"INSERT INTO {name} VALUES ('fact_a', {value}7, 5)")
    uses = FileUses(tmp_path, read_only=False)
    assert uses.most(9) == {"fact_a": Use(7, 5)}
    uses.shown(["fact_a"], 6, "b")
    assert uses.most(9) == {"fact_a": Use(8, 6)}
