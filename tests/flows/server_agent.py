"""One agent of a team on a server's store: a process that works over REST, round by round.

Arguments: the address of its day1 server, its name, how many rounds it works, and the id of a fact
that counts, to which each round adds one ("" for none). What was acknowledged is printed as one
JSON document at the end. A call that the server cannot do now is tried again.
"""

import json
import sys
import time
from collections import Counter
from typing import Any

import httpx2

WAIT_S = 60
SHARED = "shared"
"""The branch that all work on."""


class Agent:
    def __init__(self, address: str, name: str) -> None:
        self._http = httpx2.Client(base_url=address, timeout=WAIT_S, verify=False)
        self.name = name
        self.texts: list[str] = []
        self.branches: list[str] = []
        self.raised = 0
        self.refused: Counter[str] = Counter()

    def call(self, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
        """Call once; says the code of a refusal, or nothing, and the answer."""
        answer = self._http.post(f"/api/v1/{tool}", json=arguments)
        body: dict[str, Any] = answer.json()
        if answer.status_code == 200:
            return "", body
        code: str = body["error"]["code"]
        self.refused[code] += 1
        assert (answer.status_code == 503) == code.startswith("store_"), body
        return code, body

    def insist(self, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
        """Call until it is done, or refused for another reason than that it cannot be done now."""
        until = time.monotonic() + WAIT_S
        while True:
            code, body = self.call(tool, **arguments)
            if not code.startswith("store_") or time.monotonic() > until:
                return code, body
            time.sleep(0.05)  # as a client waits before it tries again

    def write(self, text: str) -> None:
        """Write a text once: where it is not known whether it is there, look before trying again."""
        until = time.monotonic() + WAIT_S
        while self.call("memory_write_fact", fact_text=text, branch=SHARED)[0]:
            assert time.monotonic() < until, self.refused
            time.sleep(0.05)  # as a client waits before it tries again
            code, found = self.insist("memory_list", type="fact", branch=SHARED, limit=20)
            assert not code, found
            if any(row["fact_text"] == text for row in found["rows"]):
                break
        self.texts.append(text)

    def count(self, counter: str) -> None:
        """Add one to the number that all add to: by its revision, until nobody was quicker."""
        code = "revision_changed"
        body: object = None
        while code == "revision_changed":
            code, now = self.insist("memory_get", id=counter, branch=SHARED)
            assert not code, now
            row = now["row"]
            code, body = self.call(
                "memory_update_fact",
                fact_id=counter,
                fact_text=str(int(row["fact_text"]) + 1),
                expect_revision=row["revision"],
                branch=SHARED,
            )
        assert not code, body
        self.raised += 1

    def fork(self, branch: str) -> None:
        """Make a branch that all make."""
        code, body = self.insist("memory_branch_create", branch_name=branch, parent_branch=SHARED)
        assert code in {"", "branch_exists"}, body
        if not code:
            self.branches.append(branch)

    def said(self) -> dict[str, Any]:
        """What was acknowledged."""
        return {
            "texts": self.texts,
            "branches": self.branches,
            "raised": self.raised,
            "refused": self.refused,
        }


def main() -> None:
    address, name, rounds, counter = sys.argv[1:5]
    agent = Agent(address, name)
    for number in range(int(rounds)):
        agent.write(f"{name} says {number}")
        if counter:
            agent.count(counter)
        agent.fork(f"team/{number}")
    print(json.dumps(agent.said()))


if __name__ == "__main__":
    main()
