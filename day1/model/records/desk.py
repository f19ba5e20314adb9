"""A desk: a client's present working data. It is not memory and has no versions."""

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from day1.model.redaction.mask import REDACTED
from day1.model.rows.kind import canonical
from day1.model.values.ids import short_hash
from day1.model.values.record_kind import RecordKind


@dataclass(frozen=True, slots=True)
class Desk:
    """A named JSON text of a client on a branch."""

    KIND: ClassVar = RecordKind("desks", ("branch_id",), stamped=False, branch_ids=("branch_id",))

    id: str
    branch_id: str
    client: str
    name: str
    value: str
    """Canonical JSON."""
    revision: int
    """The number of writes so far: a writer names the revision that it read."""
    created_at: int
    changed_at: int

    def cleaned(self, rows: Collection[str], clean: Callable[[str], str]) -> "Desk":
        """Return the desk with cleaned texts and names, and without reasons about redacted rows."""
        value = canonical(_cleaned(json.loads(self.value), rows, clean))
        return self if value == self.value else replace(self, value=value)


def _cleaned(value: Any, rows: Collection[str], clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(inner_value, rows, clean) for inner_value in value]
    if not isinstance(value, dict):
        return value
    clean_value = {
        clean(name): _cleaned(inner_value, rows, clean) for name, inner_value in value.items()
    }
    row_ids = value.get("ids")
    if (
        "reason" in clean_value
        and isinstance(row_ids, list)
        and not {*rows}.isdisjoint(map(str, row_ids))
    ):
        clean_value["reason"] = REDACTED  # a model wrote it, who had read the rows
    return clean_value


def desk_id(branch_id: str, client: str, name: str) -> str:
    """Return the id of a client's desk."""
    return short_hash("desk", branch_id, client, name)


def next_desk(current: Desk | None, whose: tuple[str, str, str], value: str, now: int) -> Desk:
    """Return the desk with another value; `whose` is the branch's id, the client and the name."""
    if current is None:
        return Desk(desk_id(*whose), *whose, value, 1, now, now)
    return replace(current, value=value, revision=current.revision + 1, changed_at=now)
