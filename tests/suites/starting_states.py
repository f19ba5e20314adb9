"""Where the tests of the contract suite begin, and short ways to say what they look at."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.suites.memory import Memory, Refusal

SECOND = 1_000_000
A, B, C, NEW = "fact_a", "fact_b", "fact_c", "fact_new"
TEXT, STATUS, VERDICT = "fact_text", "status", "verification"


def fact(memory: Memory, branch: str, fact_id: str = A) -> dict[str, Any]:
    return memory.state(branch)["facts"][fact_id]


def forked(memory: Memory, **columns: Any) -> None:
    """A fact A on `main` and on its fork `side`."""
    memory.add_fact("main", A, **{"fact_text": "a", **columns})
    memory.fork("side", "main")
    memory.clock.tick()


def conflicting(memory: Memory) -> None:
    """A's category changed on both branches and merged: held on `main`."""
    forked(memory, category="base")
    memory.update_fact("main", A, category="ours")
    memory.update_fact("side", A, category="theirs")
    assert memory.merge("side", "main").rejected == 1


def listed(memory: Memory, branch: str) -> list[tuple[str, str]]:
    return sorted((item.row_id, item.cell) for item in memory.held(branch))


def code_of(action: Callable[[], Any]) -> str:
    with pytest.raises(Refusal) as refused:
        action()
    return refused.value.code
