"""Names of branches: the one rule for all engines, and names made to fit it."""

import re
from collections.abc import Iterable

from day1.errors import InvalidRequest

MAX_NAME = 100
_LONGEST_PART = 40

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_HASH_LIKE = re.compile(r"[0-9a-f]{40}|[0-9a-v]{32}")


def check_name(name: str) -> str:
    """Check a branch name by the one rule for all engines, and return it.

    Raises:
        InvalidRequest: the name breaks the rule; the message states it.
    """
    name_parts = name.split("/")
    is_valid = (
        len(name) <= MAX_NAME
        and all(_PART.fullmatch(name_part) for name_part in name_parts)
        and ".." not in name
        and not any(name_part.endswith((".lock", ".")) for name_part in name_parts)
        and not _HASH_LIKE.fullmatch(name)
        and name.upper() not in {"HEAD", "WORKING", "STAGED"}
    )
    if not is_valid:
        raise InvalidRequest(
            f"A branch name is 1 to {MAX_NAME} ASCII letters, digits and . _ - in parts divided "
            "by /; a part begins with a letter, digit or _ and does not end in . or .lock. Not "
            "allowed: .., HEAD, WORKING, STAGED, and the form of a commit id.",
            branch=name[:MAX_NAME],
        )
    return name


def branch_part(name: str) -> str:
    """Make a name into one part of a branch name: `Fix login!` becomes `fix-login`.

    Characters that a branch name cannot have become hyphens; if nothing is left, the part is `x`.
    """
    plain_name = re.sub(r"[^a-z0-9._]+", "-", name.lower()).lstrip("-._")
    plain_name = re.sub(r"\.{2,}", ".", plain_name)[:_LONGEST_PART]
    while (shorter := plain_name.removesuffix(".lock").rstrip("-._")) != plain_name:
        plain_name = shorter
    return plain_name or "x"


def numbered(name: str, taken_names: Iterable[str]) -> str:
    """Return the name, or the name with the first free number from 2 on."""
    folded_names = {taken_name.lower() for taken_name in taken_names}
    if name.lower() not in folded_names:
        return name
    stem = name[: MAX_NAME - 6]
    return next(
        candidate
        for candidate in (f"{stem}-{number}" for number in range(2, len(folded_names) + 3))
        if candidate.lower() not in folded_names
    )
