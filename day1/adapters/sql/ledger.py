"""The ledger as tables of a SQL database of its own."""

import json
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields
from typing import Any, Protocol

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Engine,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    bindparam,
    delete,
    insert,
    select,
)

from day1.adapters.sql.failures import translated
from day1.errors import BranchExists, Conflict
from day1.model.branch import Branch
from day1.model.deed import Intent, MergeRecord, Snapshot
from day1.model.kind import canonical
from day1.ports.ledger import Settle

ledger_tables = MetaData()
_ID = String(64)


def _id() -> Column[str]:
    return Column("id", _ID, primary_key=True)


def _created_at() -> Column[int]:
    return Column("created_at", BigInteger, nullable=False)


_BRANCHES = Table(
    "branches",
    ledger_tables,
    _id(),
    Column("name", String(100), nullable=False),
    Column("folded", String(100), nullable=False, unique=True),
    Column("parent_id", _ID),
    Column("fork_commit", _ID),
    _created_at(),
    Column("description", Text),
    Column("purpose", Text),
    Column("owner", Text),
    Column("ttl_days", Integer),
    Column("tags", Text, nullable=False),
    Column("archived", Boolean, nullable=False),
    Column("closed", Boolean, nullable=False),
    Column("merged_tip", _ID),
    Column("retired_tip", _ID),
)
_SNAPSHOTS = Table(
    "snapshots",
    ledger_tables,
    _id(),
    Column("label", Text),
    Column("branch_id", _ID, nullable=False),
    Column("commit", _ID, nullable=False),
    _created_at(),
)
_MERGES = Table(
    "merges",
    ledger_tables,
    _id(),
    Column("source_id", _ID, nullable=False),
    Column("target_id", _ID, nullable=False),
    Column("source_commit", _ID, nullable=False),
    Column("base", _ID, nullable=False),
    Column("commit", _ID),
    Column("strategy", String(32), nullable=False),
    Column("merged_count", BigInteger, nullable=False),
    Column("rejected_count", BigInteger, nullable=False),
    Column("choices", Text, nullable=False),
    Column("decided_by", Text),
    _created_at(),
)
_INTENTS = Table(
    "intents",
    ledger_tables,
    _id(),
    Column("op", String(32), nullable=False),
    Column("payload", Text, nullable=False),
    _created_at(),
)
_HEADS = Table(
    "heads",
    ledger_tables,
    Column("key", String(255), primary_key=True),
    Column("branch_id", _ID, nullable=False),
)


class Lock(Protocol):
    """What keeps deeds apart."""

    def held(self) -> AbstractContextManager[None]:
        """Hold the lock for the block."""

    def held_if_free(self) -> AbstractContextManager[bool]:
        """Hold the lock for the block if nobody has it; says whether."""


class SqlLedger:
    """`ports.ledger.Ledger` over one engine."""

    def __init__(self, engine: Engine, deeds: Lock, name: str, if_damaged: str) -> None:
        """Use a database whose tables exist (`create`).

        Its name, and what to do if it is damaged, stand in error messages.
        """
        self._engine = engine
        self._writer = engine.execution_options(writes=True)
        self._deeds = deeds
        self._name = name
        self._if_damaged = if_damaged
        self._local = threading.local()

    def create(self) -> None:
        """Make the tables that are missing."""
        with translated(self._name, self._if_damaged):
            ledger_tables.create_all(self._writer)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make the puts inside one transaction."""
        with self._writing():
            yield

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        open_one: Connection | None = getattr(self._local, "connection", None)
        if open_one is not None:
            yield open_one
            return
        with translated(self._name, self._if_damaged), self._writer.begin() as connection:
            self._local.connection = connection
            try:
                yield connection
            finally:
                self._local.connection = None

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        open_one: Connection | None = getattr(self._local, "connection", None)
        if open_one is not None:
            yield open_one
            return
        with translated(self._name, self._if_damaged), self._engine.connect() as connection:
            yield connection

    def _put(self, table: Table, key: str, values: dict[str, Any]) -> None:
        with self._writing() as connection:
            connection.execute(delete(table).where(table.c[key] == values[key]))
            connection.execute(insert(table), values)

    def _all(self, table: Table) -> list[dict[str, Any]]:
        with self._reading() as connection:
            rows = connection.execute(select(table).order_by(table.c.created_at, table.c.id))
            return [dict(row._mapping) for row in rows]

    def branches(self) -> list[Branch]:
        """Every branch, retired ones too, oldest first."""
        return [_branch(row) for row in self._all(_BRANCHES)]

    def branch(self, name: str) -> Branch | None:
        """A branch by name, without regard to case."""
        with self._reading() as connection:
            row = connection.execute(_BY_NAME, {"folded": name.lower()}).first()
        return None if row is None else _branch(dict(row._mapping))

    def put_branch(self, branch: Branch) -> None:
        """Write a branch by id."""
        values = {f.name: getattr(branch, f.name) for f in fields(Branch)}
        values |= {"tags": canonical(list(branch.tags)), "folded": branch.name.lower()}
        try:
            self._put(_BRANCHES, "id", values)
        except Conflict as exc:
            raise BranchExists(
                f"A branch {branch.name!r} exists already (case does not count).",
                branch=branch.name,
            ) from exc

    def remove_branch(self, branch_id: str) -> None:
        """Forget a branch."""
        with self._writing() as connection:
            connection.execute(delete(_BRANCHES).where(_BRANCHES.c.id == branch_id))

    def snapshots(self) -> list[Snapshot]:
        """Every snapshot, oldest first."""
        return [Snapshot(**row) for row in self._all(_SNAPSHOTS)]

    def put_snapshot(self, snapshot: Snapshot) -> None:
        """Write a snapshot by id."""
        self._put(_SNAPSHOTS, "id", {f.name: getattr(snapshot, f.name) for f in fields(Snapshot)})

    def merges(self) -> list[MergeRecord]:
        """Every merge, oldest first."""
        rows = self._all(_MERGES)
        return [MergeRecord(**{**row, "choices": json.loads(row["choices"])}) for row in rows]

    def put_merge(self, merge: MergeRecord) -> None:
        """Write a merge by id."""
        values = {f.name: getattr(merge, f.name) for f in fields(MergeRecord)}
        self._put(_MERGES, "id", {**values, "choices": canonical(merge.choices)})

    @contextmanager
    def deed(self, intent: Intent, settle: Settle) -> Iterator[None]:
        """Do a deed: write the intent, run the block, strike the intent out."""
        with self._deeds.held():
            self._settle_all(settle)
            values = {f.name: getattr(intent, f.name) for f in fields(Intent)}
            self._put(_INTENTS, "id", {**values, "payload": canonical(dict(intent.payload))})
            try:
                yield
            except Exception:
                self._settle(intent, settle)
                raise
            self._strike(intent)

    def settle_orphans(self, settle: Settle) -> int:
        """Settle intents whose process is gone, if no deed is going on; says how many."""
        if not self.open_intents():
            return 0
        with self._deeds.held_if_free() as free:
            return self._settle_all(settle) if free else 0

    def open_intents(self) -> list[Intent]:
        """Deeds that are going on, or whose process is gone."""
        return [
            Intent(**{**row, "payload": json.loads(row["payload"])}) for row in self._all(_INTENTS)
        ]

    def _settle_all(self, settle: Settle) -> int:
        orphans = self.open_intents()
        for intent in orphans:
            self._settle(intent, settle)
        return len(orphans)

    def _settle(self, intent: Intent, settle: Settle) -> None:
        settle(intent)
        self._strike(intent)

    def _strike(self, intent: Intent) -> None:
        with self._writing() as connection:
            connection.execute(delete(_INTENTS).where(_INTENTS.c.id == intent.id))

    def head(self, key: str) -> str | None:
        """The branch id that a client's HEAD points at."""
        with self._reading() as connection:
            statement = select(_HEADS.c.branch_id).where(_HEADS.c.key == key)
            found = connection.execute(statement).scalar()
        return None if found is None else str(found)

    def set_head(self, key: str, branch_id: str) -> None:
        """Point a client's HEAD at a branch."""
        self._put(_HEADS, "key", {"key": key, "branch_id": branch_id})

    def close(self) -> None:
        """Close the database; SQLite folds its log into the file."""
        self._engine.dispose()


_BY_NAME = select(_BRANCHES).where(_BRANCHES.c.folded == bindparam("folded"))


def _branch(row: dict[str, Any]) -> Branch:
    values = {f.name: row[f.name] for f in fields(Branch)}
    return Branch(**{**values, "tags": tuple(json.loads(values["tags"]))})
