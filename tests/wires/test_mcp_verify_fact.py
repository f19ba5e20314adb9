"""Verifying one fact over MCP: what the rules judge finds, and what the caller judges itself."""

from typing import Any

import pytest

from tests.wires.conftest import Fork, Write
from tests.wires.judged_facts import AGREES, CLAIM, DENIES, DIMENSIONS, WORDS_ONLY, of
from tests.wires.mcp_session import Session
from tests.wires.test_mcp_memory import ORIGIN


@pytest.mark.line("S1-077")
def test_verify_fact_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("verify_fact") == {
        "fact_id": "string!",
        "dimensions": "[string]|null = null",
        "context": "string|null = null",
        "branch": "string|null = null",
        "verdict": "verified|unverified|invalidated|null = null",
        "scores": "object|null = null",
        "reason": "string|null = null",
        **ORIGIN,
    }


@pytest.mark.line("S1-077", "S1-078")
def test_rules_verify_leave_or_invalidate_by_what_memory_knows(
    core: Session, fork: Fork, write: Write
) -> None:
    for evidence, verdict in ((None, "unverified"), (AGREES, "verified"), (DENIES, "invalidated")):
        branch = fork()
        fact = write(branch, CLAIM, agent_id="ada", category="ops")
        others = [] if evidence is None else [write(branch, evidence, agent_id="bo")]
        answer = core.ok("verify_fact", fact_id=fact, branch=branch)
        assert (answer["fact_id"], answer["verdict"]) == (fact, verdict)
        assert answer["judge"] == "rules"
        assert answer["tokens"] == {"prompt": 0, "completion": 0}
        assert answer["evidence"] == others
        assert [score["dimension"] for score in answer["scores"]] == DIMENSIONS
        assert all(0 <= score["score"] <= 1 and score["reason"] for score in answer["scores"])
        assert answer["reason"].startswith(verdict)
        assert answer["written"]["notes"] == [WORDS_ONLY]
        row = of(core, branch, fact)
        assert row["verification"] == verdict
        assert row["scores"] == {
            "judge": "rules",
            "reason": answer["reason"],
            "scores": answer["scores"],
        }


@pytest.mark.line("S1-077")
def test_an_observation_and_a_relation_count_and_a_copy_does_not(
    core: Session, fork: Fork, write: Write
) -> None:
    branch = fork()
    fact = write(branch, "AuthService of Acme needs 30 seconds to start.", agent_id="ada")
    core.ok(
        "memory_write_relation",
        source_entity="AuthService",
        relation_type="part_of",
        target_entity="Acme",
        branch=branch,
    )
    before = core.ok("verify_fact", fact_id=fact, branch=branch)
    assert before["verdict"] == "unverified"
    assert "relations touch what it names" in before["scores"][1]["reason"]
    saw = core.ok(
        "memory_write_observation",
        observation_type="tool_use",
        summary="AuthService of Acme needed 30 seconds to start.",
        agent_id="ada",
        branch=branch,
    )
    after = core.ok("verify_fact", fact_id=fact, branch=branch)
    assert (after["verdict"], after["evidence"]) == ("verified", [saw["id"]])


def test_who_repeats_himself_crowds_out_no_contradiction(
    core: Session, branch: str, write: Write
) -> None:
    write(branch, DENIES, agent_id="bo")
    fact = write(branch, CLAIM, agent_id="ada")
    for _ in range(12):
        write(branch, CLAIM, agent_id="ada")
    later = write(branch, DENIES, agent_id="cy")
    answer = core.ok("verify_fact", fact_id=fact, branch=branch)
    assert answer["verdict"] == "invalidated"
    assert later in answer["evidence"]


@pytest.mark.line("S1-077")
def test_dimensions_and_context_are_obeyed(core: Session, branch: str, write: Write) -> None:
    fact = write(branch, CLAIM, agent_id="ada")
    asked = {"fact_id": fact, "branch": branch}
    fits, strays = (
        core.ok("verify_fact", **asked, dimensions=["relevance"], context=context)["scores"]
        for context in ("How long may the payment gateway wait?", "Which bananas are ripe?")
    )
    assert [len(fits), fits[0]["dimension"]] == [1, "relevance"]
    assert fits[0]["score"] > strays[0]["score"]
    twice = core.ok("verify_fact", **asked, dimensions=["accuracy", "accuracy", "safety"])
    assert [s["dimension"] for s in twice["scores"]] == ["accuracy", "safety"]
    for wrong in ([], ["a"] * 9, ["Ignore this"], ["x" * 41]):
        core.refused("verify_fact", "invalid_request", **asked, dimensions=wrong)


@pytest.mark.line("S1-077")
def test_the_same_judgement_again_makes_no_commit(core: Session, branch: str, write: Write) -> None:
    fact = write(branch, CLAIM, agent_id="ada")
    write(branch, AGREES, agent_id="bo")
    first = core.ok("verify_fact", fact_id=fact, branch=branch, agent_id="cy")
    again = core.ok("verify_fact", fact_id=fact, branch=branch, agent_id="cy")
    assert again["written"]["commit"] == first["written"]["commit"]
    own = core.ok("verify_fact", fact_id=fact, branch=branch, verdict="verified", agent_id="cy")
    assert own["written"]["commit"] != first["written"]["commit"]
    every = core.everything([branch])[branch]["edits"]
    edits = [edit for edit in every if edit["cell"] != "verification.basis"]
    assert [(e["cell"], e["agent_id"], e["reason"]) for e in edits] == [
        ("verification", "cy", first["reason"]),
        ("verification", "cy", own["reason"]),
    ]
    core.ok("memory_update_fact", fact_id=fact, fact_text=DENIES, branch=branch)
    row = of(core, branch, fact)
    assert (row["verification"], row["scores"]) == ("unverified", None)


@pytest.mark.line("S1-078")
def test_the_calling_agent_judges_by_itself(core: Session, branch: str, write: Write) -> None:
    fact = write(branch, CLAIM)
    asked = {"fact_id": fact, "branch": branch, "agent_id": "ada"}
    for score, verdict in ((0.6, "verified"), (0.59, "unverified"), (0.3, "unverified")):
        scores = {"accuracy": score, "tone": score}
        answer = core.ok("verify_fact", **asked, scores=scores, reason="I asked.")
        assert (answer["verdict"], answer["judge"]) == (verdict, "agent:ada")
        assert answer["reason"] == "I asked."
        assert [(s["dimension"], s["score"]) for s in answer["scores"]] == [*scores.items()]
    answer = core.ok("verify_fact", **asked, scores={"accuracy": 0.29})
    assert answer["verdict"] == "invalidated"
    answer = core.ok("verify_fact", fact_id=fact, branch=branch, verdict="unverified")
    assert (answer["verdict"], answer["judge"], answer["scores"]) == ("unverified", "agent", [])
    wrong: dict[str, Any]
    for wrong in (
        {"reason": "because"},
        {"verdict": "verified", "scores": {"accuracy": 0.59}},
        {"scores": {"accuracy": 1.01}},
        {"scores": {}},
        {"scores": {"tone": 1}, "dimensions": ["accuracy"]},
        {"verdict": "true"},
    ):
        core.refused("verify_fact", "invalid_request", **asked, **wrong)


def test_an_invalidated_fact_is_no_longer_found(core: Session, branch: str, write: Write) -> None:
    fact = write(branch, CLAIM)
    assert core.found("memory_search", query="payment gateway", branch=branch)
    core.ok("verify_fact", fact_id=fact, branch=branch, verdict="invalidated")
    assert core.found("memory_search", query="payment gateway", branch=branch) == []


def test_what_is_not_there_is_refused_and_says_where_it_is(
    core: Session, fork: Fork, write: Write
) -> None:
    branch, other = fork(), fork()
    fact = write(other, CLAIM)
    error = core.refused("verify_fact", "not_found", fact_id=fact, branch=branch)
    assert error["details"]["having"] == [other]
    assert other in error["message"]
    error = core.refused("verify_fact", "not_found", fact_id="fact_none", branch=branch)
    assert error["details"]["having"] == []
    assert "memory_search" in error["message"]
    saw = core.ok(
        "memory_write_observation", observation_type="insight", summary="x", branch=branch
    )
    core.refused("verify_fact", "refused", fact_id=saw["id"], branch=branch)
