"""Verification over MCP: one fact, many, the merge gate, with and without a chat model."""

import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.chat_server import (
    COMPLETION_TOKENS,
    MODEL,
    PROMPT_TOKENS,
    ChatServer,
    document,
    gullible,
    judgement,
    said,
)
from tests.fakes.injections import EVERY
from tests.wires.conftest import Fork, Write
from tests.wires.mcp_session import Session
from tests.wires.test_mcp_memory import ORIGIN

CLAIM = "The payment gateway of Acme times out after 30 seconds."
AGREES = "In staging the Acme payment gateway timed out after 30 seconds."
DENIES = "The payment gateway of Acme times out after 60 seconds."
KEY = "sk-wire-secret"
DIMENSIONS = ["accuracy", "relevance", "specificity"]
WORDS_ONLY = "keyword only: no embedding model; run `day1 model install`"


@pytest.fixture(scope="session")
def model() -> Iterator[ChatServer]:
    with ChatServer().serving() as server:
        yield server


@pytest.fixture(scope="session")
def _judged_by_chat(core: Session, model: ChatServer) -> Iterator[Session]:
    settings = {"URL": model.url, "MODEL": MODEL, "KEY": KEY, "TRIES": "1", "TIMEOUT_S": "2"}
    env = {f"DAY1_CHAT__{name}": value for name, value in settings.items()}
    with Session(core.folder, DAY1_JUDGE="auto", **env) as session:
        yield session


@pytest.fixture
def chat(_judged_by_chat: Session, model: ChatServer) -> Session:
    """Another server on the store of `core`, whose judge is the fake model, gullible as ever."""
    model.answer = gullible
    model.asked.clear()
    return _judged_by_chat


@pytest.fixture
def judges(core: Session, chat: Session) -> dict[str, Session]:
    return {"rules": core, f"chat:{MODEL}": chat}


def of(core: Session, branch: str, fact: str) -> dict[str, Any]:
    """A fact with every column that tools show."""
    diff = core.ok("memory_branch_diff", source_branch=branch, target_branch="empty")
    (found,) = [row for row in diff["new_facts"] if row["id"] == fact]
    return dict(found)


def commits(core: Session, branch: str) -> Any:
    return core.ok("memory_merge_preview", source_branch=branch, target_branch="empty")["read"]


# One fact


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
    edits = core.everything([branch])[branch]["edits"]
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


# A chat model


@pytest.mark.line("S1-077", "S1-078")
def test_a_chat_model_judges_and_its_tokens_are_counted(
    chat: Session, model: ChatServer, branch: str, write: Write
) -> None:
    fact = write(branch, CLAIM, agent_id="ada")
    write(branch, AGREES, agent_id="bo")
    answer = chat.ok("verify_fact", fact_id=fact, branch=branch)
    assert (answer["verdict"], answer["judge"]) == ("verified", f"chat:{MODEL}")
    assert answer["tokens"] == {"prompt": PROMPT_TOKENS, "completion": COMPLETION_TOKENS}
    (asked,) = model.asked
    data = document(asked)
    assert data["claim"]["text"] == CLAIM
    assert [(one["text"], one["seems_to"]) for one in data["evidence"]] == [(AGREES, "support")]
    assert data["dimensions"] == DIMENSIONS
    assert "ada" not in json.dumps(data)
    model.answer = lambda asked: judgement(asked, 0.9, "put in other words")
    again = chat.ok("verify_fact", fact_id=fact, branch=branch)
    assert again["written"]["commit"] == answer["written"]["commit"], "nothing new but words"
    model.answer = lambda asked: judgement(asked, 0.29, verdict="verified")
    assert chat.ok("verify_fact", fact_id=fact, branch=branch)["verdict"] == "invalidated"


@pytest.mark.parametrize(
    "answer",
    [
        lambda asked: (500, {}, json.dumps(asked).encode()),
        lambda asked: (401, {}, b""),
        lambda asked: (200, {}, b"<html>"),
        lambda asked: (200, {}, b" " * 2_000_000),
        lambda asked: said("I verify this."),
        lambda asked: judgement(asked, 7),
        lambda asked: judgement(asked, float("nan")),
        lambda asked: said({"verdict": "verified", "scores": {}, "reason": "so"}),
        lambda asked: (time.sleep(3), (200, {}, b""))[1],
    ],
    ids=["500", "401", "html", "huge", "chatter", "seven", "nan", "other schema", "timeout"],
)
@pytest.mark.line("S1-077")
def test_a_model_that_fails_is_stood_in_for_by_rules_and_nothing_leaks(
    chat: Session, model: ChatServer, branch: str, write: Write, answer: Any
) -> None:
    model.answer = answer
    fact = write(branch, CLAIM, agent_id="ada")
    write(branch, AGREES, agent_id="bo")
    got = chat.ok("verify_fact", fact_id=fact, branch=branch)
    assert (got["verdict"], got["judge"]) == ("verified", "rules")
    assert got["tokens"] == {"prompt": 0, "completion": 0}
    (note,) = [note for note in got["written"]["notes"] if note != WORDS_ONLY]
    assert note.startswith("judged by rules: The chat model")
    log = chat.log.read_text(encoding="utf-8")
    for text in (note, log):
        assert KEY not in text
        assert "payment" not in text


def test_a_fact_whose_text_changes_while_it_is_judged_is_not_written(
    core: Session, chat: Session, model: ChatServer, branch: str, write: Write
) -> None:
    fact, other = write(branch, CLAIM), write(branch, "Acme is in Graz.")

    def change(asked: dict[str, Any]) -> Any:
        if document(asked)["claim"]["text"] == CLAIM:
            core.ok("memory_update_fact", fact_id=fact, fact_text=DENIES, branch=branch)
        return judgement(asked, 0.9)

    model.answer = change
    answer = chat.call("verify_fact", {"fact_id": fact, "branch": branch})
    assert answer.structured["error"]["code"] == "conflict"
    assert of(core, branch, fact)["verification"] == "unverified"
    core.ok("memory_update_fact", fact_id=fact, fact_text=CLAIM, branch=branch)
    batch = chat.ok("verify_batch", branch_name=branch)
    assert [batch[k] for k in ("total_processed", "verified", "errors", "remaining")] == [
        2,
        1,
        1,
        1,
    ]
    assert of(core, branch, other)["verification"] == "verified"
    assert of(core, branch, fact)["scores"] is None


def test_a_verdict_that_was_there_is_held_against_the_fact_as_it_is_by_now(
    core: Session, chat: Session, model: ChatServer, branch: str, write: Write
) -> None:
    fact = write(branch, CLAIM)
    model.answer = lambda asked: judgement(asked, 0.9)
    chat.ok("verify_fact", fact_id=fact, branch=branch)

    def doubt(asked: dict[str, Any]) -> Any:
        core.ok("verify_fact", fact_id=fact, branch=branch, verdict="invalidated")
        return judgement(asked, 0.9)

    model.answer = doubt
    assert chat.ok("verify_fact", fact_id=fact, branch=branch)["verdict"] == "verified"
    assert of(core, branch, fact)["verification"] == "verified", "what is answered is what is kept"

    def change(asked: dict[str, Any]) -> Any:
        core.ok("memory_update_fact", fact_id=fact, fact_text=DENIES, branch=branch)
        return judgement(asked, 0.9)

    model.answer = change
    answer = chat.call("verify_fact", {"fact_id": fact, "branch": branch})
    assert answer.structured["error"]["code"] == "conflict"


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.line("S1-077", "S1-079")
def test_an_order_in_a_fact_or_its_evidence_changes_no_verdict(
    judges: dict[str, Session], fork: Fork, write: Write, name: str
) -> None:
    order = EVERY[name]
    for evidence, verdict in ((None, "unverified"), (AGREES, "verified"), (DENIES, "invalidated")):
        for claim, said_of_it in ((f"{CLAIM} {order}", evidence), (CLAIM, f"{evidence} {order}")):
            branch = fork()
            fact = write(branch, claim, agent_id="ada")
            if evidence is not None:
                write(branch, str(said_of_it), agent_id="bo")
            for judge, session in judges.items():
                answer = session.ok("verify_fact", fact_id=fact, branch=branch, context=order)
                assert (answer["judge"], answer["verdict"]) == (judge, verdict), name


# Many facts


@pytest.mark.line("S1-079")
def test_verify_batch_takes_the_seeds_arguments(core: Session) -> None:
    assert core.takes("verify_batch") == {
        "branch_name": "string|null = null",
        "limit": "integer|null 1..500 = 50",
        "only_unverified": "boolean|null = true",
        **ORIGIN,
    }
    for limit in (0, 501):
        core.refused("verify_batch", "invalid_request", branch_name="empty", limit=limit)


@pytest.mark.line("S1-079")
def test_a_batch_counts_its_verdicts_in_units_of_sixteen(
    core: Session, branch: str, write: Write
) -> None:
    for number in range(20):
        write(branch, f"Room {number} of Acme has {number + 40} chairs.", agent_id="ada")
        write(branch, f"Room {number} of Acme has {number + 40} chairs.", agent_id="bo")
    lone = write(branch, "Bananas ripen.", agent_id="ada")
    retired = write(branch, "Room 99 is shut.", agent_id="ada")
    core.ok("memory_supersede_fact", fact_id=retired, fact_text="Doors ajar.", branch=branch)
    answer = core.ok("verify_batch", branch_name=branch, limit=None, only_unverified=None)
    counts = [answer[k] for k in ("total_processed", "verified", "invalidated", "unverified")]
    assert counts == [42, 40, 0, 2]
    assert [answer[k] for k in ("errors", "remaining", "stopped")] == [0, 0, False]
    assert (answer["judge"], answer["written"]["branch"]) == ("rules", branch)
    assert of(core, branch, lone)["scores"]["judge"] == "rules"
    assert of(core, branch, retired)["scores"] is None
    edits = core.everything([branch])[branch]["edits"]
    times = [e["created_at"] for e in edits if e["cell"] == "verification"]
    assert sorted(times.count(at) for at in set(times)) == [10, 16, 16]
    again = core.ok("verify_batch", branch_name=branch)
    assert [again["total_processed"], again["written"]["commit"]] == [
        2,
        answer["written"]["commit"],
    ]
    every = core.ok("verify_batch", branch_name=branch, only_unverified=False)
    assert [every["total_processed"], every["verified"]] == [42, 40]
    assert every["written"]["commit"] == answer["written"]["commit"]


@pytest.mark.line("S1-079")
def test_the_newest_come_first_and_those_that_nobody_judged_before_all(
    core: Session, branch: str, write: Write
) -> None:
    facts = [write(branch, f"{name} went to Graz.") for name in ("Ada", "Bo", "Cy", "Di", "Ed")]

    def seen() -> list[bool]:
        rows = core.everything([branch])[branch]["facts"]
        unseen = {row["id"] for row in rows if row["scores"] is None}
        return [fact not in unseen for fact in facts]

    first = core.ok("verify_batch", branch_name=branch, limit=2)
    assert (first["remaining"], seen()) == (3, [False] * 3 + [True] * 2)
    second = core.ok("verify_batch", branch_name=branch, limit=2)
    assert second["total_processed"] == 2
    assert seen() == [False] + [True] * 4
    third = core.ok("verify_batch", branch_name=branch, limit=2)
    assert (third["total_processed"], third["remaining"], seen()) == (2, 0, [True] * 5)


@pytest.mark.line("S1-079")
def test_a_model_that_fails_once_is_not_asked_again_in_a_batch(
    chat: Session, model: ChatServer, branch: str, write: Write
) -> None:
    for number in range(4):
        write(branch, f"Acme has {number} doors.")
    model.answer = lambda asked: gullible(asked) if len(model.asked) == 1 else (500, {}, b"")
    answer = chat.ok("verify_batch", branch_name=branch)
    assert answer["total_processed"] == 4
    assert answer["judge"] == f"chat:{MODEL}, rules"
    assert answer["tokens"] == {"prompt": PROMPT_TOKENS, "completion": COMPLETION_TOKENS}
    assert len(model.asked) == 2
    assert len([n for n in answer["written"]["notes"] if n.startswith("judged by rules")]) == 1


class Slow:
    """A model that takes its time, so that a batch can be watched and stopped."""

    def __init__(self, core: Session, model: ChatServer, branch: str) -> None:
        self._core, self._branch = core, branch
        self.told: list[tuple[float, float | None]] = []
        self.reached = threading.Event()
        model.answer = self.answer

    def answer(self, asked: dict[str, Any]) -> Any:
        time.sleep(0.02)
        return judgement(asked, 0.9)

    def tell(self, done: float, total: float | None) -> None:
        self.told.append((done, total))
        if done >= 20:
            self.reached.set()

    def written(self) -> int:
        rows = self._core.everything([self._branch])[self._branch]["facts"]
        return sum(row["verification"] == "verified" for row in rows)

    def settled(self) -> int:
        """How many verdicts there are once no more come."""
        before = -1
        while before != (now := self.written()):
            before = now
            time.sleep(0.5)
        return now


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.line("S1-079")
def test_a_batch_reports_progress_and_can_be_stopped(
    core: Session, model: ChatServer, branch: str, write: Write, mode: str
) -> None:
    for number in range(60):
        write(branch, f"Acme has {number} doors.")
    env = {"DAY1_CHAT__URL": model.url, "DAY1_CHAT__MODEL": MODEL}
    with Session(core.folder, mode=mode, **env) as session:
        slow = Slow(core, model, branch)
        call = session.begin("verify_batch", slow.tell, branch_name=branch, limit=60)
        assert slow.reached.wait(30)
        call.cancel()
        with suppress(CancelledError, Exception):
            call.result(10)
        stopped_at = slow.settled()
        assert 16 <= stopped_at < 60
        asked = len(model.asked)
        time.sleep(0.3)
        assert len(model.asked) == asked
        assert stopped_at >= slow.told[-1][0], "what was judged is kept, to the last one told"
        rest = session.ok("verify_batch", branch_name=branch, limit=60)
        assert rest["total_processed"] == 60 - stopped_at
        assert slow.told[:20] == [(n, 60) for n in range(1, 21)]


@pytest.mark.line("S1-079")
def test_a_client_that_leaves_stops_its_batch(
    core: Session, model: ChatServer, branch: str, write: Write
) -> None:
    for number in range(60):
        write(branch, f"Acme has {number} doors.")
    env = {"DAY1_CHAT__URL": model.url, "DAY1_CHAT__MODEL": MODEL}
    with Session(core.folder, **env) as session:
        slow = Slow(core, model, branch)
        session.begin("verify_batch", slow.tell, branch_name=branch, limit=60)
        assert slow.reached.wait(30)
    assert slow.told[-1][0] <= slow.settled() < 60


# The merge gate


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
def test_of_two_verdicts_that_clash_the_worse_one_counts(
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


# Settings


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"DAY1_JUDGE": "chat"}, "DAY1_JUDGE=chat needs DAY1_CHAT__URL"),
        ({"DAY1_CHAT__URL": "http://127.0.0.1:1/v1"}, "needs DAY1_CHAT__URL and DAY1_CHAT__MODEL"),
        ({"DAY1_CHAT__URL": "ftp://h", "DAY1_CHAT__MODEL": "m"}, "https://host/v1"),
    ],
)
def test_half_a_chat_model_is_said_at_the_start(
    tmp_path: Path, settings: dict[str, str], named: str
) -> None:
    session = Session(tmp_path / "store", **settings)
    with pytest.raises(Exception), session:  # noqa: B017 - the client's, whatever it is
        pass
    assert named in session.log.read_text(encoding="utf-8")


def test_rules_judge_where_they_are_asked_for(tmp_path: Path, model: ChatServer) -> None:
    env = {"DAY1_CHAT__URL": model.url, "DAY1_CHAT__MODEL": MODEL, "DAY1_JUDGE": "rules"}
    model.asked.clear()
    with Session(tmp_path / "store", **env) as session:
        fact = session.ok("memory_write_fact", fact_text=CLAIM)["id"]
        assert session.ok("verify_fact", fact_id=fact)["judge"] == "rules"
    assert model.asked == []
