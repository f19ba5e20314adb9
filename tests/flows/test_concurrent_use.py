"""Branches, tasks, templates and bundles in the hands of several at once, and after bad days."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from day1.adapters.ledger.ledger import SqlLedger
from day1.errors import Day1Error
from day1.interfaces.open_store import OpenStore
from day1.model.records.sharing import Template
from day1.model.records.task import Objective, Task, TaskAgent
from day1.model.rows.change import Ref
from day1.model.rows.kind import FACT
from day1.model.values.instant import DAY
from day1.services.access.calls import now
from day1.services.branches import deleting, forking, lookup, retiring
from day1.services.sharing import bundles
from day1.services.upkeep.retirable import retirable_branches
from tests.flows.opened_store import (
    branches,
    call,
    open_and_close,
    opened,
    read_only,
    refused,
    write,
)
from tests.waiting import until

FIRST = "The gate opens at nine."
SQUASH = {"strategy": "squash"}


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[OpenStore, OpenStore]]:
    """One store with a fact, opened twice."""
    folder = tmp_path / "store"
    with opened(folder, create=True) as one, opened(folder) as other:
        write(one, FIRST)
        yield one, other


def at_once(store: OpenStore, *actions: Callable[[], object]) -> list[str]:
    """Let actions begin while another goes on, so that all are past their checks; their codes."""
    codes: list[str] = []

    def run(action: Callable[[], object]) -> None:
        try:
            action()
            codes.append("")
        except Day1Error as exc:
            codes.append(exc.code)

    waiting: list[SqlLedger] = []
    open_intent = SqlLedger.open_intent

    def noted(ledger: SqlLedger, *args: Any) -> AbstractContextManager[None]:
        waiting.append(ledger)
        return open_intent(ledger, *args)

    threads = [threading.Thread(target=run, args=(action,)) for action in actions]
    with (
        store.repo.ledger.exclusive(),
        patch.object(SqlLedger, "open_intent", noted),
    ):
        for thread in threads:
            thread.start()
        until(lambda: len(waiting) + len(codes) == len(actions), "each action waits or has failed")
    for thread in threads:
        thread.join()
    return sorted(codes)


# Several at once


def test_notes_that_two_set_at_once_are_both_kept(pair: tuple[OpenStore, OpenStore]) -> None:
    call(pair[0], "memory_branch_create", branch_name="work")
    wrong: list[str] = []

    def note(store: OpenStore, name: str) -> None:
        for number in range(30):
            said = f"{name} {number}"
            call(store, "memory_branch_enrich", branch_name="work", **{name: said})
            kept = lookup.find(store.repo, "work").metadata()[name]
            if kept != said:
                wrong.append(f"{said}: {kept}")

    threads = [
        threading.Thread(target=note, args=args)
        for args in zip(pair, ("owner", "purpose"), strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_of_two_names_that_differ_in_case_one_is_made(pair: tuple[OpenStore, OpenStore]) -> None:
    codes = at_once(
        pair[0],
        lambda: forking.create(pair[0].repo, "Case", lookup.find(pair[0].repo, "main"), now()),
        lambda: forking.create(pair[1].repo, "case", lookup.find(pair[1].repo, "main"), now()),
    )
    assert codes == ["", "branch_exists"]
    assert len(branches(pair[0])) == len(pair[0].repo.history.branches()) == 2
    assert pair[0].repo.ledger.open_intents() == []


def test_of_two_that_retire_or_delete_a_branch_one_does(pair: tuple[OpenStore, OpenStore]) -> None:
    one, other = pair[0].repo, pair[1].repo
    forking.create(one, "old", lookup.find(one, "main"), now())
    old = lookup.find(one, "old")
    codes = at_once(pair[0], *(partial(retiring.retire, r, old, now()) for r in (one, other)))
    assert codes == ["", "unknown_branch"]
    codes = at_once(pair[0], *(partial(retiring.revive, r, old, now()) for r in (one, other)))
    assert codes == ["", ""]
    assert lookup.find(other, "old").retired_tip is None
    old = lookup.find(one, "old")
    codes = at_once(
        pair[0], *(partial(deleting.delete, r, old, "main", now()) for r in (one, other))
    )
    assert codes == ["", "unknown_branch"]
    assert branches(pair[0]) == {"main"}


def test_the_name_of_a_retired_branch_is_taken_and_says_how_to_have_it_back(
    pair: tuple[OpenStore, OpenStore],
) -> None:
    store = pair[0]
    forking.create(store.repo, "old", lookup.find(store.repo, "main"), now())
    make = partial(call, store, "memory_branch_create", branch_name="OLD")
    refused(make, "branch_exists", "choose another name")
    retiring.retire(store.repo, lookup.find(store.repo, "old"), now())
    refused(make, "branch_exists", 'memory_branch_revive(branch_name="old") brings it back')


def test_a_bundle_that_two_take_at_once_is_taken_once(
    pair: tuple[OpenStore, OpenStore], tmp_path: Path
) -> None:
    lines = bundled(pair[0])
    with ExitStack() as both:
        folder = tmp_path / "far"
        far = [both.enter_context(opened(folder, create=True)) for _ in range(2)]
        codes = at_once(far[0], *(partial(bundles.take_bundle, h.repo, lines, now()) for h in far))
        assert codes == ["", ""]
        assert len(branches(far[0])) == 2


# Tasks


def test_who_joins_again_after_a_squash_gets_a_branch_that_takes_rows(
    pair: tuple[OpenStore, OpenStore],
) -> None:
    store = pair[0]
    task = call(store, "memory_task_create", name="Mend", objectives=[{"description": "find"}])
    asked = {"task_id": task["task_id"], "agent_id": "ada"}
    own = call(store, "memory_task_join", **asked, role="tester", assigned_objectives=[0])
    write(store, "It was the hinge.", branch=own["branch_name"])
    sides = {"source_branch": own["branch_name"], "target_branch": task["branch_name"]}
    call(store, "memory_branch_merge", **sides, **SQUASH)
    again = call(store, "memory_task_join", **asked)
    assert again["branch_name"] == "task/mend/ada-2"
    assert call(store, "memory_task_join", **asked)["branch_name"] == "task/mend/ada-2"
    assert again["objectives"][0]["assigned_to"] == ["ada"]
    write(store, "It was oiled.", branch=again["branch_name"])
    (agent,) = call(store, "memory_task_status", task_id=task["task_id"])["agents"]
    assert (agent["branch_name"], agent["role"]) == ("task/mend/ada-2", "tester")
    found = call(store, "memory_search_task", task_id=task["task_id"], query="hinge oiled")
    assert len(found["result"]) == 2


@pytest.mark.parametrize("priority", [True, 1.5, 2**53 + 1, 10**400, [], "x" * 256])
def test_a_priority_is_a_word_or_a_number_that_json_keeps(
    pair: tuple[OpenStore, OpenStore], priority: object
) -> None:
    aims = [{"description": "find", "priority": priority}]
    make = partial(call, pair[0], "memory_task_create", name="Mend", objectives=aims)
    refused(make, "invalid_request", "objectives.0.priority")
    assert branches(pair[0]) == {"main"}


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("memory_task_create", {"name": "x"}),
        ("memory_template_create", {"name": "x", "source_branch": "main"}),
        ("knowledge_bundle_create", {"name": "x", "source_branch": "main"}),
        ("memory_branch_enrich", {"branch_name": "main"}),
    ],
)
def test_tags_that_every_list_would_repeat_are_few(
    pair: tuple[OpenStore, OpenStore], tool: str, given: dict[str, str]
) -> None:
    tags = [str(number) for number in range(101)]
    refused(partial(call, pair[0], tool, **given, tags=tags), "invalid_request", "at most 100")
    call(pair[0], tool, **given, tags=tags[1:])


# What is kept


def bundled(store: OpenStore, branch: str = "main") -> list[bytes]:
    """A bundle of a branch, as the lines of a file."""
    made = call(store, "knowledge_bundle_create", name="Gate", source_branch=branch, only_verified=False)  # fmt: skip
    return list(bundles.export_bundle(store.repo, made["id"]))


def test_what_is_kept_is_never_offered_for_retirement(
    pair: tuple[OpenStore, OpenStore], tmp_path: Path
) -> None:
    store = pair[0]
    call(store, "memory_template_create", name="Start", source_branch="main")
    call(store, "memory_branch_create", branch_name="passing")
    call(store, "memory_branch_create", branch_name="squashed")
    write(store, "Aside.", branch="squashed")
    sides = {"source_branch": "squashed", "target_branch": "main"}
    call(store, "memory_branch_merge", **sides, **SQUASH)
    for name in branches(store) - {"main", "squashed"}:
        call(store, "memory_branch_enrich", branch_name=name, ttl_days=1)
    later = now() + 3 * DAY
    offered = {c.state.branch.name for c in retirable_branches(store.repo, "main", later)}
    assert offered == {"passing", "squashed"}
    with opened(tmp_path / "far", create=True) as far:
        bundles.take_bundle(far.repo, bundled(store), now())
        (own,) = branches(far) - {"main"}
        call(far, "memory_branch_enrich", branch_name=own, ttl_days=1)
        assert retirable_branches(far.repo, "main", later) == []


def test_a_bundle_is_taken_again_after_the_ledger_was_lost(
    pair: tuple[OpenStore, OpenStore], tmp_path: Path
) -> None:
    lines, folder = bundled(pair[0]), tmp_path / "far"
    with opened(folder, create=True) as far:
        made = bundles.take_bundle(far.repo, lines, now())
    (folder / "ledger.db").unlink()
    with opened(folder) as far:
        (lost,) = branches(far) - {"main"}
        assert bundles.take_bundle(far.repo, lines, now()).id == made.id
        assert branches(far) == {"main", lost, f"{lost}-2"}
        given = {"bundle_id": made.id, "target_branch": "main"}
        assert call(far, "knowledge_bundle_import", **given)["facts_imported"] == 1


def test_a_handoff_says_what_stays_other_on_the_target(pair: tuple[OpenStore, OpenStore]) -> None:
    store = pair[0]
    for name in ("from", "to"):
        call(store, "memory_branch_create", branch_name=name)
    write(store, "The key is red.", branch="from")
    sides = {"source_branch": "from", "target_branch": "to", "include_unverified": True}
    first = call(store, "memory_handoff_create", **sides)
    assert (first["copied"], first["written"]["notes"]) == (1, [])
    (fact,) = call(store, "memory_handoff_get", handoff_id=first["handoff_id"])["facts"]
    call(store, "memory_update_fact", fact_id=fact["id"], fact_text="The key is blue.", branch="to")
    second = call(store, "memory_handoff_create", **sides)
    assert (second["fact_count"], second["copied"]) == (1, 0)
    (note,) = second["written"]["notes"]
    assert note.startswith("1 memory is of other content on the target")
    with store.repo.store.reading(Ref(branch="to")) as reading:
        assert reading.get(FACT, [fact["id"]])[fact["id"]]["fact_text"] == "The key is blue."


# Killed on the way


class Killed(BaseException):
    """As a kill, nothing of the process's own code gets to see it."""


@pytest.mark.parametrize(
    ("point", "whole"),
    [("fork.after_intent", False), ("fork.after_engine", True), ("fork.after_ledger", True)],
)
def test_what_a_branch_is_made_for_is_there_with_it_or_not_at_all(
    folder: Path, point: str, whole: bool
) -> None:
    def kill(at: str) -> None:
        if at == point:
            raise Killed

    with opened(folder) as store:
        (task,) = store.repo.ledger.records(Task)
        store.repo = replace(store.repo, point=kill)
        aims = [{"description": "find"}, {"description": "mend"}]
        for tool, given in (
            ("memory_task_create", {"name": "Late", "objectives": aims}),
            ("memory_task_join", {"task_id": task.id, "agent_id": "bo", "role": "tester"}),
            ("memory_template_create", {"name": "Start", "source_branch": "main"}),
        ):
            with pytest.raises(Killed):
                call(store, tool, **given)
    with opened(folder) as store:
        ledger, late = store.repo.ledger, {"task/late", "task/mend/bo", "template/start/v1"}
        assert branches(store) & late == store.repo.history.branches().keys() & late
        assert branches(store) & late == (late if whole else set())
        assert [o.position for o in ledger.records(Objective)] == ([0, 1] if whole else [])
        roles = {agent.agent_id: agent.role for agent in ledger.records(TaskAgent)}
        assert roles == ({"ada": None, "bo": "tester"} if whole else {"ada": None})
        assert [t.version for t in ledger.records(Template)] == ([1] if whole else [])
        assert ledger.open_intents() == []


# A ledger of an older day1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store that nobody has open, with an agent's branch of a task."""
    folder = tmp_path / "older"
    with opened(folder, create=True) as store:
        task = call(store, "memory_task_create", name="Mend")
        call(store, "memory_task_join", task_id=task["task_id"], agent_id="ada")
    return folder


def older(folder: Path, *statements: str) -> None:
    """Make of a ledger what an older day1 would have left."""
    with closing(sqlite3.connect(folder / "ledger.db")) as ledger:
        for statement in (*statements, "PRAGMA user_version = 0"):
            ledger.execute(statement)
        ledger.commit()


def test_a_column_that_the_rows_of_an_older_ledger_lack_is_its_default(folder: Path) -> None:
    younger = ("tags", "closed", "archived", "ttl_days", "agent_id", "row_sum")
    older(folder, *(f"ALTER TABLE branches DROP COLUMN {name}" for name in younger))
    with opened(folder) as store:
        own = lookup.find(store.repo, "task/mend/ada")
        assert (own.tags, own.closed, own.archived, own.agent_id) == ((), False, False, None)
        assert own.owner == "ada"
        assert branches(store) == {"main", "task/mend", "task/mend/ada"}
        call(store, "memory_branch_enrich", branch_name=own.name, tags=["late"])
        assert lookup.find(store.repo, own.name).tags == ("late",)


def test_a_table_that_an_older_ledger_lacks_is_made(folder: Path) -> None:
    older(folder, "DROP TABLE tasks", "DROP TABLE task_agents")
    with opened(folder) as store:
        assert store.repo.ledger.records(TaskAgent) == []
        made = call(store, "memory_task_create", name="Mend")
        assert [task.id for task in store.repo.ledger.records(Task)] == [made["task_id"]]


def test_an_older_ledger_that_may_not_be_written_says_what_to_do(folder: Path) -> None:
    older(folder, "DROP TABLE tasks")
    with read_only(folder) as place:
        refused(lambda: open_and_close(place), "store_read_only", "older day1", "use the copy")
