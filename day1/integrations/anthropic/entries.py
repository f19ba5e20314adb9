"""The entries that hold the files and directories of the memory tool."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import day1
from day1 import errors
from day1.integrations.anthropic.paths import marker_of
from day1.integrations.paging import entries_at, entries_in_pages

_MOST: Final = 1_000
"""Maximum number of entries that one call gets, and of changes in one commit."""
_ABSENT: Final = "none"
"""The expected revision of an entry that must not be there."""

Entry = dict[str, Any]
"""An entry as `entry_get` answers it."""
Change = dict[str, Any]
"""A change as `rows_apply` takes it."""
BranchOfCall = str | Callable[[], str | None] | None


class Entries:
    """The entries of a set of files on one branch of a memory.

    The key of a file is its path below `/memories`, its value `{"text": TEXT}`. A directory has an
    entry, too, whose key ends with a slash: so it stays when its last file goes.
    """

    def __init__(self, memory: day1.Branch, name: str, branch: BranchOfCall) -> None:
        """Use the branch `branch`, created on first use; default: the memory's branch."""
        branch_name = branch() if callable(branch) else branch
        self._memory = memory
        self.on = memory if branch_name is None else memory.branch(branch_name)
        self._space = ["files", name]

    def at(self, keys: Iterable[str]) -> dict[str, Entry]:
        """Read the entries of these keys; keys without an entry are left out."""
        unique_keys = list(dict.fromkeys(keys))
        entry_by_key: dict[str, Entry] = {}
        for page_start in range(0, len(unique_keys), _MOST):
            entry_places = [
                {"space": self._space, "key": key}
                for key in unique_keys[page_start : page_start + _MOST]
            ]
            entries = entries_at(
                lambda keys: self._call("entry_get", keys=keys)["entries"], entry_places
            )
            entry_by_key |= {entry["key"]: entry for entry in entries if entry is not None}
        return entry_by_key

    def each(self) -> Iterator[Entry]:
        """Yield all entries, a page at a time."""

        def read(limit: int, offset: int) -> dict[str, Any]:
            return self._call("entry_find", under=self._space, limit=limit, offset=offset)

        return (entry for entry in entries_in_pages(read) if entry["labels"] == self._space)

    def file(self, key: str, text: str, revision: str = _ABSENT) -> Change:
        """Return the change that writes a file's text, for `put` and `apply`.

        Args:
            key: its key.
            text: its text.
            revision: the one that was read; default: the file is new.
        """
        return self._set(key, {"text": text}, revision)

    def copy(self, entry: Entry, key: str) -> Change:
        """Return the change that copies an entry to another key, for `apply`."""
        return self._set(key, entry["value"], _ABSENT)

    def directory(self, key: str) -> Change:
        """Return the change that writes a directory's marker, for `put` and `apply`."""
        return {"action": "set", "space": self._space, "key": marker_of(key), "value": {}}

    def gone(self, key: str, revision: str) -> Change:
        """Return the change, for `apply`, that removes an entry if it has this revision."""
        entry_place = {"space": self._space, "key": key}
        return {"action": "delete", **entry_place, "expect_revision": revision}

    def put(self, changes: Sequence[Change]) -> None:
        """Put entries, all or none; entries that are all new share a commit with other additions.

        Raises:
            RevisionChanged: an entry has another revision than its change expects.
        """
        entries = [{k: v for k, v in change.items() if k != "action"} for change in changes]
        self._call("entry_put", entries=entries)

    def apply(self, changes: Sequence[Change], reason: str) -> None:
        """Put and remove entries in one commit, all or none.

        Raises:
            RevisionChanged: an entry has another revision than its change expects.
        """
        self._call("rows_apply", changes=list(changes), reason=reason)

    def clear(self) -> None:
        """Remove all entries, 1,000 in a commit."""
        keys = list(dict.fromkeys(entry["key"] for entry in self.each()))
        for page_start in range(0, len(keys), _MOST):
            entry_places = [
                {"space": self._space, "key": key} for key in keys[page_start : page_start + _MOST]
            ]
            self._call("entry_remove", keys=entry_places)

    def _set(self, key: str, value: Mapping[str, Any], revision: str) -> Change:
        entry_place = {"space": self._space, "key": key}
        return {"action": "set", **entry_place, "value": value, "expect_revision": revision}

    def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """Call an operation; create the branch of the files if it is missing."""
        try:
            return self.on.call(operation, **arguments)
        except errors.UnknownBranch:
            if self.on.name == self._memory.name:
                raise
        with suppress(errors.BranchExists):  # another one made it meanwhile
            self._memory.create_branch(self.on.name)
        return self.on.call(operation, **arguments)


def text_of(entry: Entry) -> str:
    """Return the text of a file; an entry that another program put is shown as JSON."""
    value = entry["value"]
    text = value.get("text") if isinstance(value, Mapping) else None
    return text if isinstance(text, str) else json.dumps(value, ensure_ascii=False, indent=1)


def fits_one_commit(changes: Sequence[Change]) -> bool:
    """Whether changes are few enough for one commit."""
    return len(changes) <= _MOST
