"""Every method of a port through a limited token: it is refused, or tells and changes nothing.

The methods are found by looking at the ports, so that a new one must be entered here.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from day1.adapters.ledger.tables import TABLES
from day1.errors import Forbidden, NotFound
from day1.interfaces.open_store import OpenStore
from day1.model.access.lease import HeldLease
from day1.model.access.permissions import Access
from day1.model.access.tokens import SignIn, Token
from day1.model.branches.branch import MAIN, Branch, DeletedBranch
from day1.model.branches.protection_change import ProtectionChange
from day1.model.catalogue import RECORDS
from day1.model.jobs.job import Job
from day1.model.jobs.schedule import Schedule
from day1.model.layers.eval_run import EvalRun
from day1.model.lessons.rating import rating_of
from day1.model.records.desk import Desk
from day1.model.records.intent import Intent
from day1.model.records.merge_record import MergeRecord
from day1.model.records.review import Review
from day1.model.records.session import Session
from day1.model.records.sharing import Bundle, Handoff, Template
from day1.model.records.snapshot import Snapshot
from day1.model.records.store_copy import CopyMark
from day1.model.records.task import Objective, Task, TaskAgent
from day1.model.redaction.redaction import Redaction
from day1.model.rows.change import Commit, Ref
from day1.model.rows.kind import FACT
from day1.ports.history import History
from day1.ports.ledger import Ledger
from day1.ports.store import Store
from day1.ports.uses import Uses
from day1.services.access.scoped import scoped
from day1.services.access.scoped_ledger import ScopedUses
from day1.services.branches.deleting import DELETE, DeleteIntent, is_taken
from day1.services.branches.forking import FORK, ForkIntent, create
from day1.services.branches.lookup import find
from day1.services.branches.retiring import RETIRE, RetireIntent
from day1.services.branches.tree import states
from day1.services.merges.merging import MERGE, MergeIntent
from day1.services.redaction.purging import PURGE, PurgeIntent
from day1.services.redaction.redacting import REDACT
from day1.services.repository.repository import Repository
from tests.flows.opened_store import call, opened

LIMITED = Access("token", "admin", ("mine/*",))


@dataclass(frozen=True)
class Scene:
    """What there is: `main`, which is hidden, and `mine/a`, which is not."""

    store: OpenStore
    limited: Repository
    main: Branch
    mine: Branch
    tip: str
    """Of main."""
    row: str
    """On main alone."""
    task: str
    """On main."""

    @property
    def uses(self) -> ScopedUses:
        return ScopedUses(self.store.search.uses, self.limited.ledger, LIMITED)

    @property
    def own(self) -> str:
        return self.limited.history.branches()["mine/a"]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with opened(tmp_path / "store", create=True) as store:
        repo = store.repo
        mine = create(repo, "mine/a", find(repo, MAIN), 1)
        row = call(store, "memory_write_fact", fact_text="Hidden.")["id"]
        task = call(store, "memory_task_create", name="hidden", objectives=[{"description": "x"}])
        store.search.uses.shown([row], 1, find(repo, MAIN).id)
        repo.ledger.put(rating_of(row, "ann", None, 1.0, 1).on(find(repo, MAIN).id))
        repo.ledger.set_head("client", find(repo, MAIN).id)
        tip = repo.store.commit_pending(MAIN)
        repo.history.tag("hidden", tip)
        limited = scoped(repo, LIMITED)
        yield Scene(store, limited, find(repo, MAIN), mine, tip, row, task["task_id"])


def entered(scene: Scene, what: Any) -> object:
    with what as inside:
        return inside


def redaction(scene: Scene) -> Redaction:
    return Redaction("r", scene.row, "facts", (scene.row,), ("h",), 1, 1, "why", None, 1)


Way = Callable[[Scene], object]
HISTORY: dict[str, Way] = {
    "branches": lambda s: MAIN in s.limited.history.branches(),
    "dirty_branches": lambda s: MAIN in s.limited.history.dirty_branches(),
    "states": lambda s: MAIN in s.limited.history.states(),
    "fork": lambda s: s.limited.history.fork("mine/new", s.tip),
    "drop": lambda s: s.limited.history.drop(MAIN),
    "tag": lambda s: s.limited.history.tag("mine", s.tip),
    "untag": lambda s: (
        s.limited.history.untag("hidden"),
        "hidden" not in s.store.repo.history.tags(),
    )[1],
    "tags": lambda s: "hidden" in s.limited.history.tags(),
    "commit": lambda s: s.limited.history.commit(s.tip),
    "log": lambda s: list(s.limited.history.log(MAIN)),
    "graph": lambda s: s.limited.history.graph([s.tip]),
    "merge_base": lambda s: s.limited.history.merge_base(s.own, s.tip),
    "changes": lambda s: s.limited.history.changes(s.tip, Ref(branch="mine/a")),
    "unmasked": lambda s: s.limited.history.unmasked(FACT, s.row),
    "row": lambda s: s.limited.history.row(FACT, s.row, s.tip),
    "versions": lambda s: s.limited.history.versions(FACT, s.row, s.tip),
    "at": lambda s: s.limited.history.at(MAIN, 1),
}
STORE: dict[str, Way] = {
    "capabilities": lambda s: False,  # they are the engine's
    "reading": lambda s: entered(s, s.limited.store.reading(Ref(commit=s.tip))),
    "adding": lambda s: entered(s, s.limited.store.adding(MAIN)),
    "changing": lambda s: entered(s, s.limited.store.changing(MAIN)),
    "sealed": lambda s: entered(s, s.limited.store.sealed(MAIN)),
    "repeat": lambda s: s.limited.store.repeat(
        "mine/a", Commit("0", (s.own,), "change", 1, "ada", "change"), {}
    ),
    "commit_pending": lambda s: s.limited.store.commit_pending(MAIN),
    "commit_pending_if_due": lambda s: s.limited.store.commit_pending_if_due(MAIN),
    "stamp": lambda s: False,  # no answer has it: what is derived is compared with it
    "present": lambda s: False,  # every answer has the time
    "size": lambda s: s.limited.store.size(),
    "compact": lambda s: s.limited.store.compact(),
    "compact_size": lambda s: s.limited.store.compact_size(),
    "check": lambda s: s.limited.store.check(),
    "warnings": lambda s: s.limited.store.warnings(),
    "close": lambda s: s.limited.store.close(),  # it leaves the store open
}
LEDGER: dict[str, Way] = {
    "is_limited": lambda s: not s.limited.ledger.is_limited,
    "transaction": lambda s: False,  # what is in it is checked
    "check": lambda s: s.limited.ledger.check(),
    "stamp": lambda s: False,  # no answer has it
    "same_version": lambda s: False,  # it is of this thread
    "mask": lambda s: False,  # rows are masked by it; no answer has it
    "votes": lambda s: s.row in s.limited.ledger.votes(),
    "branches": lambda s: s.main in s.limited.ledger.branches(),
    "branch": lambda s: s.limited.ledger.branch(MAIN),
    "put_branch": lambda s: s.limited.ledger.put_branch(s.main),
    "remove_branch": lambda s: s.limited.ledger.remove_branch(s.main.id),
    "record": lambda s: s.limited.ledger.record(Branch, s.main.id),
    "records": lambda s: s.limited.ledger.records(Task),
    "swap": lambda s: s.limited.ledger.swap(None, Desk("d", s.main.id, "", "", "", 1, 1, 1)),
    "put": lambda s: s.limited.ledger.put(Snapshot("s", None, s.main.id, s.tip, 1)),
    "remove": lambda s: s.limited.ledger.remove(Task, s.task),
    "open_intent": lambda s: entered(
        s, s.limited.ledger.open_intent(DELETE, DeleteIntent(s.main.id, MAIN), 1)
    ),
    "ending": lambda s: False,  # what is written in it is checked
    "exclusive": lambda s: False,  # intents inside are checked
    "recover_orphans": lambda s: False,  # it goes on with what others were allowed
    "open_intents": lambda s: s.limited.ledger.open_intents(),
    "head": lambda s: s.limited.ledger.head("client"),
    "heads": lambda s: "client" in s.limited.ledger.heads(),
    "set_head": lambda s: s.limited.ledger.set_head("client", s.main.id),
}
USES: dict[str, Way] = {
    "shown": lambda s: s.uses.shown([s.row], 2, s.main.id),
    "known": lambda s: s.uses.known() or s.uses.known(frozenset({s.main.id})),
    "of": lambda s: s.uses.of([s.row]) or s.uses.of([s.row], frozenset({s.main.id})),
    "most": lambda s: s.uses.most(9) or s.uses.most(9, frozenset({s.main.id})),
}
WAYS: dict[type, dict[str, Way]] = {History: HISTORY, Store: STORE, Ledger: LEDGER, Uses: USES}


def content(scene: Scene) -> object:
    """What nobody with that token may change."""
    repo = scene.store.repo
    ledger = repo.ledger
    kinds = (Branch, Task, Objective, Snapshot, Desk, Intent, Session)
    return (
        repo.history.branches(),
        repo.history.tags(),
        [ledger.records(kind) for kind in kinds],
        ledger.heads(),
        scene.store.search.uses.known(),
    )


@pytest.mark.parametrize("port", WAYS, ids=str)
def test_every_method_of_a_port_has_a_way_here(port: type) -> None:
    methods = {n for n, _ in inspect.getmembers(port) if not n.startswith("_")}
    assert methods == WAYS[port].keys()
    subclasses: list[type] = port.__subclasses__()
    guards = {guard.__name__: guard for guard in subclasses}
    assert methods <= vars(guards[f"Scoped{port.__name__}"]).keys()


@pytest.mark.parametrize(
    ("port", "method"),
    [(port, method) for port, ways in WAYS.items() for method in ways],
    ids=str,
)
def test_a_limited_token_comes_by_no_method_to_a_hidden_branch(
    scene: Scene, port: type, method: str
) -> None:
    before = content(scene)
    try:
        told = WAYS[port][method](scene)
    except (Forbidden, NotFound):
        pass
    else:
        assert not told
    assert content(scene) == before


def about(scene: Scene) -> list[Any]:
    """A record of each kind that is about a hidden branch, or about all."""
    main, mine, tip = scene.main.id, scene.mine.id, scene.tip
    return [
        scene.main,
        Session("1", main, None, None, None, 1),
        Snapshot("1", None, main, tip, 1),
        DeletedBranch("1", MAIN, tip, 1),
        Task("1", "t", None, None, (), main, None, 1),
        TaskAgent("1", scene.task, "ann", None, (), main, 1),
        Objective("1", scene.task, 0, "x", None, "pending", None, None, None, None, 1, 1),
        Template("1", "t", 1, main, tip, None, (), (), 0, 0, "active", None, 1),
        Handoff("1", "full", mine, main, tip, (), (), "", 0, None, 1),
        Bundle("1", "b", None, (), MAIN, tip, tip, False, "", 0, 0, 0, 0, "active", None, 1),
        Token("1", "t", "0", "admin", (), None, 1),
        SignIn("1", "t", 1, 2),
        Intent("1", "delete", {}, 1),
        Review("1", mine, main, None, None, "open", None, None, 1),
        redaction(scene),
        ProtectionChange("1", main, None, None, "user", (), (), (), (), 1),
        CopyMark("1", 1),
        MergeRecord("1", mine, main, tip, tip, None, "auto", 1, 0, [], None, 1),
        rating_of("fact_1", None, None, 1.0, 1),
        rating_of("fact_1", None, None, 1.0, 1).on(main),
        Desk("1", main, "", "", "", 1, 1, 1),
        HeldLease("1", "process_1", 1, 2),
        Job(
            *("1", "cleanup", "inline", "running", main, "w", ("w",), {}, {}),
            *(None, None, None, None, None, 2, 1),
        ),
        Schedule("1", "cleanup", "w", main, None, False, 1, None, None, 1),
        EvalRun("1", main, "commit_1", {}, (), 1),
    ]


def test_no_kind_of_record_is_seen_or_written_beyond_the_limits(scene: Scene) -> None:
    known = about(scene)
    assert {type(one) for one in known} == TABLES.keys()
    ledger = scene.store.repo.ledger
    for record in known:
        there = ledger.record(type(record), record.id)
        with pytest.raises(Forbidden):
            scene.limited.ledger.put(record)
        with pytest.raises(Forbidden):
            scene.limited.ledger.swap(there, record)
        assert ledger.record(type(record), record.id) == there
        if there is None and not isinstance(record, Intent):
            ledger.put(record)
        assert scene.limited.ledger.record(type(record), record.id) is None
        assert record not in scene.limited.ledger.records(type(record))
        if not isinstance(record, Intent):
            with pytest.raises(Forbidden):
                scene.limited.ledger.remove(type(record), record.id)
            assert ledger.record(type(record), record.id) == record


def visible(scene: Scene, record: Any) -> Any:
    """A record as it would be about a visible branch, with the same id."""
    kind = record.KIND
    return replace(
        record,
        **dict.fromkeys(kind.branch_ids, scene.mine.id),
        **dict.fromkeys(kind.branch_names, "mine/b"),
        **dict.fromkeys(kind.commits, scene.own),
    )


def test_no_record_of_a_hidden_branch_is_replaced_by_one_of_a_visible_branch(scene: Scene) -> None:
    hidden = [record for record in about(scene) if visible(scene, record) != record]
    limited, ledger = scene.limited.ledger, scene.store.repo.ledger
    for record in hidden:
        if ledger.record(type(record), record.id) is None:
            ledger.put(record)
        there, mine = ledger.record(type(record), record.id), visible(scene, record)
        ways: list[Callable[[], object]] = [
            partial(limited.put, mine),
            partial(limited.swap, there, mine),
            *([partial(limited.put_branch, mine)] if isinstance(mine, Branch) else []),
        ]
        for way in ways:
            with pytest.raises(Forbidden):
                way()
            assert ledger.record(type(record), record.id) == there
    kinds = {type(record) for record in hidden}
    assert kinds == {k for k in RECORDS if k.KIND.branch_ids or k.KIND.branch_names}


def test_a_limited_token_writes_records_of_visible_branches(scene: Scene) -> None:
    limited = scene.limited.ledger
    for record in about(scene):
        mine = visible(scene, record)
        if mine == record or isinstance(mine, Branch):
            continue
        limited.put(mine)
        assert limited.record(type(mine), mine.id) == mine
        assert limited.swap(mine, mine)
        limited.remove(type(mine), mine.id)
        assert limited.record(type(mine), mine.id) is None


def test_no_intent_is_about_more_than_visible_branches(scene: Scene) -> None:
    made = Branch("b", "theirs/a", scene.mine.id, scene.own, 1)
    merge = MergeIntent("m", scene.mine.id, scene.main.id, scene.own, "auto", [], None, 1, "mine/a")
    payloads: list[tuple[Any, Any]] = [
        (DELETE, DeleteIntent(scene.main.id, MAIN)),
        (RETIRE, RetireIntent(MAIN)),
        (FORK, ForkIntent.of(made, ())),
        (MERGE, merge),
        (REDACT, redaction(scene)),
        (PURGE, PurgeIntent(scene.tip)),
    ]
    for kind, payload in payloads:
        with pytest.raises(Forbidden), scene.limited.ledger.open_intent(kind, payload, 1):
            pass
    assert not scene.store.repo.ledger.open_intents()


@pytest.mark.parametrize("strategy", ["auto", "squash"])
def test_a_merge_into_a_hidden_branch_is_not_seen(scene: Scene, strategy: str) -> None:
    call(scene.store, "memory_write_fact", fact_text="Mine.", branch="mine/a")
    branches = {"source_branch": "mine/a", "target_branch": MAIN}
    call(scene.store, "memory_branch_merge", **branches, strategy=strategy)
    for repo, status, taken in (
        (scene.store.repo, "merged", True),
        (scene.limited, "active", False),
    ):
        state = next(one for one in states(repo) if one.branch.name == "mine/a")
        assert (state.status, is_taken(repo, state.branch)) == (status, taken)
