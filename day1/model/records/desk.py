"""A desk: what a client works with at the moment. It is no memory and has no versions."""

from dataclasses import dataclass, replace

from day1.model.values.ids import short_hash


@dataclass(frozen=True, slots=True)
class Desk:
    """One JSON text of a client on a branch, by name."""

    id: str
    branch_id: str
    client: str
    name: str
    value: str
    """Canonical JSON."""
    revision: int
    """How often it was written: a writer says which one it saw."""
    created_at: int
    changed_at: int


def desk_id(branch_id: str, client: str, name: str) -> str:
    """The id of a client's desk."""
    return short_hash("desk", branch_id, client, name)


def next_desk(there: Desk | None, whose: tuple[str, str, str], value: str, now: int) -> Desk:
    """The desk with another value; `whose` is the branch's id, the client and the name."""
    if there is None:
        return Desk(desk_id(*whose), *whose, value, 1, now, now)
    return replace(there, value=value, revision=there.revision + 1, changed_at=now)
