"""The spaces of a wallet, its users and their devices.

A part of a name never reads as another part: the wallet `W/user:ann` is not the user `ann` of the
wallet `W`, and the wallets `A` and `a` are two, though the names of spaces are compared without
case.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Final

_PLAIN: Final = re.compile(r"[a-z0-9._-]{1,64}")
"""The pattern of a name that a space holds as it is; a space holds the hash of any other."""
_NOT_PLAIN: Final = re.compile(r"[^a-z0-9]+")
_SLUG: Final = 24
"""Letters of a hashed name that stay readable before its hash, at most."""
_HASH_LENGTH: Final = 16
"""Number of hexadecimal digits in the hash of a name."""


@dataclass(frozen=True)
class Owner:
    """The owner of the rows of a call: a wallet, perhaps one of its users, perhaps a device."""

    wallet: str | None = None
    """The wallet; None: the rows without a space."""
    user: str | None = None
    device: str | None = None

    @property
    def space(self) -> str | None:
        """The space of a new row; None: no space, which all share."""
        return self.spaces[0]

    @cached_property
    def spaces(self) -> tuple[str | None, ...]:
        """The spaces that the owner sees: its own, those above it, and None for shared rows."""
        visible_spaces: list[str | None] = [None]
        if self.wallet is None:
            return (None,)
        path = ""
        for kind, name in (("agent", self.wallet), ("user", self.user), ("hai", self.device)):
            if name is not None:
                path += f"{'/' if path else ''}{kind}:{_part(name)}"
                visible_spaces.insert(0, path)
        return tuple(visible_spaces)


def _part(name: str) -> str:
    """Write a name so that no other name is written alike: as it is, or with its hash."""
    if _PLAIN.fullmatch(name):
        return name
    slug = _NOT_PLAIN.sub("-", name.lower())[:_SLUG].strip("-")
    return f"{slug}~{hashlib.sha256(name.encode()).hexdigest()[:_HASH_LENGTH]}"
