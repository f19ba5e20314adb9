"""New commit ids in the records of a copy.

The id of a commit is a hash over its content and time, so the same commit has another id in a copy
of the store. There its message names the old id (`from`), and records, messages and held items that
name commits get the new ids.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeVar

from day1.model.branches.branch import Branch
from day1.model.catalogue import RECORDS
from day1.model.records.codec import from_json, to_json
from day1.model.rows.change import CommitId
from day1.ports.history import History
from day1.ports.ledger import Ledger

T = TypeVar("T")
Ids = Mapping[CommitId, CommitId]
"""New commit ids by the old ones."""

CARRIED: Final = tuple(record for record in RECORDS if record.KIND.carried)
"""The classes of records that a copy of the store gets."""


def new_ids(history: History) -> dict[CommitId, CommitId]:
    """Map the commit ids of the original store to those of its copy."""
    start_commit_ids = {*history.branches().values(), *history.tags().values()}
    commits = history.graph(sorted(start_commit_ids))
    return {str(commit.meta["from"]): commit.id for commit in commits if "from" in commit.meta}


def renamed(value: Any, ids: Ids) -> Any:
    """Replace each old commit id in a JSON value by the new one."""
    if isinstance(value, str):
        return ids.get(value, value)
    if isinstance(value, Mapping):
        return {key: renamed(nested_value, ids) for key, nested_value in value.items()}
    return (
        [renamed(nested_value, ids) for nested_value in value]
        if isinstance(value, list | tuple)
        else value
    )


def with_new_ids(record: T, ids: Ids) -> T:
    """Return a record with the new commit ids."""
    renamed_fields = {name: renamed(value, ids) for name, value in to_json(record).items()}
    return record if renamed_fields == to_json(record) else from_json(type(record), renamed_fields)


def carried(ledger: Ledger) -> Iterator[object]:
    """Yield the ledger records that a copy gets."""
    for record_class in CARRIED:
        yield from ledger.records(record_class)


def put(ledger: Ledger, record: object) -> None:
    """Write a record of any class to the ledger."""
    if isinstance(record, Branch):
        ledger.put_branch(record)
    else:
        ledger.put(record)


def rename_all(ledger: Ledger, ids: Ids) -> None:
    """Give all records of a ledger the new commit ids; repeating it is harmless."""
    with ledger.transaction():
        for record in carried(ledger):
            renamed_record = with_new_ids(record, ids)
            if renamed_record != record:
                put(ledger, renamed_record)
