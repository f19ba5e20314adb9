"""Calls that are made again with the same request id, on a folder and over HTTP."""

import json
from collections.abc import Callable
from functools import partial
from typing import Literal

import httpx
import pytest

import day1
from day1 import errors


def _served(
    monkeypatch: pytest.MonkeyPatch, serve: Callable[[httpx.Request], httpx.Response]
) -> day1.Memory:
    """Connect to a server that lets the caller in, and answers all later calls by `serve`."""
    calls: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        calls.append(request)
        read = {"branch": "main", "commit": "c"}
        return (
            serve(request) if calls[1:] else httpx.Response(200, json={"result": [], "read": read})
        )

    transport = httpx.MockTransport(answer)
    monkeypatch.setattr(httpx, "Client", partial(httpx.Client, transport=transport))
    return day1.connect("http://day1.example")


def test_a_server_that_goes_away_in_the_middle_of_a_write_leaves_its_request_id(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The connection breaks once the server has the call, and nothing listens any more."""
    request_ids: list[str] = []

    def serve(request: httpx.Request) -> httpx.Response:
        if request_ids:
            raise httpx.ConnectError("Connection refused", request=request)
        request_ids.append(json.loads(request.content)["request_id"])
        raise httpx.RemoteProtocolError("Server disconnected", request=request)

    memory = _served(monkeypatch, serve)
    with memory, pytest.raises(errors.StoreUnavailable, match="may have taken effect") as broken:
        memory.add("Perhaps written.")
    assert [broken.value.details["request_id"]] == request_ids


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxy_whose_server_does_not_answer_leaves_the_request_id(
    monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    request_ids: list[str] = []

    def serve(request: httpx.Request) -> httpx.Response:
        request_ids.append(json.loads(request.content)["request_id"])
        return httpx.Response(status, html="<h1>Bad Gateway</h1>")

    memory = _served(monkeypatch, serve)
    with memory, pytest.raises(errors.StoreUnavailable, match="may have taken effect") as broken:
        memory.retract("fact_1")
    assert [broken.value.details["request_id"]] == request_ids


def test_a_repeated_drop_leaves_a_branch_of_the_same_name(memory: day1.Memory) -> None:
    name = f"{memory.name}/trial"
    memory.create_branch(name).add("Ada drinks tea.")
    first = memory.branch(name).drop(force=True, request_id="drop")
    memory.create_branch(name).add("Bo drinks milk.")
    again = memory.branch(name).drop(force=True, request_id="drop")
    assert (again.branch_name, again.commit) == (name, first.commit)
    assert "answered before" in str(again.written.notes[0])
    assert [hit.fact_text for hit in memory.branch(name).search("milk")] == ["Bo drinks milk."]
    memory.branch(name).drop(force=True, request_id="drop again")
    with pytest.raises(errors.UnknownBranch):
        memory.branch(name).drop(force=True)


def test_the_request_id_of_a_drop_is_another_one_for_another_branch(memory: day1.Memory) -> None:
    names = [f"{memory.name}/{number}" for number in range(2)]
    for name in names:
        memory.create_branch(name)
    for name in names:
        assert memory.branch(name).drop(force=True, request_id="drop").branch_name == name
    assert not {branch.branch_name for branch in memory.branches()} & set(names)


def test_a_repeated_restore_undoes_nothing_that_came_later(memory: day1.Memory) -> None:
    memory.snapshot("before")
    memory.add("Ada drinks tea.")
    first = memory.restore("before", confirm=memory.name, request_id="restore")
    memory.add("Bo drinks milk.")
    again = memory.restore("before", confirm=memory.name, request_id="restore")
    assert (again.restored_rows, again.snapshot_before) == (1, first.snapshot_before)
    assert [hit.fact_text for hit in memory.search("drinks")] == ["Bo drinks milk."]


def test_a_review_is_closed_twice_by_the_same_agent(memory: day1.Memory) -> None:
    memory.create_branch(f"{memory.name}/reviewed").add("Ada drinks tea.")
    review = memory.branch(f"{memory.name}/reviewed").review(memory.name)
    first = review.close(reason="no need")
    assert review.close(reason="no need").closed_at == first.closed_at
    with pytest.raises(errors.Conflict):
        review.close(reason="no need", agent_id="bo")


@pytest.mark.parametrize("strategy", ["auto", "squash"])
def test_a_repeated_merge_is_answered_once_its_source_is_gone(
    memory: day1.Memory, strategy: Literal["auto", "squash"]
) -> None:
    name = f"{memory.name}/{strategy}"
    memory.create_branch(name).add("Ada drinks tea.")
    first = memory.branch(name).merge(strategy=strategy, request_id=f"merge {name} {strategy}")
    memory.branch(name).drop(request_id="drop")
    for is_made_again in (False, True):
        if is_made_again:
            memory.create_branch(name).add("Bo drinks milk.")
        again = memory.branch(name).merge(strategy=strategy, request_id=f"merge {name} {strategy}")
        assert (again.answer.merge_id, again.merged_count) == (
            first.answer.merge_id,
            first.merged_count,
        )
        assert [hit.fact_text for hit in memory.search("drinks")] == ["Ada drinks tea."]
    with pytest.raises(errors.RequestReused):
        memory.branch(name).merge(
            strategy="cherry_pick", items=[], request_id=f"merge {name} {strategy}"
        )
