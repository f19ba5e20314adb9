"""No text of one owner is in an answer, header, error or note for another, in 500 drawn calls."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from day1.model.values.wallet_space import Owner
from tests.wires.compose_client import ComposeClient, composing

OWNERS = [
    Owner(*names)
    for names in product(("w", "W", "w/user:ann"), (None, "ann", "Ann", "%2F~"), (None, "d", "d/2"))
]
"""Three wallets, each of them alone, with three users and with two devices."""
CALLS = 500


def mark(owner: Owner) -> str:
    """A word that stands in each text of an owner and in no other."""
    return f"zq{OWNERS.index(owner):02d}kx"


def whose(owner: Owner) -> dict[str, Any]:
    """The arguments that name an owner."""
    named = {"agentWallet": owner.wallet, "userAddress": owner.user}
    device = {} if owner.device is None else {"scope": "local", "haiId": owner.device}
    return {name: value for name, value in named.items() if value is not None} | device


class Drawn:
    """Draws calls, and remembers whose ids it was given."""

    def __init__(self, client: ComposeClient, seed: int) -> None:
        self.client, self.random, self.count = client, random.Random(seed), 0
        self.ids: dict[str, Owner] = {}
        self.refused = 0

    def text(self, owner: Owner) -> str:
        self.count += 1
        return f"The {mark(owner)} of mill {self.count} turns"

    def write(self, owner: Owner) -> None:
        me, text = whose(owner), self.text(owner)
        message = {"role": "user", "content": text}
        session = {"sessionId": f"s{mark(owner)}", "threadId": f"t{mark(owner)}"}
        writes: list[tuple[str, dict[str, Any]]] = [
            ("remember", {"content": text}),
            ("graph_add", {"messages": [message]}),
            ("turn_record", {**session, "userMessage": text, "assistantMessage": text}),
            ("transcript_store", {**session, "messages": [message], "tokenCount": 1, "summary": text}),
            ("vector_index", {"content": text, "source": "knowledge"}),
            ("sessions_working_update", {"sessionId": session["sessionId"], "context": [text]}),
        ]  # fmt: skip
        name, arguments = self.random.choice(writes)
        answer = self.client.ok(name, **me, **arguments)
        found = answer if isinstance(answer, list) else [answer, answer.get("memory") or {}]
        for part in found:
            for key in ("id", "vectorId"):
                if str(part.get(key) or "").startswith(("fact_", "msg_")):
                    self.ids[part[key]] = owner

    def read(self, owner: Owner) -> None:
        me, draw = whose(owner), self.random.choice
        other = draw(OWNERS)
        query = {"query": f"which {mark(other)} turns?"}
        row = draw([*self.ids] or ["fact_none"])
        asked: list[tuple[str, dict[str, Any]]] = [
            ("context_assemble", {**query, "includeRaw": True, "threadId": f"t{mark(other)}"}),
            ("graph_search", query),
            ("vector_search", query),
            ("items_search", query),
            ("layers_search", {**query, "threadId": f"t{mark(other)}"}),
            ("items_get", {"id": row}),
            ("transcript_get", {"id": draw("st") + mark(other)}),
            ("sessions_working_get", {"sessionId": f"s{mark(other)}"}),
            ("stats_get", {}),
            ("evals_run", {"testCases": [{"query": query["query"], "expected": "turns"}]}),
            ("items_update", {"id": row, "metadata": {"by": owner.wallet}}),
            ("conflicts_resolve", {"id": row, "resolution": "keep"}),
        ]
        if "/" not in str(owner.wallet):
            asked.append(("list", {"limit": 200}))
        name, arguments = draw(asked)
        response = self.client.send(name, **me, **arguments)
        assert response.status_code in {200, 404}, (name, response.text)
        self.refused += response.status_code == 404
        self.check(owner, name, json.dumps(response.json()) + json.dumps(dict(response.headers)), query)  # fmt: skip

    def check(self, owner: Owner, name: str, said: str, query: dict[str, str]) -> None:
        said = said.replace(query["query"], "")  # an answer may repeat the question
        seen = {each for each in OWNERS if each.space in owner.spaces}
        if name in {"stats_get", "conflicts_resolve", "sessions_working_get"}:
            seen |= {each for each in OWNERS if each.wallet == owner.wallet}
        others = [each for each in OWNERS if each not in seen and f"{mark(each)} of" in said]
        assert not others, (name, owner, others)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeClient]:
    with composing(tmp_path_factory.mktemp("compose") / "store") as client:
        yield client


def test_no_text_of_one_owner_is_told_to_another(client: ComposeClient) -> None:
    drawn = Drawn(client, 1)
    for owner in OWNERS:
        drawn.write(owner)
    for _ in range(CALLS):
        owner = drawn.random.choice(OWNERS)
        (drawn.write if drawn.random.random() < 0.3 else drawn.read)(owner)
    assert drawn.refused
    for owner in OWNERS:
        listed = client.ok("graph_search", **whose(owner), query="which turns?", limit=200)
        own = [item for item in listed if mark(owner) in item["memory"]]
        assert own or not any(each == owner for each in drawn.ids.values())
