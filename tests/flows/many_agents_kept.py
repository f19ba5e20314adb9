"""What a store must hold after many agents: all that was acknowledged, once, and nothing half made."""

from collections.abc import Iterable

from day1.interfaces.open_store import OpenStore
from day1.model.records.merge_record import MergeRecord
from day1.model.records.task import TaskAgent
from day1.model.rows.change import Query, Ref
from day1.model.rows.kind import FACT
from day1.services.health.doctor import StoreLocation, check
from tests.flows.kill_scenarios import check_ledger
from tests.flows.many_agents import Done, Team

_OF_SIZE = {"refs", "space"}
"""Doctor's advice about a store of many branches, which nobody has compacted."""


def check_all(store: OpenStore, team: Team) -> None:
    """Read whatever was acknowledged, and look for what nobody was told of."""
    repo = store.repo
    repo.ledger.recover_orphans()
    assert repo.ledger.open_intents() == []
    _check_branches(store, team.done)
    _check_facts(store, team)
    _check_merges(store, team.done)
    check_ledger(store)
    place = StoreLocation(0, 1 << 40, read_only=False, chroma=False)
    findings = [f for f in check(repo, store.search, place) if f.level != "ok"]
    assert {finding.name for finding in findings} <= _OF_SIZE, findings


def _check_branches(store: OpenStore, done: Iterable[Done]) -> None:
    """Each branch has a ref and a record, and each agent has one branch."""
    repo = store.repo
    acknowledged = {each.branch for each in done}
    recorded = {branch.name: branch.id for branch in repo.ledger.branches()}
    assert recorded.keys() == repo.history.branches().keys()
    members = {member.agent_id: member.branch_id for member in repo.ledger.records(TaskAgent)}
    assert members == {each.agent: recorded[each.branch] for each in done}
    tasks = {each.task.branch for each in done}
    assert recorded.keys() == {"main"} | tasks | acknowledged


def _check_facts(store: OpenStore, team: Team) -> None:
    """Each fact is once on its agent's branch and once on its task's, with its text."""
    for done in team.done:
        own = {i: text for i, text in facts_on(store, done.branch) if f" {done.agent} " in text}
        assert own == done.facts, done
    for task in team.tasks:
        told: dict[str, str] = {}
        for done in team.done:
            told |= done.facts if done.task == task else {}
        rows = facts_on(store, task.branch)
        assert dict(rows) == told, task
        assert len(rows) == len(told) == len(set(told.values())), task


def facts_on(store: OpenStore, branch: str) -> list[tuple[str, str]]:
    """The facts of a branch: ids and texts."""
    with store.repo.store.reading(Ref(branch=branch)) as reading:
        rows = reading.scan(FACT, ("id", "fact_text"), Query())
    return [(str(row_id), str(text)) for row_id, text in rows]


def _check_merges(store: OpenStore, done: Iterable[Done]) -> None:
    """Each merge has one record, by the id that was acknowledged."""
    records = store.repo.ledger.records(MergeRecord)
    branch_ids = {branch.name: branch.id for branch in store.repo.ledger.branches()}
    merged = {(each.merge, branch_ids[each.branch]) for each in done}
    assert {(record.id, record.source_id) for record in records} == merged
    assert len(records) == len(merged)
    assert all(record.commit for record in records)
