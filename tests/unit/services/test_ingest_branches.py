"""On which branch the rows of a session land: the configured one, a fork's, or the agent's own."""

from dataclasses import replace
from typing import Any

import pytest

from day1.formats.events import line_of
from day1.model.branches.branch import MAIN
from day1.model.files.client_event import fork_id, read_event
from day1.services.branches import retiring
from day1.services.ingest.session_branches import branch_of
from tests.unit.services.conftest import Bench
from tests.unit.services.ingested import event, ingest, rows, texts


def close(bench: Bench, name: str) -> None:
    bench.repo.ledger.put_branch(replace(bench.branch(name), closed=True))


def protect(bench: Bench, name: str) -> None:
    bench.repo.ledger.put_branch(replace(bench.branch(name), protection=("approval",)))


def retire(bench: Bench, name: str) -> None:
    retiring.retire(bench.repo, bench.branch(name), bench.now)


def drop_ref(bench: Bench, name: str) -> None:
    bench.repo.history.drop(name)


@pytest.mark.parametrize(
    ("prepare", "parent"),
    [(close, "side"), (protect, "side"), (retire, MAIN), (drop_ref, MAIN)],
    ids=["closed", "protected", "retired", "lost"],
)
def test_a_branch_that_takes_no_rows_is_replaced_by_one_of_the_agent(
    bench: Bench, prepare: Any, parent: str
) -> None:
    bench.fork("side")
    prepare(bench, "side")
    parent_id = next(b.id for b in bench.repo.ledger.branches() if b.name == parent)
    ingest(bench, event(text="One.", branch="side", turn="1"))
    ingest(bench, event(text="Two.", branch="side", turn="2"))
    assert [text for _, text in texts(bench, "agent/ada")] == ["One.", "Two."]
    own = bench.branch("agent/ada")
    assert (own.parent_id, own.agent_id) == (parent_id, "ada")
    assert rows(bench) == []


def test_rows_land_on_the_configured_branch(bench: Bench) -> None:
    bench.fork("side")
    ingest(bench, event(text="One.", branch="side"), event(text="Two.", turn="2"))
    assert [text for _, text in texts(bench, "side")] == ["One."]
    assert [text for _, text in texts(bench)] == ["Two."]


def test_each_agent_has_its_own_branch_and_a_closed_one_is_followed_by_another(
    bench: Bench,
) -> None:
    protect(bench, MAIN)
    ingest(
        bench, event(text="One.", turn="1"), event(text="Two.", turn="2", agent="bo", session="s2")
    )
    assert {b.name for b in bench.repo.ledger.branches()} == {MAIN, "agent/ada", "agent/bo"}
    close(bench, "agent/ada")
    ingest(bench, event(text="Three.", turn="3"))
    names = {b.name for b in bench.repo.ledger.branches() if b.agent_id == "ada"}
    assert len(names) == 2
    (other,) = names - {"agent/ada"}
    assert [text for _, text in texts(bench, other)] == ["Three."]


def test_a_forked_session_writes_to_a_branch_of_its_own_made_once(bench: Bench) -> None:
    bench.add("fact_a", "a")
    fork = event("session-start", source="fork", session="s2", parent="s1")
    ingest(bench, fork, fork, event(text="On the fork.", session="s2"), event(text="On main."))
    branch = bench.repo.ledger.record(type(bench.branch()), fork_id("s2"))
    assert branch is not None
    assert branch.name.startswith("fork/ada-s2")
    assert bench.facts(branch.name) == {"fact_a"}, "it has what was pending on its parent"
    assert [text for _, text in texts(bench, branch.name)] == ["On the fork."]
    assert [text for _, text in texts(bench)] == ["On main."]
    close(bench, branch.name)
    assert branch_of(bench.repo, read_event(line_of(event(session="s2", text="x")))).name == MAIN


@pytest.mark.parametrize(("lost", "is_below"), [(False, True), (True, False)])
def test_a_fork_of_a_forked_session_is_below_that_one_if_it_is_there(
    bench: Bench, lost: bool, is_below: bool
) -> None:
    ingest(bench, event("session-start", source="fork", session="s2", parent="s1"))
    if lost:
        drop_ref(bench, next(b.name for b in bench.repo.ledger.branches() if b.id == fork_id("s2")))
    ingest(bench, event("session-start", source="fork", session="s3", parent="s2"))
    child = bench.repo.ledger.record(type(bench.branch()), fork_id("s3"))
    assert child is not None
    assert (child.parent_id == fork_id("s2")) == is_below
    assert is_below or child.parent_id == bench.branch().id


def test_a_session_that_only_starts_makes_no_branch(bench: Bench) -> None:
    ingest(bench, event("session-start", source="startup"))
    assert [b.name for b in bench.repo.ledger.branches()] == [MAIN]
