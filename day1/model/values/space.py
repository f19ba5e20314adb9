"""The names of spaces: parts of a branch's memory that a call can be about alone.

A row has one space, or none and is shared by its branch. A space is a filter and no wall: who may
read the branch may read every space of it.
"""

import re
import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

from day1.errors import InvalidRequest

MAX_SPACE: Final = 255
SHARED: Final = "shared"
"""The name for the rows without a space, which all share."""
EVERY: Final = "*"
"""The name for all rows, whatever their space."""
_KIND: Final = "namespace"
"""The kind of a space whose name has no kind."""
_FORM = re.compile(r"[\w-]++:\s*+[^\s/][^/]*+(?:/\s*+[^\s/][^/]*+)*+")
_BELOW: Final = "/"
"""The separator between the name of a space and the name of a space below it."""
_AFTER_BELOW: Final = chr(ord(_BELOW) + 1)
_SIMILAR: Final = 3
"""Similar names that are suggested for an unknown one."""
_ENOUGH: Final = 0.6
"""The least similarity of spelling, as `difflib` measures it; its own default."""


def space_name(text: str) -> str:
    """Normalise the name of a space; all rows and requests have it in this form.

    A name is `kind:name`, such as `project:metal`, and may go on with `/kind:name`. A bare word
    is a `namespace`. Names are compared without case, so they are kept folded.

    Raises:
        InvalidRequest: it is no such name.
    """
    try:
        name = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).strip()
        name.encode()
    except UnicodeEncodeError:
        name = ""
    if name and ":" not in name:
        name = f"{_KIND}:{name}"
    if len(name) > MAX_SPACE:
        raise InvalidRequest(f"A space's name may have at most {MAX_SPACE} characters: shorten it.")
    if any(unicodedata.category(letter) == "Cc" for letter in name) or not _FORM.fullmatch(name):
        raise InvalidRequest(
            "A space is `kind:name`, such as project:metal or agent:writer/user:ann, "
            "without control characters; WORD alone means namespace:WORD.",
            given=text[:40],
        )
    return name


def asked_space(text: str) -> str:
    """Normalise the space of a call: the name of a space, `SHARED` or `EVERY`.

    Raises:
        InvalidRequest: as `space_name`.
    """
    normal_name = text.strip().casefold()
    return normal_name if normal_name in {SHARED, EVERY} else space_name(text)


def names_below(space: str) -> tuple[str, str]:
    """Return the bounds of the names of the spaces below a space, in the order of code points.

    The names are not before the first bound, and before the second one.
    """
    return f"{space}{_BELOW}", f"{space}{_AFTER_BELOW}"


def is_within(space: str | None, under: str) -> bool:
    """Whether a space is `under` or below it."""
    return space is not None and (space == under or space.startswith(f"{under}{_BELOW}"))


def similar_spaces(name: str, names: Iterable[str]) -> list[str]:
    """Return the `names` that are similar to `name`, nearest first.

    They are spelled almost the same, or have the same name and another kind.
    """
    other_names = sorted(set(names) - {name})
    last_label = name.rpartition("/")[2].partition(":")[2]
    names_with_same_label = [
        other_name
        for other_name in other_names
        if other_name.rpartition("/")[2].partition(":")[2] == last_label
    ]
    near_names = get_close_matches(name, other_names, _SIMILAR, _ENOUGH)
    return list(dict.fromkeys([*names_with_same_label, *near_names]))[:_SIMILAR]
