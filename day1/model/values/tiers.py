"""The words of tiers: how many approvals a change needs, and how a ledger says it.

Ledgers keep the words of version 0.1, `unseen` and `look`, because that version reads no others and
may use the same store. They are accepted as input until the version after this one.
"""

from typing import Final, Literal, get_args

Tier = Literal["none", "one", "two"]
TIERS: Final[tuple[Tier, ...]] = get_args(Tier)
"""The tiers from the least strict on; the index of a tier is the number of approvals it needs."""
_STORED: Final[dict[str, Tier]] = {"unseen": "none", "look": "one"}
"""Words for tiers in ledgers that differ from the tier's own name -> the tier."""
_WORD_BY_TIER: Final = {tier: word for word, tier in _STORED.items()}
WORDS: Final[dict[str, Tier]] = {**{tier: tier for tier in TIERS}, **_STORED}
"""Every word that names a tier."""


def shown_rule(line: str) -> str:
    """Return a rule from a ledger with the present word for its tier."""
    tier, separator, conditions = line.partition(" ")
    return f"{WORDS.get(tier, tier)}{separator}{conditions}"


def stored_rule(line: str) -> str:
    """Return a rule with the word for its tier that ledgers store."""
    tier, separator, conditions = line.partition(" ")
    return f"{_WORD_BY_TIER.get(tier, tier)}{separator}{conditions}"  # type: ignore[call-overload]  # any word
