"""The longest values of every column are kept, compared and merged as they are given."""

import json

from tests.suites.memory import Memory
from tests.suites.starting_states import A, B, fact

SPACE = "project:" + "ü" * 247
LONGEST = {
    "space": SPACE,
    "tags": json.dumps(["🐦" * 255] * 50),
    "detail": json.dumps({"id": "n" * 255, "metadata": {"text": "ß" * 32_000}}),
    "structure": json.dumps({"content": "漢" * 32_768}),
    "vector": json.dumps([0.1] * 4_096),
    "expires_at": 253_402_300_799_999_999,
    "valid_until": 253_402_300_799_999_999,
    "sensitivity": "secret",
}
"""A space of 255 characters, the JSON that requests may be as long as, and the end of the year 9999."""


class BoundsSuite:
    def test_the_longest_values_come_back_through_a_commit_and_a_merge(
        self, memory: Memory
    ) -> None:
        memory.add_fact("main", B, fact_text="first")
        memory.fork("side", "main")
        memory.add_fact("side", A, fact_text="漢" * 32_768, **LONGEST)
        memory.commit_pending("side")
        memory.merge("side", "main")
        merged = fact(memory, "main")
        assert {name: merged[name] for name in LONGEST} == LONGEST
        assert merged["fact_text"] == "漢" * 32_768

    def test_the_longest_values_are_compared_and_held(self, memory: Memory) -> None:
        memory.add_fact("main", A, fact_text="first")
        memory.fork("side", "main")
        memory.update_fact("side", A, space=SPACE, tags=LONGEST["tags"])
        memory.update_fact("main", A, space="project:a")
        memory.merge("side", "main")
        assert fact(memory, "main")["space"] == "project:a"
        assert fact(memory, "main")["tags"] == LONGEST["tags"]
        assert [held.theirs for held in memory.held("main")] == [{"space": SPACE}]
        memory.decide("main", A, "space", "taken")
        assert fact(memory, "main")["space"] == SPACE
