"""The merge gate over MCP: whether all that a branch would bring is verified."""

from typing import Any

import pytest

from tests.wires.conftest import Fork, Write
from tests.wires.judged_facts import CLAIM, DENIES
from tests.wires.mcp_session import Session


def gated(core: Session, source: str, target: str, **more: Any) -> dict[str, Any]:
    return core.ok("verify_merge_gate", source_branch=source, target_branch=target, **more)


@pytest.mark.line("S1-080")
def test_the_gate_takes_the_seeds_arguments(core: Session, fork: Fork) -> None:
    assert core.takes("verify_merge_gate") == {
        "source_branch": "string!",
        "require_verified": "boolean|null = true",
        "target_branch": "string|null = \"main\"",
    }  # fmt: skip
    branch = fork()
    answer = core.ok("verify_merge_gate", source_branch=branch)
    assert answer["can_merge"] is True
    assert answer["read"]["notes"] == ["The branch adds or changes no active fact."]
    core.refused("verify_merge_gate", "unknown_branch", source_branch="nowhere")
    core.refused("verify_merge_gate", "refused", source_branch="main")


@pytest.mark.line("S1-080")
def test_only_verified_facts_pass_and_an_invalidated_one_never(
    core: Session, fork: Fork, write: Write
) -> None:
    target = fork()
    write(target, "Acme is in Graz.")  # nobody judged it, and the source does not touch it
    source = fork(target)
    facts = [write(source, f"Acme has {number} doors.") for number in range(3)]
    superseded = write(source, "Acme had no doors.")
    core.ok("memory_supersede_fact", fact_id=superseded, fact_text="Acme has doors.", branch=source)

    def judge(verdict: str, *some: str) -> None:
        for fact in some:
            core.ok("verify_fact", fact_id=fact, branch=source, verdict=verdict)

    seen = gated(core, source, target)
    assert [seen[k] for k in ("can_merge", "verified", "unverified", "invalidated")] == [
        *(False, 0, 4, 0),
    ]
    assert seen["reasons"] == ["4 unverified: verify_batch judges them"]
    assert set(facts) < set(seen["facts"])
    assert superseded not in seen["facts"]
    assert (seen["read"]["branch"], seen["read"]["notes"]) == (source, [])
    assert gated(core, source, target, require_verified=False)["can_merge"] is True

    judge("verified", *seen["facts"])
    seen = gated(core, source, target)
    assert [seen[k] for k in ("can_merge", "verified", "reasons")] == [True, 4, []]

    judge("invalidated", facts[1])
    for need in (True, False, None):
        seen = gated(core, source, target, require_verified=need)
        assert [seen[k] for k in ("can_merge", "verified", "invalidated")] == [False, 3, 1]
        assert seen["facts"] == [facts[1]]
        assert seen["reasons"] == ["1 invalidated: retract or correct them"]
    core.ok("memory_retract_fact", fact_id=facts[1], branch=source)
    assert gated(core, source, target)["can_merge"] is True


@pytest.mark.line("S1-080")
def test_the_gate_looks_at_what_the_merge_would_make(
    core: Session, fork: Fork, write: Write
) -> None:
    target = fork()
    fact = write(target, CLAIM)
    source = fork(target)
    core.ok("verify_fact", fact_id=fact, branch=source, verdict="verified")
    assert gated(core, source, target)["can_merge"] is True
    core.ok("memory_update_fact", fact_id=fact, fact_text=DENIES, branch=target)
    assert gated(core, source, target)["can_merge"] is True, "a merge would bring nothing"
    core.ok("memory_update_fact", fact_id=fact, category="ops", branch=source)
    seen = gated(core, source, target)
    assert [seen[k] for k in ("can_merge", "unverified")] == [False, 1], "another text, no verdict"


@pytest.mark.line("S1-080")
def test_of_two_verdicts_in_conflict_the_worse_one_counts(
    core: Session, fork: Fork, write: Write
) -> None:
    target = fork()
    fact = write(target, CLAIM)
    source = fork(target)
    core.ok("verify_fact", fact_id=fact, branch=source, verdict="invalidated")
    core.ok("verify_fact", fact_id=fact, branch=target, verdict="verified")
    seen = gated(core, source, target, require_verified=False)
    assert [seen[k] for k in ("can_merge", "verified", "invalidated")] == [False, 0, 1]
    assert seen["facts"] == [fact]
    assert seen["read"]["notes"] == ["Rows that clash and would be held: 1."]


@pytest.mark.line("S1-080")
def test_no_more_than_fifty_ids_are_listed(core: Session, fork: Fork, write: Write) -> None:
    source, target = fork(), fork()
    for number in range(51):
        write(source, f"Acme has {number} doors.")
    seen = gated(core, source, target)
    assert (seen["unverified"], len(seen["facts"])) == (51, 50)
