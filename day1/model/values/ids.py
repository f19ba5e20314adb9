"""Ids: texts that begin with their kind and are ordered by time.

Keys in the order of time keep the tree of the engine compact (it grows about ten times less for
each commit than with random keys). day1 makes every id itself, since auto-increment numbers of two
clones would collide.
"""

import hashlib
import re
import secrets
from collections import Counter
from collections.abc import Callable

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(one + other for one in _CROCKFORD for other in _CROCKFORD)
_RANDOM_BITS = 80
LONG = 65_536
"""Characters that are hashed at once. Instead of a longer text, a revision has its hash: to write
8 MiB as JSON takes ten times as long."""
_ULID = re.compile(rf"(?:[a-z]+_)?([0-7][{_CROCKFORD}]{{9}})[{_CROCKFORD}]{{16}}")

NewId = Callable[[str, int], str]
"""A function that makes an id: (prefix, microseconds UTC) -> `prefix_01JD…`."""


def ulid(millisecond: int, randomness: int) -> str:
    """Write a ULID: 48 bits of time, 80 bits of randomness, 26 Crockford letters."""
    ulid_number = (millisecond << _RANDOM_BITS) | randomness
    return "".join([_PAIRS[(ulid_number >> shift) & 1023] for shift in range(120, -1, -10)])


def new_id(prefix: str, now: int) -> str:
    """Make a fresh id of kind `prefix` for the instant `now` (microseconds UTC)."""
    return f"{prefix}_{ulid(now // 1000, secrets.randbits(_RANDOM_BITS))}"


def derived_id(prefix: str, happened_at: int | None, *keys: str) -> str:
    """Make the id that the same foreign item gets in every run.

    The time part is a `happened_at` that never changes (a git author date), else 0; the random
    part is the first 80 bits of SHA-256 over the source's name and the item's stable keys.
    """
    digest = hashlib.sha256("\x1f".join(keys).encode()).digest()
    millisecond = max(0, (happened_at or 0) // 1000)
    return f"{prefix}_{ulid(millisecond, int.from_bytes(digest[:10], 'big'))}"


def is_made(prefix: str, text: str) -> bool:
    """Whether a text is an id of kind `prefix` as these functions make it."""
    return text.startswith(f"{prefix}_") and _ULID.fullmatch(text) is not None


def number_in(made_id: str) -> int:
    """Return the number that an id encodes; `ulid(0, number)` writes the same id again."""
    return _number(made_id.rpartition("_")[2])


def ids_of_request(request_id: str, *whose: str) -> NewId:
    """Return a function that makes the same ids for every repetition of a request, on any node.

    Those of one kind are numbered in the order in which they are asked for. The time part is that
    of a request id which is a ULID, else 0.

    Args:
        request_id: as the client gives it.
        whose: what else the request is told apart by: the agent, the branch.
    """
    ulid_match = _ULID.fullmatch(request_id)
    ulid_ms = 0 if ulid_match is None else _number(ulid_match[1])
    count_by_prefix: Counter[str] = Counter()

    def make(prefix: str, _now: int) -> str:
        count_by_prefix[prefix] += 1
        id_parts = ("request", prefix, str(count_by_prefix[prefix]), request_id, *whose)
        return derived_id(prefix, ulid_ms * 1000, *id_parts)

    return make


def _number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 32 + _CROCKFORD.index(letter)
    return number


def content_hash(text: str) -> str:
    """Return the SHA-256 of the exact UTF-8 text, in hex: the key of the text in the index."""
    digest = hashlib.sha256()
    for start in range(0, len(text), LONG):  # a copy of 8 MiB takes longer than its hash
        digest.update(text[start : start + LONG].encode())
    return digest.hexdigest()


def short_hash(*parts: str) -> str:
    """Hash several texts, with a separator between them, to 32 hex digits."""
    return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:32]
