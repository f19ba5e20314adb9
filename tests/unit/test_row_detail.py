"""The detail of a row of Compose names its owner as the caller spelled it."""

import json

from day1.model.layers.row_detail import detail_of, owner_in
from day1.model.values.wallet_space import Owner


def test_an_owner_comes_back_as_it_was_spelled() -> None:
    for owner in (Owner("W/user:É", "Ann", "h"), Owner("w"), Owner()):
        assert owner_in(detail_of(owner)) == owner


def test_empty_values_are_left_out() -> None:
    detail = json.loads(detail_of(Owner("w"), threadId="t", metadata={}, retention=None))
    assert detail == {"via": "compose", "agentWallet": "w", "threadId": "t"}


def test_the_detail_of_others_names_no_owner() -> None:
    assert owner_in('{"agentWallet":"w"}') == Owner()
    assert owner_in('{"via":"compose","agentWallet":7}') == Owner()
    assert owner_in(None) == owner_in("[redacted]") == Owner()
