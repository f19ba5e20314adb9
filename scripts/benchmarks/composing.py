"""Compose Memory over HTTP: turns, prompts and loops, against an empty call and a plain search."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from benchmarks import mining
from benchmarks.bench import Bench
from benchmarks.posting import EMPTY, Call, Client, alternate
from benchmarks.report import Row, quotient, skipped
from benchmarks.texts import facts, questions
from benchmarks.wire import day1_over_http, empty_over_http, proportional_memory
from day1.app.open import open_store
from day1.model.rows.change import Ref
from day1.services.access.caller import Caller
from day1.services.branches.lookup import find
from day1.services.search.request import SearchRequest
from day1.services.search.searching import search
from day1.toolsets.compose import COMPOSE
from tests.relevance.written import STORES, Question, fill
from tests.relevance.written import questions as written_questions

_WALLET = {"agentWallet": "bench", "userAddress": "ann"}
_LOOPS = 24
"""Loops that run at once."""
_USERS, _FACTS_OF_A_USER = 1_000, 20
_MESSAGES_AT_ONCE = 500
_MEGABYTE = 1e6
_numbers = itertools.count()


def rows(bench: Bench) -> Iterator[Row]:
    """All of it; prompts and memory need a store with vectors to mean something."""
    yield from anyio.run(_turns, bench)
    yield from anyio.run(_prompts, bench)
    yield anyio.run(_among_users, bench)
    yield anyio.run(_at_once, bench)
    yield anyio.run(_memory, bench)
    yield _evidence(bench)
    yield from mining.rows(bench)


@asynccontextmanager
async def _server(bench: Bench, folder: Path) -> AsyncIterator[tuple[int, str]]:
    async with day1_over_http(bench.environment(folder)) as served:
        yield served


def _turn(client: Client, number: int, **more: Any) -> tuple[float, Any]:
    body = {
        **_WALLET,
        "threadId": f"t{number % 50}",
        "turnId": f"turn-{next(_numbers)}",
        "userMessage": f"How many spindles has mill {number}?",
        "assistantMessage": f"Mill {number} has {number * 7 % 90} spindles.",
        **more,
    }
    return client.post("/api/memory/turns/record", body)


async def _turns(bench: Bench) -> list[Row]:
    """A new turn, a repeated one, and a working session, beside an empty call."""
    folder = bench.copy(bench.sizes.middle)
    async with empty_over_http() as (_, floor), _server(bench, folder) as (_, day1):
        empty, client = Client(floor), Client(day1)
        path = urlsplit(floor).path or "/mcp"

        def again(_: int) -> tuple[float, Any]:
            turn = {"userMessage": "Is it open?", "assistantMessage": "It is."}
            return _turn(client, 0, turnId="again", **turn)

        def desk(number: int) -> tuple[float, Any]:
            body = {**_WALLET, "context": [f"line {number % 20}"], "replace": number % 20 == 0}
            return client.post("/api/memory/sessions/s1/working", body, "PATCH")

        none, new, repeated, session = await alternate(
            bench, lambda _: empty.post(path, EMPTY), partial(_turn, client), again, desk
        )
    return [
        quotient("turn_record of 2 messages, after fsync, p50", new, none, 3, "an empty HTTP call"),
        quotient("turn_record of a turn that is stored, p50", repeated, new, 1, "a new turn"),
        quotient("sessions_working_update, p50", session, none, 2.5, "an empty HTTP call"),
    ]


async def _prompts(bench: Bench) -> list[Row]:
    """A prompt of six layers beside a search, in a store of 10,000 facts and in one of 100,000."""
    name = "context_assemble of six layers, {:,} facts, p50".format
    small, large = bench.sizes.middle, bench.sizes.large
    if bench.model_dir is None:
        return [skipped(name(small), "<= 2 x memory_search over HTTP", "no model")]
    asked = questions(bench.sizes.warm + bench.sizes.calls, "compose")
    others = questions(bench.sizes.warm + bench.sizes.calls, "searched")
    folders = [bench.copy(size, f"copy-{size}") for size in (small, large)]
    async with (
        _server(bench, folders[0]) as (_, one),
        _server(bench, folders[1]) as (_, other),
    ):
        clients = [Client(one), Client(other)]
        for client in clients:
            _fill(client)
        calls: list[Call] = [
            partial(_assembled, clients[0], asked),
            partial(_found, clients[0], others),  # the server keeps the vectors of questions
            partial(_assembled, clients[1], asked),
        ]
        prompt, search, of_many = await alternate(bench, *calls)
    return [
        quotient(name(small), prompt, search, 2, "memory_search over HTTP"),
        quotient(name(large), of_many, prompt, 3, f"with {small:,}"),
    ]


def _fill(client: Client) -> None:
    """Give the wallet something in each layer that turns and facts can fill."""
    for number in range(40):
        _turn(client, number)
    client.post("/api/memory/sessions/s1/working", {**_WALLET, "context": ["at the mill"]}, "PATCH")
    for text, _ in facts(20, "wallet"):
        client.post("/api/memory/remember", {**_WALLET, "content": text})
    _settled(client)


def _settled(client: Client) -> None:
    """Wait until each text has its vector: until then, each search makes some."""
    for _ in range(100_000):
        _, answer = client.post("/api/v1/memory_search", {"query": "who reviewed it?"})
        if not any("pending_vectors" in note for note in answer["read"]["notes"]):
            return
    raise RuntimeError("texts wait for their vectors")


def _assembled(client: Client, asked: Sequence[str], number: int, **more: Any) -> tuple[float, Any]:
    body = {**_WALLET, "threadId": "t1", "query": asked[number % len(asked)], **more}
    spent, answer = client.post("/api/memory/context/assemble", body)
    if not answer["items"]:
        raise RuntimeError("the prompt is empty")
    return spent, answer


def _found(client: Client, asked: Sequence[str], number: int) -> tuple[float, Any]:
    return client.post("/api/v1/memory_search", {"query": asked[number % len(asked)]})


async def _among_users(bench: Bench) -> Row:
    """A prompt for one user of a wallet with 1,000, and for the only one."""
    users = _USERS if bench.sizes.large > bench.sizes.middle * 4 else 50
    asked = questions(bench.sizes.warm + bench.sizes.calls, "users")
    folders = [bench.copy(bench.sizes.small, name) for name in ("many", "alone")]
    async with (
        _server(bench, folders[0]) as (_, many),
        _server(bench, folders[1]) as (_, alone),
    ):
        crowd, single = Client(many), Client(alone)
        _users(crowd, users)
        _users(single, 1)
        above, below = await alternate(
            bench,
            lambda number: _assembled(crowd, asked, number, userAddress=f"user{number % users}"),
            lambda number: _assembled(single, asked, number, userAddress="user0"),
        )
    name = f"context_assemble for one user among {users:,}, p50"
    return quotient(name, above, below, 1.5, "for one alone")


def _users(client: Client, users: int, each: int = _FACTS_OF_A_USER) -> None:
    """Write `each` facts of each user, and wait for their vectors."""
    texts = (text for text, _ in facts(users * each, "of users"))
    for user in range(users):
        messages = [{"role": "user", "content": text} for text in itertools.islice(texts, each)]
        for start in range(0, each, _MESSAGES_AT_ONCE):
            some = messages[start : start + _MESSAGES_AT_ONCE]
            body = {"agentWallet": "bench", "userAddress": f"user{user}", "messages": some}
            client.post("/api/memory/add", body)
    _settled(client)


async def _at_once(bench: Bench) -> Row:
    """Turns a second of 24 loops at once, and of one alone."""
    folder = bench.copy(bench.sizes.middle)
    async with _server(bench, folder) as (_, day1):
        alone_rates, together = [
            await anyio.to_thread.run_sync(_turns_a_second, day1, count, bench.sizes.seconds)
            for count in (1, _LOOPS)
        ]
    return Row(
        f"{_LOOPS} loops at once over HTTP: turns a second",
        f"{together:.0f} / {alone_rates:.0f}",
        ">= 0.6 x one loop alone, none fails",
        together / alone_rates,
        0.6,
        at_least=True,
    )


def _turns_a_second(address: str, loops: int, seconds: float) -> float:
    asked, until = questions(500, "loops"), time.perf_counter() + seconds
    turns_done: list[int] = []

    def work(loop: int) -> None:
        client, count = Client(address), 0
        while time.perf_counter() < until:
            user = {"userAddress": f"user{loop}"}
            _assembled_or_empty(client, asked[(loop + count) % 500], user)
            _turn(client, count, **user)
            count += 1
        turns_done.append(count)

    threads = [threading.Thread(target=work, args=(loop,)) for loop in range(loops)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(turns_done) < loops:
        raise RuntimeError(f"{loops - len(turns_done)} loops failed")
    return sum(turns_done) / seconds


def _assembled_or_empty(client: Client, question: str, whose: dict[str, str]) -> None:
    client.post("/api/memory/context/assemble", {**_WALLET, **whose, "query": question})


async def _memory(bench: Bench) -> Row:
    """Memory of a server after 1,000 users of 20 facts, and after one of as many."""
    users = _USERS if bench.sizes.large > bench.sizes.middle * 4 else 50
    asked, used = questions(users, "memory"), []
    for count in (users, 1):
        folder = bench.copy(bench.sizes.small)
        async with _server(bench, folder) as (pid, day1):
            client = Client(day1)
            _users(client, count, users * _FACTS_OF_A_USER // count)
            for number in range(users):
                whose = {"userAddress": f"user{number % count}"}
                _assembled_or_empty(client, asked[number], whose)
            used.append(proportional_memory(pid))
    memory_text = f"{used[0] / _MEGABYTE:.0f} / {used[1] / _MEGABYTE:.0f} MB"
    name = f"memory with {users:,} users of {_FACTS_OF_A_USER} facts"
    return Row(name, memory_text, "<= 1.3 x one user with all", used[0] / used[1], 1.3)


def _evidence(bench: Bench) -> Row:
    """What answers the written questions: in a prompt of 900 characters, and in ten hits."""
    name, target = "evidence in a prompt of 900 characters and 6 items", 0.9
    if bench.model_dir is None:
        return skipped(name, f">= {target} x that in the first ten hits", "no model")
    asked = [each for each in written_questions() if each.branch != "workshop"]  # observations
    prompts, hits = 0.0, 0.0
    for branches in STORES:
        folder = bench.folder / f"written-{branches[0]}"
        bench.remove(folder)
        store = open_store(bench.settings(folder), create=True)
        try:
            fill(store, branches, halves=2)
            for each in (each for each in asked if each.branch in branches):
                ctx = store.context(Caller(branch=each.branch))
                query = {"query": each.question}
                prompt_arguments = {**query, "agentWallet": "bench", "budget": {"mode": "compact"}}
                prompt: Any = COMPOSE.tools["context_assemble"].call(ctx, prompt_arguments)
                branch = find(store.repo, each.branch)
                request = SearchRequest(each.question, kinds=("facts", "messages"))
                search_answer = search(store.search, Ref(branch=branch.name), branch.id, request)
                prompts += _recall(each, [str(item["id"]) for item in prompt["items"]])
                hits += _recall(each, [str(hit.row["id"]) for hit in search_answer.hits])
        finally:
            store.close()
    recall_text = f"{prompts / len(asked):.3f} / {hits / len(asked):.3f}"
    return Row(
        name,
        recall_text,
        f">= {target} x that in the first ten hits",
        prompts / hits,
        target,
        at_least=True,
    )


def _recall(asked: Question, row_ids: Sequence[str]) -> float:
    ids = {row_id.partition("_")[2] for row_id in row_ids}
    return len(ids & asked.relevant) / len(asked.relevant)
