"""A memory through a limited token: below every operation, each way to a hidden branch is shut."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from day1.errors import Forbidden, NotFound
from day1.interfaces.open_store import OpenStore
from day1.model.access.permissions import Access
from day1.model.access.tokens import Token
from day1.model.branches.branch import MAIN, Branch
from day1.model.records.intent import Intent
from day1.model.records.sharing import Bundle
from day1.model.records.snapshot import Snapshot
from day1.model.rows.change import Commit, Ref
from day1.model.rows.kind import FACT
from day1.services.access.caller import Caller
from day1.services.access.scoped import ScopedHistory, scoped
from day1.services.branches.deleting import delete, deleted_by
from day1.services.branches.forking import create
from day1.services.branches.lookup import find
from day1.services.branches.snapshots import snapshot
from day1.services.repository.repository import Repository
from day1.services.rows.curating import CurateRequest, curate
from tests.flows.opened_store import TOOLS, call, opened

Way = Callable[[Repository, str, str], object]
"""What is tried on a guarded memory, with a hidden branch's tip and a fact on it."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OpenStore]:
    with opened(tmp_path / "store", create=True) as made:
        yield made


@pytest.fixture
def repo(store: OpenStore) -> Repository:
    return store.repo


WAYS: dict[str, Way] = {
    "reading the branch": lambda r, tip, row: r.store.reading(Ref(branch=MAIN)).__enter__(),
    "reading its past": lambda r, tip, row: r.store.reading(Ref(branch=MAIN, until=1)).__enter__(),
    "reading its commit": lambda r, tip, row: r.store.reading(Ref(commit=tip)).__enter__(),
    "adding": lambda r, tip, row: r.store.adding(MAIN).__enter__(),
    "changing": lambda r, tip, row: r.store.changing(MAIN).__enter__(),
    "repeating a commit": lambda r, tip, row: r.store.repeat(
        "mine/a", Commit("0", (r.history.branches()["mine/a"],), "change", 1, "ada", "change"), {}
    ),
    "committing": lambda r, tip, row: r.store.commit_pending(MAIN),
    "committing if due": lambda r, tip, row: r.store.commit_pending_if_due(MAIN),
    "forking it": lambda r, tip, row: r.history.fork("mine/new", tip),
    "forking beside": lambda r, tip, row: r.history.fork("theirs", r.history.branches()["mine/a"]),
    "dropping": lambda r, tip, row: r.history.drop(MAIN),
    "keeping": lambda r, tip, row: r.history.tag("mine", tip),
    "its log": lambda r, tip, row: list(r.history.log(MAIN)),
    "the log of its commit": lambda r, tip, row: list(r.history.log(tip)),
    "its graph": lambda r, tip, row: r.history.graph([tip]),
    "a common past": lambda r, tip, row: r.history.merge_base(r.history.branches()["mine/a"], tip),
    "a difference from it": lambda r, tip, row: r.history.changes(tip, Ref(branch="mine/a")),
    "a difference to it": lambda r, tip, row: r.history.changes(
        r.history.branches()["mine/a"], Ref(commit=tip)
    ),
    "its state at a time": lambda r, tip, row: r.history.at(MAIN, 1),
    "a row at its commit": lambda r, tip, row: r.history.row(FACT, row, tip),
    "versions of a row": lambda r, tip, row: r.history.versions(FACT, row, tip),
    "rows unmasked": lambda r, tip, row: r.history.unmasked(FACT, row),
    "its notes": lambda r, tip, row: r.ledger.branch(MAIN),
    "noting it": lambda r, tip, row: r.ledger.put_branch(Branch("b", MAIN, None, None, 1)),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_leads_to_a_hidden_branch(store: OpenStore, way: str) -> None:
    repo = store.repo
    create(repo, "mine/a", find(repo, MAIN), 1)
    row = call(store, "memory_write_fact", fact_text="Hidden.")["id"]
    tip = repo.store.commit_pending(MAIN)
    limited = scoped(repo, Access("token", "admin", ("mine/*",)))
    with pytest.raises((Forbidden, NotFound)):
        WAYS[way](limited, tip, row)


def test_lists_leave_hidden_branches_out(store: OpenStore, repo: Repository) -> None:
    mine = create(repo, "mine/a", find(repo, MAIN), 1)
    snapshot(repo, find(repo, MAIN), "hidden", 2)
    shown = snapshot(repo, find(repo, "mine/a"), "shown", 3)
    repo.ledger.put(Token("t", "root", "0" * 64, "admin", (), None, 1))
    for key, name in (("ada", "mine/a"), ("bob", MAIN)):
        repo.ledger.set_head(key, find(repo, name).id)
    call(store, "memory_write_fact", fact_text="Hidden.")
    later = repo.store.commit_pending(MAIN)
    for name, commit in (("shown", shown.commit), ("hidden", later)):
        repo.history.tag(name, commit)
    limited = scoped(repo, Access("token", "admin", ("mine/*",)))
    assert set(limited.history.branches()) == {"mine/a"}
    assert limited.history.tags() == {"shown": shown.commit}
    assert limited.ledger.heads() == {"ada": mine.id}
    assert [branch.name for branch in limited.ledger.branches()] == ["mine/a"]
    assert limited.ledger.records(Snapshot) == [shown]
    assert limited.ledger.records(Token) == []
    assert limited.ledger.record(Token, "t") is None
    assert limited.ledger.records(Intent) == []
    assert limited.ledger.record(Branch, mine.id) == mine
    with limited.store.reading(Ref(commit=str(mine.fork_commit))) as reading:
        assert reading.count(FACT) == 0


def test_a_limited_caller_sees_that_a_request_of_theirs_deleted_a_branch(
    store: OpenStore, repo: Repository
) -> None:
    mine = create(repo, "mine/a", find(repo, MAIN), 1)
    call(store, "memory_write_fact", fact_text="Of mine alone.", branch="mine/a")
    access = Access("token", "admin", ("mine/*",))
    deleted = delete(scoped(repo, access), mine, None, 2, "mine")
    limited = scoped(repo, access)
    known = deleted_by(limited, "mine", "mine/a")
    assert known is not None
    assert known.tip == deleted.retired_tip
    assert known.tip not in limited.history.tags().values()
    others = scoped(repo, Access("other", "admin", ("others/*",)))
    assert deleted_by(others, "mine", "mine/a") is None


def test_what_a_branch_had_from_the_start_is_its_own(store: OpenStore) -> None:
    repo = store.repo
    row = call(store, "memory_write_fact", fact_text="From before the fork.")["id"]
    before = repo.store.commit_pending(MAIN)
    create(repo, "mine/a", find(repo, MAIN), 1)
    limited = scoped(repo, Access("token", "read", ("mine/*",)))
    with limited.store.reading(Ref(commit=before)) as reading:
        assert list(reading.get(FACT, [row])) == [row]


def test_a_chosen_part_of_a_visible_branch_makes_another(store: OpenStore) -> None:
    limited = scoped(store.repo, Access("token", "write", ("mine/*",)))
    create(store.repo, "mine/a", find(store.repo, MAIN), 1)
    part = CurateRequest("mine/part", find(store.repo, "mine/a"), [], [])
    assert curate(limited, part, 2).branch.name == "mine/part"


def test_a_bundle_does_not_name_a_hidden_branch(store: OpenStore) -> None:
    for name in ("mine/a", "hidden"):
        create(store.repo, name, find(store.repo, MAIN), 1)
        call(store, "knowledge_bundle_create", name=f"of {name}", source_branch=name)
    limited = scoped(store.repo, Access("token", "read", ("mine/*",)))
    assert [bundle.name for bundle in limited.ledger.records(Bundle)] == ["of mine/a"]


def without_notes(answer: Any) -> dict[str, Any]:
    """An answer without what says that it is a repeated one."""
    return {**answer, "written": {**answer.get("written", {}), "notes": []}}


def test_the_same_request_id_of_other_limits_is_another_request(store: OpenStore) -> None:
    """F4: else the second one would write over records that it does not see."""
    for limits in ("mine", "yours"):
        create(store.repo, f"{limits}/a", find(store.repo, MAIN), 1)
        caller = Caller(access=Access("token", "write", (f"{limits}/*",)))
        for tool, arguments in {
            "memory_snapshot": {"branch": f"{limits}/a"},
            "memory_branch_create": {"branch_name": f"{limits}/b", "parent_branch": f"{limits}/a"},
            "knowledge_bundle_create": {"name": limits, "source_branch": f"{limits}/a"},
        }.items():
            request = {**arguments, "request_id": "1"}
            answer, again = (TOOLS[tool].call(store.context(caller), request) for _ in range(2))
            assert without_notes(again) == without_notes(answer)
    ledger = store.repo.ledger
    assert len(ledger.records(Snapshot)) == len(ledger.records(Bundle)) == 2
    assert {"mine/b", "yours/b"} <= {branch.name for branch in ledger.branches()}


def test_the_graph_is_walked_once_for_many_calls(store: OpenStore, monkeypatch) -> None:
    """B6: each call of a limited token walked the whole graph at its first look at a commit."""
    repo = store.repo
    for name in ("mine/a", "mine/b", "theirs"):
        create(repo, name, find(repo, MAIN), 1)
    walks: list[object] = []
    graph = repo.history.graph
    monkeypatch.setattr(repo.history, "graph", lambda starts: walks.append(1) or graph(starts))

    def committed(branch: str) -> str:
        call(store, "memory_write_fact", fact_text=f"Of {branch}.", branch=branch)
        return repo.store.commit_pending(branch)

    def reaches(commit: str) -> bool:
        limited = scoped(repo, Access("token", "admin", ("mine/*",)))
        assert isinstance(limited.history, ScopedHistory)
        return limited.history.reaches(commit)

    first, hidden = committed("mine/a"), committed("theirs")
    assert reaches(first)
    assert not reaches(hidden)
    later = committed("mine/b")
    assert reaches(later)
    assert reaches(first)
    assert not reaches(hidden)
    assert len(walks) == 1
    repo.history.drop("mine/b")
    assert not reaches(later)
    assert reaches(first)
    assert len(walks) == 2


@pytest.mark.parametrize("name", ["mine/work", "Mine/Work"])
def test_limits_know_no_case_as_names_do(name: str) -> None:
    assert Access("token", "read", ("mine/*",)).sees(name)
    assert Access("token", "read", ("MINE/[A-Z]*",)).sees(name)
    assert not Access("token", "read", ("min/*",)).sees(name)


def test_an_access_without_limits_is_the_memory_itself(repo: Repository) -> None:
    assert scoped(repo, Access("token", "read")) is repo
