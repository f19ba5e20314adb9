"""The description of a kind of record in the ledger; each record class has its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol


@dataclass(frozen=True, slots=True)
class RecordKind:
    """The table of a kind, whether copies get it, and which branches its records are about.

    A token with limits sees a record if all that it is about is within the limits. A record that
    says of no branch that it is about it is seen by tokens without limits only.
    """

    table: str
    keys: tuple[str, ...] = ()
    """The fields that records are looked up by; each has an index."""
    carried: bool = True
    """Whether a copy of a store gets the records."""
    stamped: bool = True
    """Whether a swap of a record must change the ledger's stamp. Otherwise nothing that hangs on
    these records may be remembered by the stamp."""
    branch_ids: tuple[str, ...] = ()
    """Fields that hold the id of a branch."""
    branch_names: tuple[str, ...] = ()
    """Fields that hold the name of a branch."""
    commits: tuple[str, ...] = ()
    """Fields that hold a commit which one of the visible branches must have in its past."""
    part_of: Mapping[str, type[Any]] = field(default_factory=dict)
    """Field with the id of another record -> its class: who may see that one may see this one."""


class Record(Protocol):
    """A record of the ledger."""

    KIND: ClassVar[RecordKind]

    @property
    def id(self) -> str:
        """The id of the record, unique among the records of its kind."""
