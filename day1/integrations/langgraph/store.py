"""LangGraph's store: items are entries of a branch, so that they have history and merges."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Self

from langgraph.store.base import (
    BaseStore,
    GetOp,
    IndexConfig,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchOp,
    TTLConfig,
)

import day1
from day1 import errors
from day1.integrations.branching import Branching
from day1.integrations.connecting import connected
from day1.integrations.langgraph.embedding import Embedding, Vector, Vectors, fields_of
from day1.integrations.langgraph.operations import (
    Namespace,
    conditions,
    found_item,
    item_of,
    labels,
    listed,
    namespace_of,
    new_entry,
    parts,
    place,
    renewal,
    validated,
)
from day1.integrations.langgraph.runs import Parallel, merge_tasks, task_branch
from day1.integrations.paging import entries_at, entries_in_pages
from day1.integrations.queries import query_of
from day1.integrations.waiting import finished
from day1.types import RowBlame


class Day1Store(BaseStore):
    """A store of LangGraph on a branch of a memory.

    Threads and event loops may share it. It adds to `BaseStore`: `on`, `as_of`, `merge`, `blame`,
    `parallel` and `merge_parallel`.
    """

    supports_ttl = True

    def __init__(
        self,
        memory: day1.Branch | str | Path | None = None,
        *,
        name: str = "store",
        branch: str | Callable[[], str | None] | None = None,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> None:
        """Use a memory, or connect to one.

        Args:
            memory: a memory or a branch of one, or what `day1.connect` takes; a memory that is
                connected here is closed by `close`.
            name: the name of the store in the memory: its items are in the space `langgraph:NAME`
                and below.
            branch: the branch, by its name or by a function that is called at each operation, such
                as `per_thread` or `forked`; it is made when it is first used. Default, also if the
                function returns None: that of `memory`.
            index: `fields` are the paths that search reads, if a put names none. Without it search
                reads whole values. With `embed` items keep the vectors that it gives, and the
                score of a search is the cosine to the nearest one; without it the memory embeds.
            ttl: `default_ttl` in minutes. Expired items are in no answer; nothing has to sweep.
                With `refresh_on_read` a read gives an item its time to live anew.
        """
        self._memory, self._owned = connected(memory)
        self._name = name
        self._branch = branch
        self._branching = Branching(self._memory, branch)
        self._fields = fields_of(index)
        has_embedding = index is not None and index.get("embed") is not None
        self._embedding = Embedding(index) if has_embedding and index is not None else None
        self.embeddings = None if self._embedding is None else self._embedding.embeddings
        self._at: str | datetime | None = None
        self.index_config = index
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: the reads see the state before the batch, the writes are one commit.

        Of several puts of one key the last one counts. A batch of more than 1,000 puts is several
        commits.

        Args:
            ops: the operations.

        Returns:
            The result of each, in their order.

        Raises:
            InvalidNamespaceError: a label of a namespace does not fit.
            ValueError: a filter has an unknown operator, or `index` is neither False nor paths.
            InvalidRequest: a value is no JSON, or a key has not 1 to 1,024 characters.
            ValueTooLarge: a value has more than 8 MiB as JSON.
        """
        operations = validated(ops)
        embedding = self._embedding
        return self._run(
            operations, Vectors() if embedding is None else embedding.vectors(operations)
        )

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations in a worker thread: see `batch`. A cancelled write is finished first.

        Args:
            ops: the operations.
        """
        operations, embedding = validated(ops), self._embedding
        vectors = Vectors() if embedding is None else await embedding.avectors(operations)
        writes = any(isinstance(op, PutOp) for op in operations)
        return await (finished if writes else asyncio.to_thread)(self._run, operations, vectors)

    def _run(self, operations: Sequence[Op], vectors: Vectors) -> list[Result]:
        branch = self._on_branch()
        entry_by_key = self._got(branch, [op for op in operations if isinstance(op, GetOp)])
        entries_read: list[dict[str, Any]] = []
        results = [
            self._read(branch, op, (entry_by_key, vectors), entries_read) for op in operations
        ]
        put_by_key = {
            (tuple(op.namespace), op.key): op for op in operations if isinstance(op, PutOp)
        }
        self._renew(
            branch,
            [
                entry
                for entry in entries_read
                if (namespace_of(entry), entry["key"]) not in put_by_key
            ],
        )
        for put_batch in parts(list(put_by_key.values())):
            self._write(branch, put_batch, vectors)
        return results

    def on(self, branch: str) -> Day1Store:
        """Return the same store on another branch, which is made if it is missing.

        Args:
            branch: its name.
        """
        return self._like(branch, None)

    def as_of(self, when: datetime | str | day1.Past) -> Day1Store:
        """Return the store as it was at a moment, for reading.

        Args:
            when: a `datetime` with a zone, ISO 8601, or the name of a snapshot, on the branch of
                this store; or a moment of a branch, as `memory_at` of a `stamped` saver returns it.
        """
        if isinstance(when, day1.Past):
            return self._like(when.name, when.at)
        return self._like(task_branch(self) or self._branch, when)

    def merge(self, branch: str) -> day1.Merge:
        """Merge another branch into that of this store; conflicts are held, and nothing is lost.

        Args:
            branch: the name of the other branch.

        Raises:
            UnknownBranch: it does not exist.
        """
        own_branch = self._on_branch()
        return own_branch.branch(branch).merge(own_branch.name)

    def parallel(self) -> Parallel[Day1Store]:
        """Give the calling task a branch of its own: `with store.parallel():` in a node.

        Until the block ends, also tools and graphs that the node calls read and write there, so
        tasks that run side by side do not meet. The node that joins them calls `merge_parallel`.
        """
        own_branch = self._on_branch()
        create = partial(self._call, own_branch, "memory_branch_create")
        return Parallel(self, partial(create, parent_branch=own_branch.name))

    def merge_parallel(self) -> list[day1.Merge]:
        """Merge what the graph's tasks wrote on branches of their own, and drop these branches.

        Tasks of graphs below the graph count, other graphs of the thread do not: these may still
        run. Conflicts are held, and nothing is lost. It can be called again, also after a failure.

        Returns:
            A merge for each task, oldest branch first.

        Raises:
            BranchProtected: the branch of this store takes no such merge.
        """
        return merge_tasks(self._on_branch())

    def blame(self, namespace: Namespace, key: str) -> RowBlame:
        """Tell who gave an item its present value, and when.

        Args:
            namespace: the namespace of the item.
            key: its key.

        Raises:
            NotFound: there is no such item.
        """
        branch = self._on_branch()
        entry = branch.get(key, space=labels(self._name, namespace))
        if entry is None:
            raise errors.NotFound(f"There is no item {key!r} in {namespace!r}.", key=key)
        return branch.blame(entry.id)

    def sweep_ttl(self) -> int:
        """Remove the expired items of this store in one commit; no answer shows them anyway.

        Returns:
            The number of removed items.
        """
        root_labels = labels(self._name, ())
        return len(self._call(self._on_branch(), "entry_sweep", under=root_labels)["ids"])

    def start_ttl_sweeper(self, sweep_interval_minutes: int | None = None) -> Future[None]:  # noqa: ARG002 - LangGraph gives it
        """Do nothing: expired items are in no answer, so no sweeper is needed.

        Args:
            sweep_interval_minutes: not used.

        Returns:
            A future that is done.
        """
        finished_future: Future[None] = Future()
        finished_future.set_result(None)
        return finished_future

    def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - LangGraph gives it
        """Do nothing, since no sweeper runs: see `start_ttl_sweeper`.

        Args:
            timeout: not used.

        Returns:
            True: no sweeper runs.
        """
        return True

    def close(self) -> None:
        """Close the memory if this store connected to it."""
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> Self:
        """Return the store."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the store."""
        self.close()

    def _like(
        self, branch: str | Callable[[], str | None] | None, at: datetime | str | None
    ) -> Day1Store:
        store_copy = Day1Store(
            self._memory, name=self._name, branch=branch, index=self.index_config,
            ttl=self.ttl_config,
        )  # fmt: skip
        store_copy._at = at
        return store_copy

    def _on_branch(self) -> day1.Branch:
        """Return the branch of this operation."""
        own_name = task_branch(self)
        return self._branching.now() if own_name is None else self._memory.branch(own_name)

    def _call(self, on: day1.Branch, operation: str, **arguments: Any) -> dict[str, Any]:
        """Call an operation; make the branch of this store if it is missing."""
        if self._at is not None:
            return on.call(operation, **arguments)
        return self._branching.call(on, operation, **arguments)

    def _got(self, on: day1.Branch, ops: Sequence[GetOp]) -> dict[tuple[Namespace, str], Any]:
        """Read the entries of all get operations with as few calls as possible."""
        unique_keys = list(dict.fromkeys((tuple(op.namespace), op.key) for op in ops))
        entry_by_key: dict[tuple[Namespace, str], Any] = {}
        for key_batch in parts(unique_keys):
            entry_places = [place(self._name, *namespaced_key) for namespaced_key in key_batch]
            entries = entries_at(
                lambda keys: self._call(on, "entry_get", keys=keys, at=self._at)["entries"],
                entry_places,
            )
            entry_by_key |= dict(zip(key_batch, entries, strict=True))
        return entry_by_key

    def _read(
        self,
        on: day1.Branch,
        op: Op,
        known: tuple[dict[tuple[Namespace, str], Any], Vectors],
        read: list[dict[str, Any]],
    ) -> Result:
        """Return the result of an operation; add the entries that it renews to `read`."""
        entry_by_key, vectors = known
        match op:
            case GetOp():
                entry = entry_by_key.get((tuple(op.namespace), op.key))
                read += [entry] if entry is not None and op.refresh_ttl else []
                return None if entry is None else item_of(entry)
            case SearchOp():
                found_entries = self._searched(on, op, vectors.queries.get(op.query or ""))
                read += found_entries if op.refresh_ttl else []
                return [found_item(entry) for entry in found_entries]
            case ListNamespacesOp():
                root_labels = labels(self._name, ())
                answer = self._call(on, "entry_spaces", under=root_labels, at=self._at)
                return listed(map(namespace_of, answer["spaces"]), op)
            case PutOp():
                return None
            case _:
                raise ValueError(f"Unknown operation type: {type(op)}")

    def _renew(self, on: day1.Branch, read: Sequence[dict[str, Any]]) -> None:
        """Restart the time to live of the entries that were read, in one commit."""
        # Without the setting a read renews nothing, as in LangGraph's SqliteStore.
        renews_on_read = (self.ttl_config or {}).get("refresh_on_read", False)
        if (
            self._at is not None
            or not renews_on_read
            or not any(entry.get("expires_at") for entry in read)
        ):
            return
        now = datetime.now(UTC)
        change_by_id = {entry["id"]: renewal(entry, now) for entry in read}
        for change_batch in parts(
            [change for change in change_by_id.values() if change is not None]
        ):
            # Who may only read renews nothing, and so does who reads what is removed meanwhile.
            with suppress(errors.NotFound, errors.Refused, errors.BranchClosed):
                self._call(on, "rows_apply", changes=change_batch, reason="read")

    def _searched(
        self, on: day1.Branch, op: SearchOp, vector: Vector | None
    ) -> list[dict[str, Any]]:
        arguments: dict[str, Any] = {
            "under": labels(self._name, op.namespace_prefix),
            "where": conditions(op.filter) or None,
            "at": self._at,
        }
        if vector is None:
            query = query_of(op.query or "")
            arguments |= {"query": query, "wait": query is not None}
        elif any(vector):  # else it has no direction, and nothing is nearer than another
            arguments["vector"] = vector

        def read(limit: int, offset: int) -> dict[str, Any]:
            return self._call(on, "entry_find", limit=limit, offset=offset, **arguments)

        return [*entries_in_pages(read, op.limit, op.offset)]

    def _write(self, on: day1.Branch, ops: Sequence[PutOp], vectors: Vectors) -> None:
        """Put and delete items in one commit."""
        if self._at is not None:
            raise errors.Refused(
                "This store shows a past state and cannot be written: write to the present store."
            )
        new_entries = [self._new_entry(op, vectors) for op in ops if op.value is not None]
        removed_places = [place(self._name, op.namespace, op.key) for op in ops if op.value is None]
        if new_entries and removed_places:
            changes = [{"action": "set", **entry} for entry in new_entries]
            changes += [{"action": "delete", **removed_place} for removed_place in removed_places]
            self._call(on, "rows_apply", changes=changes)
        elif new_entries:
            self._call(on, "entry_put", entries=new_entries)
        else:
            self._call(on, "entry_remove", keys=removed_places)

    def _new_entry(self, op: PutOp, vectors: Vectors) -> dict[str, Any]:
        entry = new_entry(self._name, op, self._fields)
        item_vectors = [] if self._embedding is None else self._embedding.of_put(op, vectors)
        return {**entry, "vectors": item_vectors} if item_vectors else entry
