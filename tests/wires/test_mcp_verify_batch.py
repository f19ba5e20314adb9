"""Verifying a branch over MCP: order, counts, progress, and stopping half way."""

import threading
import time
from concurrent.futures import CancelledError
from contextlib import suppress
from typing import Any

import pytest

from tests.fakes.chat_server import (
    COMPLETION_TOKENS,
    MODEL,
    PROMPT_TOKENS,
    ChatServer,
    gullible,
    judgement,
)
from tests.waiting import settled
from tests.wires.conftest import Write
from tests.wires.judged_facts import of
from tests.wires.mcp_session import Session
from tests.wires.test_mcp_memory import ORIGIN


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
    chat: Session, chat_model: ChatServer, branch: str, write: Write
) -> None:
    for number in range(4):
        write(branch, f"Acme has {number} doors.")
    chat_model.answer = lambda asked: (
        gullible(asked) if len(chat_model.asked) == 1 else (500, {}, b"")
    )
    answer = chat.ok("verify_batch", branch_name=branch)
    assert answer["total_processed"] == 4
    assert answer["judge"] == f"chat:{MODEL}, rules"
    assert answer["tokens"] == {"prompt": PROMPT_TOKENS, "completion": COMPLETION_TOKENS}
    assert len(chat_model.asked) == 2
    assert len([n for n in answer["written"]["notes"] if n.startswith("judged by rules")]) == 1


class Slow:
    """A model that takes its time, so that a batch can be watched and stopped."""

    def __init__(self, core: Session, chat_model: ChatServer, branch: str) -> None:
        self._core, self._branch = core, branch
        self.told: list[tuple[float, float | None]] = []
        self.reached = threading.Event()
        chat_model.answer = self.answer

    def answer(self, asked: dict[str, Any]) -> Any:
        time.sleep(0.02)  # so long that the batch is not over when it is to be stopped
        return judgement(asked, 0.9)

    def tell(self, done: float, total: float | None) -> None:
        self.told.append((done, total))
        if done >= 20:
            self.reached.set()

    def written(self) -> int:
        rows = self._core.everything([self._branch])[self._branch]["facts"]
        return sum(row["verification"] == "verified" for row in rows)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.line("S1-079")
def test_a_batch_reports_progress_and_can_be_stopped(
    core: Session, chat_model: ChatServer, branch: str, write: Write, mode: str
) -> None:
    for number in range(60):
        write(branch, f"Acme has {number} doors.")
    env = {"DAY1_CHAT__URL": chat_model.url, "DAY1_CHAT__MODEL": MODEL}
    with Session(core.folder, mode=mode, **env) as session:
        slow = Slow(core, chat_model, branch)
        call = session.begin("verify_batch", slow.tell, branch_name=branch, limit=60)
        assert slow.reached.wait(30)
        call.cancel()
        with suppress(CancelledError, Exception):
            call.result(10)
        stopped_at, _ = settled(lambda: (slow.written(), len(chat_model.asked)))
        assert 16 <= stopped_at < 60
        assert stopped_at >= slow.told[-1][0], "what was judged is kept, to the last one told"
        rest = session.ok("verify_batch", branch_name=branch, limit=60)
        assert rest["total_processed"] == 60 - stopped_at
        assert slow.told[:20] == [(n, 60) for n in range(1, 21)]


@pytest.mark.line("S1-079")
def test_a_client_that_leaves_stops_its_batch(
    core: Session, chat_model: ChatServer, branch: str, write: Write
) -> None:
    for number in range(60):
        write(branch, f"Acme has {number} doors.")
    env = {"DAY1_CHAT__URL": chat_model.url, "DAY1_CHAT__MODEL": MODEL}
    with Session(core.folder, **env) as session:
        slow = Slow(core, chat_model, branch)
        session.begin("verify_batch", slow.tell, branch_name=branch, limit=60)
        assert slow.reached.wait(30)
    assert slow.told[-1][0] <= settled(slow.written) < 60
