"""Verifying over MCP with a chat model: what it is asked, when it fails, and orders in a text."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.chat_server import (
    COMPLETION_TOKENS,
    MODEL,
    PROMPT_TOKENS,
    ChatServer,
    document,
    judgement,
    said,
)
from tests.fakes.injections import EVERY
from tests.sampling import sampled
from tests.wires.conftest import Fork, Write
from tests.wires.judged_facts import AGREES, CLAIM, DENIES, DIMENSIONS, KEY, WORDS_ONLY, of
from tests.wires.mcp_session import Session


@pytest.fixture
def judges(core: Session, chat: Session) -> dict[str, Session]:
    return {"rules": core, f"chat:{MODEL}": chat}


# A chat model


@pytest.mark.line("S1-077", "S1-078")
def test_a_chat_model_judges_and_its_tokens_are_counted(
    chat: Session, chat_model: ChatServer, branch: str, write: Write
) -> None:
    fact = write(branch, CLAIM, agent_id="ada")
    write(branch, AGREES, agent_id="bo")
    answer = chat.ok("verify_fact", fact_id=fact, branch=branch)
    assert (answer["verdict"], answer["judge"]) == ("verified", f"chat:{MODEL}")
    assert answer["tokens"] == {"prompt": PROMPT_TOKENS, "completion": COMPLETION_TOKENS}
    (asked,) = chat_model.asked
    data = document(asked)
    assert data["claim"]["text"] == CLAIM
    assert [(one["text"], one["seems_to"]) for one in data["evidence"]] == [(AGREES, "support")]
    assert data["dimensions"] == DIMENSIONS
    assert "ada" not in json.dumps(data)
    chat_model.answer = lambda asked: judgement(asked, 0.9, "put in other words")
    again = chat.ok("verify_fact", fact_id=fact, branch=branch)
    assert again["written"]["commit"] == answer["written"]["commit"], "nothing new but words"
    chat_model.answer = lambda asked: judgement(asked, 0.29, verdict="verified")
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
        lambda asked: (time.sleep(3), (200, {}, b""))[1],  # longer than DAY1_CHAT__TIMEOUT_S
    ],
    ids=["500", "401", "html", "huge", "chatter", "seven", "nan", "other schema", "timeout"],
)
@pytest.mark.line("S1-077")
def test_a_model_that_fails_is_stood_in_for_by_rules_and_nothing_leaks(
    chat: Session, chat_model: ChatServer, branch: str, write: Write, answer: Any
) -> None:
    chat_model.answer = answer
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
    core: Session, chat: Session, chat_model: ChatServer, branch: str, write: Write
) -> None:
    fact, other = write(branch, CLAIM), write(branch, "Acme is in Graz.")

    def change(asked: dict[str, Any]) -> Any:
        if document(asked)["claim"]["text"] == CLAIM:
            core.ok("memory_update_fact", fact_id=fact, fact_text=DENIES, branch=branch)
        return judgement(asked, 0.9)

    chat_model.answer = change
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
    core: Session, chat: Session, chat_model: ChatServer, branch: str, write: Write
) -> None:
    fact = write(branch, CLAIM)
    chat_model.answer = lambda asked: judgement(asked, 0.9)
    chat.ok("verify_fact", fact_id=fact, branch=branch)

    def doubt(asked: dict[str, Any]) -> Any:
        core.ok("verify_fact", fact_id=fact, branch=branch, verdict="invalidated")
        return judgement(asked, 0.9)

    chat_model.answer = doubt
    assert chat.ok("verify_fact", fact_id=fact, branch=branch)["verdict"] == "verified"
    assert of(core, branch, fact)["verification"] == "verified", "what is answered is what is kept"

    def change(asked: dict[str, Any]) -> Any:
        core.ok("memory_update_fact", fact_id=fact, fact_text=DENIES, branch=branch)
        return judgement(asked, 0.9)

    chat_model.answer = change
    answer = chat.call("verify_fact", {"fact_id": fact, "branch": branch})
    assert answer.structured["error"]["code"] == "conflict"


@pytest.mark.parametrize("name", sampled(EVERY, [*EVERY][::3]))
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


def test_rules_judge_where_they_are_asked_for(tmp_path: Path, chat_model: ChatServer) -> None:
    env = {"DAY1_CHAT__URL": chat_model.url, "DAY1_CHAT__MODEL": MODEL, "DAY1_JUDGE": "rules"}
    chat_model.asked.clear()
    with Session(tmp_path / "store", **env) as session:
        fact = session.ok("memory_write_fact", fact_text=CLAIM)["id"]
        assert session.ok("verify_fact", fact_id=fact)["judge"] == "rules"
    assert chat_model.asked == []
