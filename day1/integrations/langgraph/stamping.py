"""Checkpoints that name the branch and time of the memory: `stamped` and forked runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextvars import copy_context
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from langchain_core.runnables.config import RunnableConfig, var_child_runnable_config
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

import day1
from day1 import errors

_STAMP: Final = "day1"
"""The key of a stamp in the metadata of a checkpoint."""
_BRANCH: Final = "day1_branch"
"""The key of the branch of a forked run, in the `configurable` of its config."""

BranchOfRun = Callable[[], str | None]
"""A function that names the branch of the run that calls; None: the branch of the memory."""


def forked() -> str | None:
    """Return the branch that the config of the calling run names; None if it names none.

    Give it as `branch` to `Day1Store`: a run whose config has `day1_branch` in its `configurable`
    part then reads and writes that branch, and every other run that of the memory.
    """
    config = var_child_runnable_config.get() or {}
    branch_name = config.get("configurable", {}).get(_BRANCH)
    return None if branch_name is None else str(branch_name)


class Stamped(BaseCheckpointSaver[Any]):
    """A mixin for savers: each checkpoint that it writes names the branch and time of the memory.

    The metadata of a checkpoint gets `{"day1": {"branch", "at", "checkpoint"}}`. Nothing else of
    the saver changes.
    """

    _memory: day1.Branch
    _branch_of_run: BranchOfRun

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint with its stamp.

        Args:
            config: the config of the run.
            checkpoint: the checkpoint.
            metadata: its metadata.
            new_versions: the versions of the channels.

        Returns:
            The config of the checkpoint.

        Raises:
            StoreUnavailable: the memory does not answer now; the checkpoint is not written.
        """
        return super().put(
            config, checkpoint, self._stamp(config, checkpoint, metadata), new_versions
        )

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint with its stamp: see `put`.

        Args:
            config: the config of the run.
            checkpoint: the checkpoint.
            metadata: its metadata.
            new_versions: the versions of the channels.
        """
        metadata = await asyncio.to_thread(self._stamp, config, checkpoint, metadata)
        return await super().aput(config, checkpoint, metadata, new_versions)

    def memory_at(self, config: RunnableConfig) -> day1.Past:
        """Return the memory as it was at a checkpoint, for reading.

        Args:
            config: the config of the checkpoint; without `checkpoint_id` the newest of its thread.

        Raises:
            NotFound: there is no such checkpoint, or it has no stamp.
        """
        return self._memory_of(self.get_tuple(config))

    async def amemory_at(self, config: RunnableConfig) -> day1.Past:
        """Return the memory as it was at a checkpoint: see `memory_at`.

        Args:
            config: the config of the checkpoint.
        """
        return self._memory_of(await self.aget_tuple(config))

    def fork(self, config: RunnableConfig, name: str) -> day1.Branch:
        """Make a branch of the memory as it was at a checkpoint.

        A run whose config has `day1_branch: name` in its `configurable` part works there if the
        `branch` of its store is `forked`.

        Args:
            config: the config of the checkpoint; without `checkpoint_id` the newest of its thread.
            name: the name of the new branch.

        Returns:
            The new branch.

        Raises:
            NotFound: there is no such checkpoint, or it has no stamp.
            UnknownBranch: the branch that the checkpoint stands on was deleted.
            BranchExists: there is a branch of that name; case does not count.
            InvalidRequest: the name does not fit.
        """
        return self._forked(self.memory_at(config), name)

    async def afork(self, config: RunnableConfig, name: str) -> day1.Branch:
        """Make a branch of the memory as it was at a checkpoint: see `fork`.

        Args:
            config: the config of the checkpoint.
            name: the name of the new branch.
        """
        return await asyncio.to_thread(self._forked, await self.amemory_at(config), name)

    def _forked(self, then: day1.Past, name: str) -> day1.Branch:
        return self._memory.create_branch(name, source=then.name, at=then.at)

    def _stamp(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> CheckpointMetadata:
        """Return the metadata of a checkpoint with its stamp.

        The stamp of another checkpoint is replaced: LangGraph copies the metadata of a checkpoint
        that it forks.
        """
        metadata_fields: Mapping[str, Any] = {**metadata}
        if metadata_fields.get(_STAMP, {}).get("checkpoint") == checkpoint["id"]:
            return metadata  # `aput` of a saver may call its `put`
        branch_name, instant = self._place(config, datetime.fromisoformat(checkpoint["ts"]))
        stamp = {"branch": branch_name, "at": instant.isoformat(), "checkpoint": checkpoint["id"]}
        stamped_metadata: Any = {**metadata_fields, _STAMP: stamp}
        return stamped_metadata  # type: ignore[no-any-return]  # a TypedDict that takes further keys

    def _place(self, config: RunnableConfig, made: datetime) -> tuple[str, datetime]:
        """Return the branch of a run, and the store's time at which a checkpoint was made.

        Savers write a checkpoint while the nodes of the next step already run, so what the branch
        has when it is stamped may be newer than the checkpoint: the time of the checkpoint counts.
        """
        run_context = copy_context()
        run_context.run(var_child_runnable_config.set, config)
        branch_name = run_context.run(self._branch_of_run) or self._memory.name
        asked_at = datetime.now(UTC)
        try:
            answer = self._memory.branch(branch_name).call("branch_moment")
        except errors.UnknownBranch:  # it is made when the store first writes to it
            branch_name = self._memory.name
            answer = self._memory.branch(branch_name).call("branch_moment")
        answered_at = datetime.now(UTC)
        store_now, newest_write = (
            datetime.fromisoformat(answer[field]) for field in ("now", "newest")
        )
        if newest_write > store_now:
            # A wrong clock wrote: times of the branch say nothing of a checkpoint's.
            return branch_name, newest_write
        is_same_clock = asked_at - timedelta(milliseconds=1) <= store_now <= answered_at
        # Another clock: `store_now` was read between `asked_at` and `answered_at`. `asked_at` is
        # safe: every write that was answered before the checkpoint was made is then in its past.
        clock_lead = timedelta() if is_same_clock else store_now - asked_at
        return branch_name, made + clock_lead

    def _memory_of(self, written: CheckpointTuple | None) -> day1.Past:
        stamp = {} if written is None else {**written.metadata}.get(_STAMP)
        if not isinstance(stamp, Mapping) or not stamp:
            raise errors.NotFound(
                "There is no such checkpoint: pass the config of one that the saver has."
                if written is None
                else "The checkpoint has no stamp of the memory's branch and time: only a saver of "
                "a class that `stamped` made writes stamps."
            )
        return self._memory.branch(str(stamp["branch"])).as_of(str(stamp["at"]))


def stamped(
    saver: type[BaseCheckpointSaver[Any]],
    memory: day1.Branch,
    *,
    branch: str | BranchOfRun = forked,
) -> type[Any]:
    """Make a class of savers whose checkpoints name the branch and time of a memory.

    The class is made and used as `saver` is, such as `stamped(InMemorySaver, memory)()`. It adds
    the methods of `Stamped`: `memory_at` and `fork`, `amemory_at` and `afork`.

    Args:
        saver: a class of savers of LangGraph.
        memory: the memory, or a branch of it, that the graph's store is on.
        branch: the branch of a run, as the store of the graph has it: its name, or a function that
            is called with the run's config, such as `per_thread`. Default: that of `memory`, and
            of a forked run its own.
    """

    def named() -> str | None:
        return branch if isinstance(branch, str) else branch()

    class_members = {
        "_memory": memory,
        "_branch_of_run": staticmethod(named),
        "__doc__": saver.__doc__,
    }
    return type(f"Stamped{saver.__name__}", (Stamped, saver), class_members)
