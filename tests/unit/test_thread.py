"""Ids of threads, and the order that they give to messages of one unit of work."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from day1.model.layers.thread import (
    Thread,
    conversation_id,
    record_id,
    transcript_message_id,
    turn_message_id,
)
from day1.model.rows.message_order import Link, in_sequence
from day1.model.values.wallet_space import Owner

NAMES = st.text(st.characters(min_codepoint=0x20, exclude_categories=["C"]), min_size=1)


@given(NAMES, st.integers(2, 1_000))
def test_messages_of_one_instant_stay_in_their_order(turn: str, count: int) -> None:
    ids = [turn_message_id("conv_1", turn, place) for place in range(1, count + 1)]
    assert ids == sorted(set(ids))
    links = [Link(i, before, 5) for i, before in zip(ids, [None, *ids], strict=False)]
    assert in_sequence(links[::-1], {}) == ids


def test_a_transcript_orders_its_messages_by_their_place() -> None:
    ids = [transcript_message_id("conv_1", "s", place, "same") for place in range(1, 1_001)]
    assert ids == sorted(set(ids))


@given(st.lists(st.tuples(NAMES, NAMES), min_size=2, max_size=2, unique=True))
def test_threads_of_other_owners_and_names_are_others(pairs: list[tuple[str, str]]) -> None:
    one, two = (Thread(Owner(wallet), name, "s") for wallet, name in pairs)
    assert one.conversation_id != two.conversation_id
    assert one.record_id != two.record_id


def test_a_thread_is_the_same_in_each_session_of_its_owner() -> None:
    one, two = (Thread(Owner("w", "ann"), "t", session) for session in ("a", "b"))
    assert one.conversation_id == two.conversation_id == conversation_id("agent:w/user:ann", "t")
    assert one.record_id != two.record_id
    assert Thread(Owner("w"), "t", "a").conversation_id != one.conversation_id


def test_the_ids_that_are_stored_never_change() -> None:
    assert conversation_id("agent:w/user:ann", "th1") == "conv_00000000002HSHCS6ZWVTN4AR1"
    assert conversation_id(None, "th1") == "conv_0000000000PBHCEBVRH08TW7Y5"
    assert record_id("conv_1", "s1") == "obs_00000000009Y3VVRBDK9SPN5T2"
    assert turn_message_id("conv_1", "t1", 2) == "msg_0000000002PS8PCJJKJTYHXT26"
    made = transcript_message_id("conv_1", "s1", 2, "hash")
    assert made == "msg_0000000002SCWRSS3N97TCH1Q9"


def test_equal_texts_in_one_place_of_two_threads_are_two_messages() -> None:
    names = product(("conv_1", "conv_2"), ("s1", "s2"), (1, 2), ("h1", "h2"))
    ids = [transcript_message_id(*name) for name in names]
    assert len({*ids}) == 16
