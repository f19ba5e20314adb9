"""Compressing sessions over HTTP: by rules and by a model, and hidden with their sources."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from day1.app.models import chat
from day1.interfaces.open_store import OpenStore
from day1.model.values.wallet_space import Owner
from day1.settings import ChatSettings
from tests.fakes.chat_server import ChatServer
from tests.flows.opened_store import opened
from tests.tool_threads import Line, called, write_thread
from tests.wires.compose_client import WALLET, ComposeClient
from tests.wires.served_toolsets import served

OWNER, ANN = Owner(WALLET), Owner(WALLET, "ann")
TALK: list[Line] = [
    ("user", "Hello. Why does the gateway Kestrel restart every 45 seconds?", None),
    ("assistant", "Let me see. Its limit in deploy/limits.yaml is 12 MB.", None),
    *called("read"),
    ("user", "Thanks.", None),
]
SUMMARY = "Why does the gateway Kestrel restart every 45 seconds? Its limit in deploy/limits.yaml is 12 MB."  # fmt: skip
MODEL: dict[str, Any] = {"agentWallet": WALLET, "coordinatorModel": "any"}


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[OpenStore, ComposeClient]]:
    folder = tmp_path_factory.mktemp("compress") / "store"
    with opened(folder, create=True) as store, served(store) as http:
        yield store, ComposeClient(http)


class Scene:
    """A client on a branch of its own, and the store behind it."""

    def __init__(self, store: OpenStore, client: ComposeClient) -> None:
        self.store, self.client = store, client

    def say(self, session: str, *lines: Line, owner: Owner = OWNER) -> list[str]:
        """Write a session as a thread of its own: a redaction holds on all branches."""
        branch = self.client.headers["Day1-Branch"]
        return write_thread(self.store.repo, owner, session, lines, branch=branch, session=session)

    def compress(self, session: str, **more: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.client.ok("sessions_compress", sessionId=session, **MODEL, **more)  # fmt: skip
        return answer

    def fact(self, answer: dict[str, Any]) -> dict[str, Any]:
        row: dict[str, Any] = self.client.day1("memory_get", id=answer["archiveId"])["row"]
        return row


@pytest.fixture
def scene(serving: tuple[OpenStore, ComposeClient]) -> Scene:
    store, client = serving
    return Scene(store, client.on_a_branch())


@pytest.fixture
def model(scene: Scene) -> Iterator[ChatServer]:
    """A chat model that the store has for one test."""
    with ChatServer().serving() as server:
        settings = ChatSettings(url=server.url, model="fake-model", tries=1)
        scene.store.chat = chat(settings)
        yield server
        scene.store.chat = None


def answers(server: ChatServer, summary: Any, entities: Any = ()) -> None:
    content = json.dumps({"summary": summary, "entities": list(entities)})
    body = {"choices": [{"message": {"content": content}}]}
    server.answer = lambda _: (200, {}, json.dumps(body).encode())


def test_rules_choose_the_sentences_with_names_and_numbers(scene: Scene) -> None:
    scene.say("s1", *TALK)
    answer = scene.compress("s1")
    assert answer["summary"] == SUMMARY
    assert (answer["summarizer"], answer["entitiesExtracted"]) == ("rules", 3)
    fact = scene.fact(answer)
    assert fact["structure"]["entities"] == ["Kestrel", "deploy/limits.yaml", "MB"]
    assert all(name in SUMMARY for name in fact["structure"]["entities"])
    assert (fact["category"], fact["session_id"], fact["agent_id"]) == ("archive", "s1", WALLET)


def test_compressing_again_changes_nothing_until_there_is_more(scene: Scene) -> None:
    scene.say("s2", *TALK)
    first = scene.client.send("sessions_compress", sessionId="s2", **MODEL)
    again = scene.client.send("sessions_compress", sessionId="s2", **MODEL)
    assert again.json() == first.json()
    state = ("Day1-Commit", "Day1-Pending")
    assert [again.headers[h] for h in state] == [first.headers[h] for h in state]
    scene.say("s2", ("user", "Then raise it to 64 MB.", None))
    more = scene.compress("s2")
    assert more["summary"].endswith("Then raise it to 64 MB.")
    assert more["archiveId"] != first.json()["archiveId"]
    earlier = scene.fact(first.json())
    assert (earlier["status"], earlier["superseded_by"]) == ("superseded", more["archiveId"])


def test_a_redacted_message_hides_the_summary(scene: Scene) -> None:
    ids = scene.say("s3", ("user", "The vault of Marlow is at gate 77.", None), ("assistant", "Bo knows 3 more.", None))  # fmt: skip
    answer = scene.compress("s3")
    assert "Marlow" in answer["summary"]
    scene.client.day1("memory_redact", id=ids[0], confirm=ids[0], reason="gone")
    everything = json.dumps([scene.fact(answer), scene.client.day1("memory_list", type="fact")])
    assert "Marlow" not in everything
    assert "77" not in scene.fact(answer)["fact_text"]
    again = scene.compress("s3")
    assert again["summary"] == "Bo knows 3 more."


def test_an_earlier_summary_comes_back_with_its_messages(scene: Scene) -> None:
    scene.say("s1", ("user", "Ann owns 3 mills in Vik.", None), owner=ANN)
    first = scene.compress("s1")
    (later,) = scene.say("s1", ("user", "Bo sold 7 boats to Cleo.", None), owner=ANN)
    second = scene.compress("s1")
    before = scene.client.day1("memory_log", limit=1)["result"][0]["at"]
    scene.client.ok("items_delete", id=later, agentWallet=WALLET, userAddress="ann")
    assert scene.compress("s1")["archiveId"] == first["archiveId"]
    assert scene.fact(first)["status"] == "active"
    prompt = scene.client.ok("context_assemble", query="mills in Vik", layers=["archives"], agentWallet=WALLET, userAddress="ann")["prompt"]  # fmt: skip
    assert "Ann owns 3 mills" in prompt
    again = scene.compress("s1")
    assert again["archiveId"] == first["archiveId"]
    scene.client.day1("memory_restore", to=before, id=later)
    assert scene.compress("s1")["archiveId"] == second["archiveId"]
    assert [scene.fact(each)["status"] for each in (first, second)] == ["superseded", "active"]


def test_a_summary_of_removed_messages_is_no_item_any_more(scene: Scene) -> None:
    messages = scene.say("gone", *TALK)
    item = {"id": scene.compress("gone")["archiveId"], "agentWallet": WALLET}
    assert scene.client.ok("items_get", **item)["item"]["content"] == SUMMARY
    scene.client.ok("items_delete", id=messages[0], agentWallet=WALLET)
    for operation, more in (
        ("items_get", {}),
        ("items_update", {"confidence": 0.5}),
        ("items_delete", {}),
    ):
        assert "Kestrel" not in str(scene.client.refused(404, operation, **item, **more))


def test_a_removed_message_that_is_not_quoted_hides_nothing(scene: Scene) -> None:
    ids = scene.say("s4", ("user", "Well then.", None), ("user", "We pay 5 to Bo.", None))
    answer = scene.compress("s4")
    scene.client.day1("memory_redact", id=ids[0], confirm=ids[0], reason="gone")
    assert scene.fact(answer)["fact_text"] == "We pay 5 to Bo."


def test_a_session_is_found_by_its_id_and_for_its_user_only(scene: Scene) -> None:
    scene.say("s5", *TALK, owner=ANN)
    assert scene.compress("s5", userAddress="ann")["archiveId"] == scene.compress("s5")["archiveId"]
    scene.client.refused(404, "sessions_compress", sessionId="s5", userAddress="bo", **MODEL)
    scene.client.refused(404, "sessions_compress", sessionId="none", userAddress="bo", **MODEL)
    theirs = {**MODEL, "agentWallet": "0xb2"}
    assert scene.client.problems("sessions_compress", sessionId="s5", **theirs) == ["sessionId"]
    assert scene.client.problems("sessions_compress", sessionId="none", **MODEL) == ["sessionId"]
    fact = scene.fact(scene.compress("s5"))
    assert (fact["space"], fact["detail"]["userAddress"]) == (ANN.space, "ann")


def test_two_users_with_one_session_id_must_be_told_apart(scene: Scene) -> None:
    scene.say("s6", *TALK, owner=ANN)
    scene.say("s6", ("user", "Bo has 3 cats.", None), owner=Owner(WALLET, "bo"))
    scene.client.refused(409, "sessions_compress", sessionId="s6", **MODEL)
    assert scene.compress("s6", userAddress="bo")["summary"] == "Bo has 3 cats."
    assert scene.compress("s6", userAddress="ann")["summary"] == SUMMARY


def test_a_session_without_words_is_none(scene: Scene) -> None:
    scene.say("s7", *called("read"), ("user", "...", None))
    assert scene.client.problems("sessions_compress", sessionId="s7", **MODEL) == ["sessionId"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"coordinatorModel": ""}, "coordinatorModel"),
        ({"coordinatorModel": None}, "coordinatorModel"),
        ({"agentWallet": "w" * 256}, "agentWallet"),
        ({"agentWallet": "a", "agent_id": "b"}, "agentWallet"),
    ],
)
def test_bad_input_is_named(scene: Scene, arguments: dict[str, Any], problem: str) -> None:
    both = {**MODEL, **arguments}
    assert scene.client.problems("sessions_compress", sessionId="s", **both) == [problem]


def test_the_chat_model_words_the_summary(scene: Scene, model: ChatServer) -> None:
    scene.say("s8", *TALK)
    worded = "Kestrel restarts every 45 seconds because of the 12 MB limit."
    answers(model, worded, ["Kestrel", "Marlow", 3, "Kestrel"])
    answer = scene.compress("s8")
    assert (answer["summary"], answer["summarizer"]) == (worded, "fake-model")
    assert answer["entitiesExtracted"] == 1  # Marlow is not in it
    assert scene.fact(answer)["structure"]["entities"] == ["Kestrel"]
    asked = json.loads(model.asked[0]["messages"][1]["content"])["messages"]
    assert [m["role"] for m in asked] == ["user", "assistant", "user"]
    assert scene.compress("s8") == answer
    assert len(model.asked) == 1


@pytest.mark.parametrize("summary", ["It was Marlow, 99 times.", "", 7, "x" * 2_001, "Kestrel\0"])
def test_a_model_that_strays_gives_way_to_rules(
    scene: Scene, model: ChatServer, summary: Any
) -> None:
    scene.say("s9", *TALK)
    answers(model, summary)
    response = scene.client.send("sessions_compress", sessionId="s9", **MODEL)
    assert (response.json()["summary"], response.json()["summarizer"]) == (SUMMARY, "rules")
    assert "strayed" in response.headers["Day1-Notes"]


def test_a_model_that_does_not_answer_gives_way_to_rules(scene: Scene, model: ChatServer) -> None:
    scene.say("s10", *TALK)
    model.answer = lambda _: (500, {}, b"")
    response = scene.client.send("sessions_compress", sessionId="s10", **MODEL)
    assert response.json()["summarizer"] == "rules"
    assert "does not answer" in response.headers["Day1-Notes"]


def test_all_messages_are_sources_of_a_models_summary(scene: Scene, model: ChatServer) -> None:
    ids = scene.say("s11", *TALK)
    answers(model, "Kestrel restarts every 45 seconds.")
    answer = scene.compress("s11")
    scene.client.day1("memory_redact", id=ids[-1], confirm=ids[-1], reason="gone")
    assert "Kestrel" not in json.dumps(scene.fact(answer))


def test_a_session_that_is_too_long_for_the_model(scene: Scene, model: ChatServer) -> None:
    scene.say("s12", *(("user", f"Line {n}. " + "word " * 6_000, None) for n in range(3)))
    response = scene.client.send("sessions_compress", sessionId="s12", **MODEL)
    assert (response.json()["summarizer"], model.asked) == ("rules", [])
    assert "too long" in response.headers["Day1-Notes"]
