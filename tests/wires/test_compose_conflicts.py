"""`conflicts_resolve` of Compose: facts that conflict, and values that a merge held."""

from collections.abc import Iterator
from typing import Any

import pytest

from day1.model.redaction.mask import REDACTED
from tests.wires.compose_client import WALLET, ComposeClient, composing

OF = {"agentWallet": WALLET}
SHORT, LONG = "Ann prefers green tea in the morning.", "Ann prefers green tea in the early morning."


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeClient]:
    with composing(tmp_path_factory.mktemp("compose") / "store") as client:
        yield client


@pytest.fixture
def client(served: ComposeClient) -> ComposeClient:
    return served.on_a_branch()


def index(client: ComposeClient, content: str, **more: Any) -> str:
    """The id of a fact, stored whatever else says the same."""
    added = client.ok("vector_index", content=content, source="fact", **{**OF, **more})
    return str(added["id"])


def resolve(client: ComposeClient, item_id: str, resolution: str, winner: str | None = None, **more: Any) -> tuple[bool, str]:  # fmt: skip
    won = {} if winner is None else {"winningMemoryId": winner}
    answer = client.ok("conflicts_resolve", id=item_id, resolution=resolution, **{**OF, **won, **more})  # fmt: skip
    return answer["resolved"], answer["memoryId"]


def row(client: ComposeClient, fact_id: str) -> dict[str, Any]:
    shown: dict[str, Any] = client.day1("memory_get", id=fact_id)["row"]
    return shown


def test_the_winner_replaces_the_other_once(client: ComposeClient) -> None:
    old, new = index(client, "Ann drinks tea."), index(client, "Ann drinks coffee now.")
    assert resolve(client, old, "supersede", new, reason="She said so.") == (True, new)
    assert (row(client, old)["status"], row(client, old)["superseded_by"]) == ("superseded", new)
    assert [item["id"] for item in client.ok("list", **OF)] == [new]
    assert resolve(client, old, "supersede", new) == (False, old), "nothing is open any more"
    assert resolve(client, new, "supersede", old) == (False, new), "the winner does not count"
    history = client.day1("memory_history", id=old)
    assert "She said so." in str(history)


def test_a_fact_that_wins_itself_replaces_what_conflicts(client: ComposeClient) -> None:
    old, new, near = index(client, SHORT), index(client, LONG), index(client, "Ann prefers tea.")
    assert resolve(client, new, "supersede", new) == (True, new)
    assert row(client, old)["superseded_by"] == new
    assert row(client, near)["status"] == "active"
    assert resolve(client, new, "supersede", new) == (False, new)
    assert resolve(client, near, "supersede", near) == (False, near)


def test_a_merge_joins_text_and_metadata_in_the_winner(client: ComposeClient) -> None:
    old, new = index(client, "Ann drinks tea.", metadata={"a": 1, "b": 1}), index(client, "On Sundays coffee.", metadata={"b": 2})  # fmt: skip
    count = len(client.day1("memory_log")["result"])
    assert resolve(client, old, "merge", new) == (True, new)
    assert len(client.day1("memory_log")["result"]) <= count + 2, "the added facts, and one change"
    item = client.ok("items_get", id=new, **OF)["item"]
    assert item["content"] == "On Sundays coffee.\nAnn drinks tea."
    assert item["metadata"] == {"a": 1, "b": 2}
    assert row(client, old)["superseded_by"] == new


def test_words_that_a_merge_joined_are_hidden_with_the_other_fact(client: ComposeClient) -> None:
    old, new = index(client, "Bo lives in Quito."), index(client, "Bo has a dog.")
    untouched = index(client, "Bo has a dog. Bo sails.")
    assert resolve(client, old, "merge", new) == (True, new)
    assert resolve(client, new, "merge", untouched) == (True, untouched)
    assert "Quito" in client.ok("items_get", id=untouched, **OF)["item"]["content"]
    client.ok("items_delete", id=old, hardDelete=True, **OF)
    for fact in (new, untouched):
        assert row(client, fact)["fact_text"] == REDACTED
    assert "Quito" not in str(client.ok("list", **OF))
    assert client.ok("graph_search", query="Where does Bo live?", **OF) == []


@pytest.mark.parametrize("how", ["keep", "ignore"])
def test_facts_that_may_both_stay_do_not_conflict_again(client: ComposeClient, how: str) -> None:
    old, new = index(client, SHORT), index(client, LONG)
    alone = index(client, "Bo sails.")
    assert resolve(client, alone, how) == (False, alone)
    assert resolve(client, old, how) == (True, old)
    assert [resolve(client, each, how) for each in (old, new)] == [(False, old), (False, new)]
    assert {row(client, each)["status"] for each in (old, new)} == {"active"}
    assert resolve(client, new, "supersede", new) == (False, new)
    third = index(client, LONG.replace("early", "very early"))
    assert resolve(client, third, "supersede", third) == (True, third)


def test_the_same_key_conflicts_whatever_the_words(client: ComposeClient) -> None:
    key = {"metadata": {"key": "drink"}}
    tea, coffee = index(client, "Tea.", **key), index(client, "It is coffee by now.", **key)
    assert resolve(client, coffee, "supersede", coffee) == (True, coffee)
    assert row(client, tea)["superseded_by"] == coffee


def test_facts_of_any_user_of_the_wallet_but_of_no_other(client: ComposeClient) -> None:
    old, new = (index(client, text, userAddress="ann") for text in (SHORT, LONG))
    other = index(client, LONG, userAddress="bo")
    assert resolve(client, old, "supersede", new, agentWallet="0xb2") == (False, old)
    assert resolve(client, old, "supersede", new, userAddress="bo") == (False, old)
    assert resolve(client, old, "supersede", other) == (False, old), "of two users"
    assert resolve(client, old, "supersede", new) == (True, new)


def test_unknown_ids_resolve_nothing(client: ComposeClient) -> None:
    message = client.day1("memory_log_message", role="user", content="Hi")["message_id"]
    for item_id in ("fact_none", "held_none", "nothing", message):
        assert resolve(client, item_id, "keep") == (False, item_id)
        assert resolve(client, item_id, "supersede", item_id) == (False, item_id)
    fact = index(client, SHORT)
    assert resolve(client, fact, "merge", "fact_none") == (False, fact)


@pytest.fixture
def held(client: ComposeClient) -> tuple[ComposeClient, str, str]:
    """A client on a branch with a held text, the held item and its fact."""
    fact = index(client, "It waits 20 s.", userAddress="ann")
    target = client.headers["Day1-Branch"]
    client.day1("memory_branch_create", branch_name=f"{target}/side", parent_branch=target)
    side = ComposeClient(client.http, **{"Day1-Branch": f"{target}/side"})
    for each, text in ((client, "It waits 30 s."), (side, "It waits 40 s.")):
        each.ok("items_update", id=fact, content=text, userAddress="ann", **OF)
    client.day1("memory_branch_merge", source_branch=f"{target}/side", target_branch=target, strategy="auto")  # fmt: skip
    items = client.day1("memory_held")["items"]
    return client, next(item["id"] for item in items), fact


@pytest.mark.parametrize(
    ("resolution", "winner", "text"),
    [
        ("supersede", "held", "It waits 40 s."), ("supersede", "fact", "It waits 30 s."),
        ("keep", None, "It waits 30 s."), ("ignore", None, "It waits 30 s."),
        ("merge", "fact", "It waits 30 s.\nIt waits 40 s."),
    ],
)  # fmt: skip
def test_a_held_value_is_decided(
    held: tuple[ComposeClient, str, str], resolution: str, winner: str | None, text: str
) -> None:
    client, item, fact = held
    winning = {"held": item, "fact": fact, None: None}[winner]
    assert resolve(client, item, resolution, winning, agentWallet="0xb2") == (False, item)
    assert resolve(client, item, resolution, winning) == (True, fact)
    assert row(client, fact)["fact_text"] == text
    assert client.day1("memory_held")["items"] == []
    assert resolve(client, item, resolution, winning) == (False, item)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"resolution": "supersede"}, "winningMemoryId"), ({"resolution": "merge"}, "winningMemoryId"),
        ({"resolution": "win"}, "resolution"), ({}, "resolution"),
        ({"resolution": "keep", "winningMemoryId": ""}, "winningMemoryId"),
        ({"resolution": "keep", "reason": "a\0"}, "reason"),
        ({"resolution": "keep", "agentWallet": "w" * 300}, "agentWallet"),
    ],
)  # fmt: skip
def test_bad_input_is_named(served: ComposeClient, arguments: dict[str, Any], field: str) -> None:
    assert served.problems("conflicts_resolve", id="fact_1", **{**OF, **arguments}) == [field]
