"""Spaces that are named by a list of labels, each of which is kept to the letter.

The name of a space has no upper case, no control characters and no blanks at its end
(`model.values.space`). A label may have all of these: what a name cannot hold is written as `%`
and two hex digits for each byte of its UTF-8. So two lists of labels never name the same space.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from day1.errors import InvalidRequest
from day1.model.rows.validation import clean
from day1.model.values.space import MAX_SPACE, space_name

_KIND: Final = re.compile(r"[a-z0-9_-]+")
_PLAIN: Final = re.compile(r"[a-z0-9_.,;!?@#$&*+=~^()\[\]{}<>|'\"`:-]")
"""ASCII characters that stay as they are; `/` divides labels, and `%` begins an escape."""
_ESCAPES: Final = re.compile(r"(?:%[0-9a-f]{2})+")
_LEAST: Final = 2


def space_of_labels(labels: Sequence[str]) -> str:
    """Return the name of the space that labels name, such as `langgraph:users/ann`.

    Args:
        labels: at least two: the first is the kind, of lower case letters, digits, `-` and `_`.

    Raises:
        InvalidRequest: they are no such labels, or too long together.
    """
    if len(labels) < _LEAST or not _KIND.fullmatch(labels[0]) or not all(labels):
        raise InvalidRequest(
            "A space is named by two or more labels. None of them is empty, and the first has only "
            "lower case letters, digits, - and _, as in ['app', 'Users', 'Ann']."
        )
    try:
        joined_labels = "/".join(_written(clean(label)) for label in labels[1:])
    except ValueError as exc:
        raise InvalidRequest(f"A label of a space {exc}.") from exc
    name = f"{labels[0]}:{joined_labels}"
    if len(name) > MAX_SPACE:
        raise InvalidRequest(
            f"The labels of a space may have at most {MAX_SPACE} characters together, where each "
            f"byte that a name cannot hold counts as `%XX`; these have {len(name)}: use shorter "
            "labels.",
            length=len(name),
        )
    return space_name(name)


def labels_of_space(name: str | None) -> list[str]:
    """Return the labels that name a space: the inverse of `space_of_labels`.

    Every name has labels, also one that nobody made of labels. None, for rows without a space, has
    none.
    """
    if name is None:
        return []
    kind, _, escaped_labels = name.partition(":")
    return [kind, *(_ESCAPES.sub(_read, label) for label in escaped_labels.split("/"))]


def _written(label: str) -> str:
    folded_label = unicodedata.normalize("NFC", unicodedata.normalize("NFC", label).casefold())
    is_folded = folded_label == label
    return "".join(
        letter if _PLAIN.match(letter) or (is_folded and _is_letter(letter)) else _escaped(letter)
        for letter in label
    )


def _is_letter(letter: str) -> bool:
    return letter > "\x7f" and letter.isalnum()


def _escaped(letter: str) -> str:
    return "".join(f"%{byte:02x}" for byte in letter.encode())


def _read(escapes: re.Match[str]) -> str:
    try:
        return bytes.fromhex(escapes[0].replace("%", "")).decode()
    except UnicodeDecodeError:
        return escapes[0]
