"""Promoted facts say what their contexts say now, whatever happened to either in between."""

import json

import pytest
from hypothesis import strategies as st

from day1.model.branches.branch import MAIN
from day1.model.contexts.keyed import CONTEXT, passage_id
from day1.model.rows.change import Message, Query, Ref
from day1.model.rows.kind import EDIT, FACT, OBSERVATION, Row
from day1.services.contexts.contexts import NewContext, save
from day1.services.contexts.promoting import Promoted, Promotion, promote
from day1.services.history import restoring, reverting
from day1.services.merges.merging import merge
from day1.services.merges.planning import MergeRequest
from day1.services.rows import editing
from tests.sampling import EXAMPLES, hold
from tests.unit.services.conftest import ADA, Bench

SPACE = "project:metal"
TEXTS = ("a", "b", "a b", "b a", "a b c", "a c")
SIDE = "side"


class Words:
    """An embedder that reads one word at once: each word of a text is a passage."""

    name, dimension, stride = "words", 1, 1

    def passages(self, text: str) -> list[str]:
        return text.split()


class Namespace:
    """One namespace on two branches, with the deeds that change a context or its facts."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.bench.fork(SIDE)
        self.instants = [self.bench.now]

    def save(self, branch: str, key: str, text: str, **more: object) -> None:
        self._tick()
        new = NewContext(SPACE, key, text, **more)  # type: ignore[arg-type]  # any fields
        save(self.bench.repo, self.bench.branch(branch), new, ADA)

    def sync(self, branch: str) -> Promoted:
        self._tick()
        bench = self.bench
        wanted = Promotion(bench.branch(branch), SPACE, ADA, bench.now)
        return promote(bench.repo, Words(), wanted)  # type: ignore[arg-type]  # stands for the index

    def revert(self, branch: str) -> None:
        self._tick()
        tip = self.bench.store.commit_pending(branch)
        if self.bench.store.commits[tip].parents:
            undo = reverting.RevertRequest(self.bench.branch(branch), tip)
            reverting.revert(self.bench.repo, undo, ADA)

    def restore(self, branch: str, back: int) -> None:
        at = self.instants[-1 - back % len(self.instants)]
        self._tick()
        on = self.bench.branch(branch)
        self.bench.store.commit_pending(branch)
        state = self.bench.store.history.at(branch, at)
        request = restoring.RestoreRequest(on, state, "an instant")
        restoring.restore_to(self.bench.repo, request)

    def merge(self, branch: str) -> None:
        self._tick()
        other = MAIN if branch == SIDE else SIDE
        request = MergeRequest(self.bench.branch(branch), self.bench.branch(other), "auto")
        merge(self.bench.repo, request, ADA, self.bench.now)

    def retract(self, branch: str, number: int) -> None:
        self._tick()
        facts = [row for row in self.rows(branch, FACT) if row["status"] == "active"]
        if facts:
            chosen = editing.Removal([str(facts[number % len(facts)]["id"])])
            editing.remove(self.bench.repo, self.bench.branch(branch), chosen, ADA)

    def rows(self, branch: str, kind: object) -> list[Row]:
        with self.bench.store.reading(Ref(branch=branch)) as reading:
            return reading.find(kind, Query())  # type: ignore[arg-type]  # any kind

    def check(self, branch: str) -> None:
        """Facts that are found are the passages of their context as it is; a second run rests."""
        self.sync(branch)
        contexts = {str(row["id"]): row for row in self.rows(branch, OBSERVATION)}
        facts = [row for row in self.rows(branch, FACT) if row["status"] == "active"]
        for row_id, context in contexts.items():
            texts = str(context["summary"]).split()
            own = {row["id"]: row for row in facts if row["origin_id"] == row_id}
            numbered = [passage_id(row_id, number) for number in range(len(texts))]
            assert set(own) == set(numbered), (branch, context["summary"], own)
            for passage, text in zip(numbered, texts, strict=True):
                row = own[passage]
                assert (row["fact_text"], row["tags"]) == (text, context["tags"])
        again = self.sync(branch)
        assert (again.processed, again.pending) == (0, 0)

    def _tick(self) -> None:
        self.bench.now += 1_000
        self.instants.append(self.bench.now)


BRANCHES = st.sampled_from((MAIN, SIDE))
SAVE = st.tuples(
    st.just("save"), BRANCHES, st.sampled_from("kl"), st.sampled_from(TEXTS)
) | st.builds(
    lambda branch, text, tag: ("save", branch, "k", text, tag),
    BRANCHES,
    st.sampled_from(TEXTS),
    st.sampled_from("xy"),
)
DEED = st.one_of(
    SAVE,
    st.tuples(st.sampled_from(("sync", "sync", "revert", "merge")), BRANCHES),
    st.tuples(st.sampled_from(("restore", "retract")), BRANCHES, st.integers(0, 6)),
)


@pytest.mark.parametrize("examples", EXAMPLES)
def test_after_a_run_facts_are_the_passages_of_their_contexts(examples: int) -> None:
    def check(deeds: list[tuple[str, ...]]) -> None:
        space = Namespace()
        for name, branch, *rest in deeds:
            more = {"tags": rest.pop()} if len(rest) == 3 else {}
            getattr(space, name)(branch, *rest, **more)
        for branch in (MAIN, SIDE):
            space.check(branch)

    hold(examples, DEED, check)


def test_a_context_that_goes_back_takes_its_facts_back() -> None:
    space = Namespace()
    for text in ("a", "b", "a"):
        space.save(MAIN, "k", text)
        assert space.sync(MAIN).processed == 1
    space.check(MAIN)


def test_a_reverted_promotion_is_made_again() -> None:
    space = Namespace()
    space.save(MAIN, "k", "a b")
    space.bench.store.commit_pending(MAIN)
    space.sync(MAIN)
    space.revert(MAIN)
    assert not space.rows(MAIN, FACT)
    space.check(MAIN)


def test_a_corrected_fact_stays_until_its_context_changes() -> None:
    space = Namespace()
    space.save(MAIN, "k", "a b")
    space.sync(MAIN)
    (context,) = space.rows(MAIN, OBSERVATION)
    corrected = editing.Correction(passage_id(str(context["id"]), 1), {"fact_text": "better"})
    editing.update(space.bench.repo, space.bench.branch(), corrected, ADA)
    assert space.sync(MAIN).processed == 0
    space.save(MAIN, "k", "a c")
    space.check(MAIN)


def test_facts_that_an_earlier_version_promoted_count_and_go_back_too() -> None:
    """They do not say of which version of their context they were made: their newest edit does."""
    space = Namespace()

    def forget() -> None:
        with space.bench.store.changing(MAIN) as work:
            for row in work.find(FACT, Query(equal={"category": CONTEXT})):
                detail = json.dumps({"context": row["origin_id"]})
                work.change(FACT, str(row["id"]), {"detail": detail})
            work.commit(Message("change", "forget the version"))

    for text in ("a", "b"):
        space.save(MAIN, "k", text)
        assert space.sync(MAIN).processed == 1
        forget()
        assert space.sync(MAIN).processed == 0
    assert len(space.rows(MAIN, EDIT)) >= 2
    space.save(MAIN, "k", "a")
    space.check(MAIN)


@pytest.mark.parametrize(
    ("more", "promoted"),
    [
        ({}, True),
        ({"sensitivity": "secret"}, False),
        ({"expires_at": 1_500}, False),
        ({"expires_at": 900_000}, True),
    ],
    ids=["public", "secret", "expired", "expires later"],
)
def test_which_contexts_are_promoted(more: dict[str, object], promoted: bool) -> None:
    space = Namespace()
    space.save(MAIN, "k", "a b", **more)
    assert space.sync(MAIN).processed == promoted
    assert len(space.rows(MAIN, FACT)) == 2 * promoted


def test_a_promoted_fact_has_what_its_context_has_but_its_text() -> None:
    space = Namespace()
    space.save(MAIN, "k", "a b", tags=("x",), expires_at=900_000)
    space.sync(MAIN)
    (context,) = space.rows(MAIN, OBSERVATION)
    for fact in space.rows(MAIN, FACT):
        same = ("space", "tags", "expires_at", "sensitivity")
        assert [fact[column] for column in same] == [context[column] for column in same]
        assert (fact["category"], fact["origin_id"]) == (CONTEXT, context["id"])


@pytest.mark.parametrize(
    "meanwhile", [{"text": "c"}, {"text": "a b", "sensitivity": "secret"}], ids=["new", "secret"]
)
def test_a_context_that_changes_while_it_is_cut_is_not_promoted(meanwhile: dict[str, str]) -> None:
    space = Namespace()
    space.save(MAIN, "k", "a b")

    class Slow(Words):
        def passages(self, text: str) -> list[str]:
            changed = dict(meanwhile)
            space.save(MAIN, "k", changed.pop("text"), **changed)
            return super().passages(text)

    wanted = Promotion(space.bench.branch(), SPACE, ADA, space.bench.now)
    done = promote(space.bench.repo, Slow(), wanted)  # type: ignore[arg-type]  # as much as is asked
    assert (done.processed, done.pending) == (0, 1)
    assert space.rows(MAIN, FACT) == []


@pytest.mark.parametrize(("most", "expected"), [(1, (1, 2)), (2, (2, 1)), (9, (3, 0))])
def test_a_run_promotes_so_many_contexts_the_oldest_first(
    most: int, expected: tuple[int, int]
) -> None:
    space = Namespace()
    for key in "klm":
        space.save(MAIN, key, key)
    wanted = Promotion(space.bench.branch(), SPACE, ADA, space.bench.now, most)
    done = promote(space.bench.repo, Words(), wanted)  # type: ignore[arg-type]  # as much as is asked
    assert (done.processed, done.pending) == expected
    texts = sorted(str(row["fact_text"]) for row in space.rows(MAIN, FACT))
    assert "".join(texts) == "klm"[: expected[0]]
    assert len(done.hashes) == expected[0]
