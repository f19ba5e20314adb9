"""`POST /api/memory/loop`: each step answers as its own operation does."""

from collections.abc import Iterator

import pytest

from tests.wires.compose_client import ComposeClient, composing

ANN = {"agentWallet": "helper", "userAddress": "ann"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeClient]:
    with composing(tmp_path_factory.mktemp("compose") / "store") as client:
        yield client


@pytest.fixture
def client(server: ComposeClient) -> ComposeClient:
    return server.on_a_branch()


def test_each_step_names_the_steps_that_may_follow(client: ComposeClient) -> None:
    for step, more in (
        ("pre_turn", {"query": "spindles"}),
        ("post_turn", {"userMessage": "How many?", "turnId": "1", "threadId": "t"}),
        ("remember", {"content": "The mill has 90 spindles."}),
    ):
        loop = client.ok("loop", step=step, **ANN, **more)["loop"]
        assert loop["step"] == step
        assert loop["next"]


def test_a_remembered_sentence_is_in_the_next_prompt_of_a_new_thread(client: ComposeClient) -> None:
    said = {"userMessage": "Note it.", "assistantMessage": "Noted.", "threadId": "one"}
    before = client.ok("loop", step="pre_turn", query="spindles of the mill", **ANN)
    assert before["prompt"] is None
    client.ok("loop", step="post_turn", **said, **ANN)
    client.ok("loop", step="remember", content="The mill in Selm has 90 spindles.", **ANN)
    after = client.ok("loop", step="pre_turn", query="spindles of the mill", threadId="two", **ANN)
    assert "The mill in Selm has 90 spindles." in after["prompt"]
    own = client.ok("context_assemble", query="spindles of the mill", threadId="two", **ANN)
    assert own["prompt"] == after["prompt"]


def test_a_repeated_step_writes_nothing(client: ComposeClient) -> None:
    turn = {"step": "post_turn", "turnId": "t1", "userMessage": "Is it open?", "threadId": "t"}
    first = client.ok("loop", **turn, **ANN)
    assert client.ok("loop", **turn, **ANN) == first
    messages = client.ok("transcript_get", id="t", **ANN)["messages"]
    assert len(messages) == 1


def test_a_turn_of_many_messages_is_taken_as_its_own_operation_takes_it(
    client: ComposeClient,
) -> None:
    messages = [{"role": "user", "content": f"{number} " + "long " * 1_000} for number in range(20)]
    answer = client.ok("loop", step="post_turn", messages=messages, threadId="t", **ANN)
    assert answer["stored"]["transcript"] is True


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"query": "x"}, "step"),
        ({"step": "between", "query": "x"}, "step"),
        ({"step": "pre_turn"}, "query"),
        ({"step": "remember"}, "content"),
        ({"step": "post_turn", "messages": [{"role": "user"}]}, "messages.0.content"),
    ],
)
def test_a_step_that_does_not_fit_names_the_field(
    server: ComposeClient, arguments: dict[str, object], problem: str
) -> None:
    assert server.problems("loop", **ANN, **arguments) == [problem]


def test_a_token_that_may_only_read_fetches_a_prompt_and_writes_nothing(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with composing(tmp_path_factory.mktemp("tokens") / "store") as client:
        made = client.http.post("/api/v1/token_create", json={"name": "reader", "scope": "read"})
        token = made.json()["secret"]
        reader = ComposeClient(client.http, Authorization=f"Bearer {token}")
        assert reader.ok("loop", step="pre_turn", query="x", **ANN)["prompt"] is None
        refused = reader.refused(403, "loop", step="remember", content="The mill is open.", **ANN)
        assert refused["details"]["needs"] == "write"
