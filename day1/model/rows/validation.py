"""Checks of texts and numbers from outside, and which texts look like a secret."""

import re
from collections.abc import Iterator
from typing import Final, TypeVar

from pydantic import JsonValue

from day1.errors import Refused
from day1.model.rows.kind import canonical
from day1.model.values.parts import MAX_TEXT, TooLong

MAX_INTEGER: Final = 2**53
_SURROGATE = re.compile("[\ud800-\udfff]")
J = TypeVar("J", dict[str, JsonValue], list[JsonValue])


def clean(text: str) -> str:
    """Check that a text has no NUL and no half characters, and return it.

    Raises:
        ValueError: it has some.
    """
    if "\0" in text:
        raise ValueError("must not contain NUL characters")
    if not text.isascii() and _SURROGATE.search(text):
        raise ValueError("must not contain half a character (a lone surrogate)")
    return text


def filled(text: str) -> str:
    """Check that a text is clean and not blank, and return it.

    Raises:
        ValueError: it does not.
    """
    if not clean(text).strip():
        raise ValueError("must not be empty")
    return text


def fits_one_memory(text: str) -> str:
    """Check that a text is no longer than one memory may be, and return it.

    Raises:
        TooLong: it is.
    """
    if len(text) > MAX_TEXT:
        raise TooLong(len(text))
    return text


def one_memory(text: str) -> str:
    """Check that a text is clean, not blank and short enough for one memory, and return it.

    Raises:
        ValueError: it is not so.
    """
    return filled(fits_one_memory(text))


def sound(value: J) -> J:
    """Check the texts, numbers and length of a JSON value, so that any reader reads the same.

    Raises:
        ValueError: it breaks one.
    """
    for key_or_value in _parts(value):
        if isinstance(key_or_value, str):
            clean(key_or_value)
        elif (
            isinstance(key_or_value, int | float)
            and not -MAX_INTEGER <= key_or_value <= MAX_INTEGER
        ):
            raise ValueError("numbers must be finite and within 2^53")
    if len(canonical(value)) > MAX_TEXT:
        raise ValueError(f"must have at most {MAX_TEXT} characters as JSON")
    return value


def _parts(value: JsonValue) -> Iterator[JsonValue]:
    if isinstance(value, dict):
        for key, inner_value in value.items():
            yield key
            yield from _parts(inner_value)
    elif isinstance(value, list):
        for inner_value in value:
            yield from _parts(inner_value)
    else:
        yield value


_SHAPES = (
    # A shape begins with letters and looks back at the character before them: so the interpreter
    # finds the letters quickly in a long text.
    ("a private key", ("-----begin",), re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----")),
    (
        "an AWS access key",
        ("akia", "asia"),
        re.compile(r"A(?:KI|SI)A(?<!\w[A-Z]{4})[0-9A-Z]{16}\b"),
    ),
    (
        "a GitHub token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        re.compile(r"gh[pousr]_(?<!\w[a-z]{3}_)[A-Za-z0-9]{36}"),
    ),
    ("a GitHub token", ("github_pat_",), re.compile(r"github_pat_(?<!\wgithub_pat_)\w{30}")),
    ("an API key", ("sk-",), re.compile(r"sk-(?<!\wsk-)[A-Za-z0-9_-]{20}")),
    ("a Slack token", ("xox",), re.compile(r"xox[abprs]-(?<!\w[a-z]{4}-)[A-Za-z0-9-]{10}")),
    (
        "a JSON web token",
        (".eyj",),
        # Of what one piece holds, only its first `eyJ` is tried: it leaves the most behind it.
        re.compile(r"(?<![\w-])(?>[\w-]*?\beyJ)[\w-]{10,}+\.eyJ[\w-]{10,}+\.[\w-]{10}"),
    ),
)
"""Kinds of secrets, parts of which each such secret has one, in lower case, and their shapes. Most
texts have no part, and to look for the parts takes a twentieth of the time of the shapes."""
_PASSWORD = re.compile(r"pass(?<!\wpass)(?:word|wd)?\s*[=:]\s*(?![<{$*\s])\S{6}")
"""The shape of a password, in lower case."""


def looks_secret(*texts: str | None) -> str | None:
    """Return the kind of secret that one of the texts seems to hold; None if none does."""
    for text in filter(None, texts):
        folded = text.casefold()
        for name, parts, shape in _SHAPES:
            if any(map(folded.__contains__, parts)) and shape.search(text):
                return name
        if _PASSWORD.search(folded):
            return "a password"
    return None


def secret_notes(rule: str, *texts: str | None) -> list[str]:
    """Return a warning for texts that look like a secret, or refuse them (`rule` is the setting).

    Raises:
        Refused: the rule is to refuse it.
    """
    secret_kind = None if rule == "ignore" else looks_secret(*texts)
    if secret_kind is None:
        return []
    if rule == "refuse":
        raise Refused(
            f"The text looks as if it holds {secret_kind}: leave the secret out.",
            looks_like=secret_kind,
        )
    return [f"This looks as if it holds {secret_kind}; memory is shared and keeps its history."]
