"""The spaces of wallets, users and devices: no name forges another."""

from hypothesis import given, settings
from hypothesis import strategies as st

from day1.model.values.space import space_name
from day1.model.values.wallet_space import Owner

HOSTILE = ("a", "A", "a/user:b", "b", "a~", "user:b", "a/hai:c", "é", "e\u0301", "%2F", ".", "😀" * 80, "x" * 300, " a", "a ", "-")  # fmt: skip
NAMES = st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300)  # fmt: skip
OWNERS = st.builds(Owner, NAMES, st.none() | NAMES, st.none() | NAMES)


@settings(max_examples=500)
@given(OWNERS, OWNERS)
def test_two_owners_never_have_one_space(one: Owner, other: Owner) -> None:
    assert (one.space == other.space) == (one == other)


@given(OWNERS)
def test_each_space_is_a_name_that_stays_as_it_is(owner: Owner) -> None:
    *named, shared = owner.spaces
    assert shared is None
    assert [space_name(str(space)) for space in named] == named


def test_an_owner_sees_its_space_those_above_it_and_the_shared_rows() -> None:
    assert Owner("w", "u", "h").spaces == ("agent:w/user:u/hai:h", "agent:w/user:u", "agent:w", None)  # fmt: skip
    assert Owner("w", None, "h").spaces == ("agent:w/hai:h", "agent:w", None)
    assert Owner("w", "u").spaces == ("agent:w/user:u", "agent:w", None)
    assert Owner("w").spaces == ("agent:w", None)
    assert (Owner().space, Owner().spaces) == (None, (None,))


def test_the_names_of_spaces_that_are_stored_never_change() -> None:
    wallet = "agent:0xab-c~ce04b79976cc2d73"
    assert Owner("/0xAb c/", "É").spaces == (f"{wallet}/user:~a755f65d4e5201d9", wallet, None)


def test_the_wallet_of_a_forged_name_is_no_user() -> None:
    forged = Owner("w/user:ann")
    assert forged.space is not None
    assert forged.space.startswith("agent:w-user-ann~")
    assert set(forged.spaces).isdisjoint({Owner("w", "ann").space, "agent:w"})
