"""`Day1Store` does what LangGraph's own store in memory does, and has branches besides."""

import asyncio
import itertools
import string
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("langgraph.store.base", reason="the extra `langgraph` is not installed")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langchain_core.runnables.config import var_child_runnable_config
from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

import day1
from day1 import errors
from day1.integrations.langgraph import Day1Store, per_thread
from tests.wires.python_places import QUIET

ANN = ("users", "Ann")
WORDS = (
    "a",
    "A",
    "a/b",
    "a%2fb",
    "%",
    ":",
    " ",
    "\n",
    "é",
    "e\u0301",
    "users",
    "users2",
    "Ann",
    "漢",
    "🐦",
)
LABEL = st.sampled_from(WORDS)
NAMESPACE = st.lists(LABEL, min_size=1, max_size=3).map(tuple)
KEY = st.sampled_from((*WORDS, "a.b", "k\tl"))
NUMBER = st.integers(2, 9) | st.sampled_from([2.5, -1.0, 1e30])
TEXT = st.text(string.printable, max_size=5)
VALUE = st.fixed_dictionaries(
    {"n": NUMBER, "s": TEXT, "b": st.booleans(), "d": st.fixed_dictionaries({"x": NUMBER})},
    optional={"o": NUMBER, "list": st.lists(NUMBER, max_size=2)},
)
OPERATOR = st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte"])
FILTER = st.fixed_dictionaries(
    {},
    optional={
        "n": NUMBER | st.dictionaries(OPERATOR, NUMBER, min_size=1, max_size=2),
        "s": TEXT | st.fixed_dictionaries({"$ne": TEXT}),
        "b": st.booleans(),
        "d": st.fixed_dictionaries({"x": NUMBER}),
        "o": NUMBER | st.fixed_dictionaries({"$ne": NUMBER}),
        "list": st.lists(NUMBER, max_size=2),
    },
)
PATH = st.lists(LABEL | st.just("*"), min_size=1, max_size=2).map(tuple)
MATCH = st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PATH)
LIST = st.builds(
    ListNamespacesOp,
    st.none() | st.lists(MATCH, max_size=2).map(tuple),
    st.none() | st.integers(1, 3),
    st.sampled_from([100, 2]),
    st.sampled_from([0, 1]),
)
SEARCH = st.tuples(st.lists(LABEL, max_size=2).map(tuple), st.none() | FILTER).map(
    lambda parts: SearchOp(*parts, limit=100)
)
PUT = st.tuples(NAMESPACE, KEY, st.none() | VALUE).map(lambda parts: PutOp(*parts))
GET = st.tuples(NAMESPACE, KEY).map(lambda parts: GetOp(*parts))
BATCH = st.tuples(st.lists(LIST, max_size=1), st.lists(PUT | GET | SEARCH, max_size=6)).map(
    lambda parts: [*parts[0], *parts[1]]
)
_names = itertools.count(1)


def plain(op: Op, result: Any) -> Any:
    """What two stores must agree about: no times, and no order of a search without a query."""
    if isinstance(result, Item):
        return tuple(result.namespace), result.key, result.value
    if isinstance(op, SearchOp):
        return sorted((repr(plain(GetOp((), ""), item)) for item in result), key=str)
    return result


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[day1.Memory]:
    with day1.connect(tmp_path_factory.mktemp("tried") / "store", settings=QUIET) as memory:
        yield memory


@pytest.fixture
def store(memory: day1.Memory) -> Day1Store:
    return Day1Store(memory)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(BATCH, min_size=1, max_size=5))
def test_the_same_operations_have_the_same_results(
    tried: day1.Memory, batches: list[list[Op]]
) -> None:
    ours, theirs = Day1Store(tried, name=f"n{next(_names)}"), InMemoryStore()
    for ops in batches:
        pairs = zip(ops, ours.batch(ops), theirs.batch(ops), strict=True)
        for op, our, their in pairs:
            assert plain(op, our) == plain(op, their), op
        for namespace in [each for each, items in theirs._data.items() if not items]:
            del theirs._data[namespace]  # it lists namespaces that have no items any more
    everything = SearchOp((), None, 1_000)
    assert plain(everything, ours.batch([everything])[0]) == plain(
        everything, theirs.batch([everything])[0]
    )


def test_an_item_is_put_got_found_and_deleted(store: Day1Store) -> None:
    store.put(ANN, "prefs", {"theme": "dark", "n": 1.0})
    item = store.get(ANN, "prefs")
    assert item is not None
    assert (item.namespace, item.key, item.value) == (ANN, "prefs", {"theme": "dark", "n": 1.0})
    assert item.created_at == item.updated_at
    store.put(ANN, "prefs", {"theme": "light"})
    changed = store.get(ANN, "prefs")
    assert changed is not None
    assert (changed.value, changed.created_at) == ({"theme": "light"}, item.created_at)
    assert changed.updated_at > item.updated_at
    assert [found.value for found in store.search(("users",), filter={"theme": "light"})] == [
        {"theme": "light"}
    ]
    assert store.list_namespaces() == [ANN]
    store.delete(ANN, "prefs")
    store.delete(ANN, "prefs")
    assert store.get(ANN, "prefs") is None
    assert store.search(()) == []
    assert store.list_namespaces() == []


def test_two_stores_of_one_memory_share_nothing(memory: day1.Memory) -> None:
    one, two = Day1Store(memory), Day1Store(memory, name="Two")
    one.put(ANN, "k", {"n": 1})
    assert two.get(ANN, "k") is None
    assert two.search(()) == []
    assert [entry.space for entry in memory.entries()] == ["langgraph:store/users/%41nn"]


def test_reads_of_a_batch_see_the_state_before_it_and_its_writes_are_one_commit(
    memory: day1.Memory, store: Day1Store
) -> None:
    store.put(ANN, "old", {"n": 1})
    store.put(ANN, "k", {"n": 1})
    before = len(memory.log())
    results = store.batch(
        [
            PutOp(ANN, "k", {"n": 2}),
            GetOp(ANN, "k"),
            PutOp(ANN, "old", None),
            SearchOp(("users",)),
            PutOp(ANN, "new", {"n": 8}),
            PutOp(ANN, "new", {"n": 9}),
            GetOp(ANN, "new"),
        ]
    )
    assert results[1].value == {"n": 1}  # type: ignore[union-attr]  # it is an item
    assert sorted(item.key for item in results[3]) == ["k", "old"]  # type: ignore[union-attr]  # a list of items
    assert results[6] is None
    assert {item.key: item.value["n"] for item in store.search(())} == {"k": 2, "new": 9}
    assert len(memory.log()) == before + 2  # the pending rows', and one for the batch


def test_more_than_a_thousand_items_are_put_and_found(store: Day1Store) -> None:
    store.batch([PutOp(("many",), f"k{number}", {"n": number}) for number in range(1_001)])
    assert len(store.search(("many",), limit=2_000)) == 1_001
    page = store.search(("many",), limit=3, offset=999)
    assert len(page) == 2
    assert len(store.batch([GetOp(("many",), f"k{number}") for number in range(1_001)])) == 1_001
    assert store.search(("many",), limit=0) == []


def test_a_query_finds_what_fits_best_with_scores(store: Day1Store) -> None:
    store.put(("docs",), "a", {"text": "The lathe needs oil.", "by": {"name": "Ann"}})
    store.put(("docs",), "b", {"text": "The mill needs sand."})
    store.put(("docs",), "c", {"text": "Oil and oil."}, index=False)
    store.put(("docs",), "d", {"text": "Oil.", "by": {"name": "Bob"}}, index=["by.name"])
    found = store.search(("docs",), query="oil for the lathe")
    assert found[0].key == "a"
    assert 0 < (found[0].score or 0) <= 1
    assert {item.key for item in store.search(("docs",), query="oil")} == {"a"}
    assert [item.key for item in store.search(("docs",), query="bob")] == ["d"]
    assert store.search(("docs",))[0].score is None


@pytest.mark.parametrize(
    "query", ["oil " * 20_000, "oil\0lathe", "\ud800 oil"], ids=["long", "NUL", "half a character"]
)
def test_a_query_that_no_request_may_have_finds_by_the_rest_of_it(
    store: Day1Store, query: str
) -> None:
    store.put(("docs",), "a", {"text": "The lathe needs oil."})
    store.put(("docs",), "b", {"text": "Ann."})
    assert store.search(("docs",), query=query)[0].key == "a"
    assert asyncio.run(store.asearch(("docs",), query=query))[0].key == "a"


@pytest.mark.parametrize("query", ["", " ", "\n\t", "\0", "\ud800"])
def test_a_query_without_words_finds_all_items(store: Day1Store, query: str) -> None:
    in_memory = InMemoryStore()
    for each in (store, in_memory):
        each.put(("docs",), "a", {"n": 1})
        each.put(("docs",), "b", {"n": 2})
    found, expected = (each.search(("docs",), query=query) for each in (store, in_memory))
    assert {item.key for item in found} == {item.key for item in expected} == {"a", "b"}
    assert [item.score for item in found] == [None, None]


def test_fields_of_the_store_are_searched_unless_a_put_names_others(memory: day1.Memory) -> None:
    store = Day1Store(memory, index={"fields": ["title", "parts[*].text"]})
    store.put(("docs",), "a", {"title": "Lathe", "parts": [{"text": "oil"}], "note": "sand"})
    assert store.search((), query="oil")
    assert not store.search((), query="sand")


def test_a_run_has_a_branch_of_its_own_and_a_clash_is_held(
    memory: day1.Memory, store: Day1Store
) -> None:
    store.put(ANN, "mood", {"n": 1})
    one, two = store.on(f"{memory.name}/one"), store.on(f"{memory.name}/two")
    for number, run in enumerate((one, two)):
        run.put(ANN, "mood", {"n": 10 + number})
        run.put(("runs", str(number)), "own", {"n": number})
    mood = store.get(ANN, "mood")
    assert mood is not None
    assert mood.value == {"n": 1}
    assert store.merge(f"{memory.name}/one").held_count == 0
    merge = store.merge(f"{memory.name}/two")
    assert store.list_namespaces(prefix=("runs",)) == [("runs", "0"), ("runs", "1")]
    (held,) = merge.held()
    held.decide("theirs")
    mood = store.get(ANN, "mood")
    assert mood is not None
    assert mood.value == {"n": 11}
    assert store.blame(ANN, "mood").cells[0].agent_id == "writer"
    with pytest.raises(errors.NotFound):
        store.blame(ANN, "nothing")


def test_a_store_as_of_a_moment_reads_and_does_not_write(
    memory: day1.Memory, store: Day1Store
) -> None:
    store.put(ANN, "k", {"n": 1})
    item = store.get(ANN, "k")
    assert item is not None
    store.put(ANN, "k", {"n": 2})
    store.put(("later",), "k", {"n": 2})
    then = store.as_of(item.updated_at)
    assert then.get(ANN, "k") == item
    assert [found.value for found in then.search(())] == [{"n": 1}]
    assert then.list_namespaces() == [ANN]
    with pytest.raises(errors.Refused):
        then.put(ANN, "k", {"n": 3})


@contextmanager
def in_thread(thread: str) -> Iterator[None]:
    """Call as a node of a graph in this thread does."""
    var = var_child_runnable_config.set({"configurable": {"thread_id": thread}})
    yield
    var_child_runnable_config.reset(var)


def test_each_thread_may_have_a_branch_of_its_own(memory: day1.Memory) -> None:
    store = Day1Store(memory, branch=lambda: f"{memory.name}/{per_thread()}")
    with in_thread("t1"):
        store.put(ANN, "k", {"n": 1})
        asyncio.run(store.aput(ANN, "l", {"n": 1}))
        assert per_thread() == "thread/t1"
    assert per_thread() == "main"
    assert memory.branch(f"{memory.name}/thread/t1").entries().total == 2
    assert memory.entries().total == 0
    with pytest.raises(errors.UnknownBranch):
        Day1Store(memory.branch("nowhere")).put(ANN, "k", {"n": 1})


@pytest.mark.parametrize("thread", ["A", "a b", "é", "x" * 200, "", "../main", 7])
def test_every_id_of_a_thread_names_a_branch(memory: day1.Memory, thread: str) -> None:
    with in_thread(thread):
        name = per_thread()
    assert memory.create_branch(f"{memory.name}/{name}").name
    with in_thread(f"{thread}x"):
        assert per_thread() != name


def test_calls_from_an_event_loop(store: Day1Store) -> None:
    async def work() -> list[Any]:
        await asyncio.gather(*(store.aput(ANN, f"k{n}", {"n": n}) for n in range(10)))
        await store.adelete(ANN, "k3")
        assert await store.aget(ANN, "k3") is None
        assert await store.alist_namespaces() == [ANN]
        return await store.asearch(("users",), filter={"n": {"$gt": 7}})

    assert sorted(item.value["n"] for item in asyncio.run(work())) == [8, 9]
    assert asyncio.run(store.aget(ANN, "k1")) is not None  # from another loop


@pytest.mark.parametrize("namespace", [(), ("a.b",), ("",), ("langgraph", "x"), ("a\0",), (1,)])
def test_what_is_no_namespace_is_langgraphs_own_error(store: Day1Store, namespace: Any) -> None:
    with pytest.raises(InvalidNamespaceError):
        store.put(namespace, "k", {"n": 1})


def test_a_filter_by_what_no_value_has_finds_what_is_not_equal(store: Day1Store) -> None:
    store.put(ANN, "k", {"n": 1, "s": "x"})
    infinite, nan = float("inf"), float("nan")
    fitting: list[dict[str, Any]] = [
        {"n": {"$lt": infinite}}, {"n": {"$gt": -infinite}}, {"n": {"$ne": nan}},
        {"n": {"$lt": 10**100}}, {"s": {"$ne": "x\0"}},
    ]  # fmt: skip
    for one in fitting:
        assert store.search(ANN, filter=one), one
    unfit: list[dict[str, Any]] = [
        {"n": nan}, {"n": {"$gt": nan}}, {"n": infinite}, {"s": "x\0"},
    ]  # fmt: skip
    for none in unfit:
        assert not store.search(ANN, filter=none), none


def test_what_langgraph_does_not_know_is_a_value_error(store: Day1Store) -> None:
    for key in ["a'b", 'a"', "a)", "a[0]"]:
        with pytest.raises(ValueError, match="Invalid filter key"):
            store.search((), filter={key: 1})
    with pytest.raises(ValueError, match=r"Unsupported operator: \$in"):
        store.search((), filter={"n": {"$in": [1]}})
    with pytest.raises(ValueError, match="Unsupported operator: x"):
        store.search((), filter={"n": {"$eq": 1, "x": 1}})
    indexes: list[Any] = [True, 5, [5], ["a", None]]
    for index in indexes:
        with pytest.raises(ValueError, match="Invalid index"):
            store.put(ANN, "k", {"a": "b"}, index=index)
    store.put(ANN, "k", {"n": 1})
    with pytest.raises(ValueError, match="Unsupported match type"):
        store.batch([ListNamespacesOp((MatchCondition("middle", ("a",)),))])  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ValueError, match="Unknown operation"):
        store.batch([("nothing",)])  # type: ignore[list-item]  # wrong on purpose


@pytest.mark.parametrize("value", [{"n": float("nan")}, {"n": {1}}, {"n": b"x"}], ids=repr)
def test_what_is_no_json_is_refused_and_nothing_of_its_batch_is_written(
    store: Day1Store, value: Any
) -> None:
    with pytest.raises(errors.InvalidRequest):
        store.batch([PutOp(ANN, "a", {"n": 1}), PutOp(ANN, "b", value)])
    with pytest.raises(errors.ValueTooLarge):
        store.put(ANN, "a", {"n": "x" * 8_388_601})
    assert store.search(()) == []


def test_a_store_connects_and_closes_what_it_connected(tmp_path: Any) -> None:
    with Day1Store(tmp_path / "memory") as store:
        store.put(ANN, "k", {"n": 1})
    with pytest.raises(errors.HandleClosed):
        store.get(ANN, "k")
    with day1.connect(tmp_path / "memory", settings=QUIET) as memory:
        with Day1Store(memory) as again:
            assert again.get(ANN, "k") is not None
        assert memory.entries().total == 1


def test_items_that_are_too_large_for_one_answer_are_got_and_found(limited: day1.Memory) -> None:
    store = Day1Store(limited)
    for letter in "abc":
        store.put(("long",), letter, {"text": f"apple {letter} " * 400_000})
    items: list[Any] = store.batch([GetOp(("long",), letter) for letter in "abxc"])
    assert [item and item.key for item in items] == ["a", "b", None, "c"]
    assert sorted(item.key for item in store.search(("long",))) == ["a", "b", "c"]
    (item,) = store.search(("long",), query="apple", limit=1, offset=2)
    assert item.value["text"].startswith("apple")
    assert len(store.search(("long",), query="apple", limit=3)) == 3
