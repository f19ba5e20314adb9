"""Claude's memory tool over a memory: its six commands, sync and async."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

import day1
from day1.integrations.anthropic.entries import BranchOfCall
from day1.integrations.anthropic.files import Files
from day1.integrations.connecting import connected
from day1.integrations.waiting import finished
from day1.types import RowBlame


class Day1MemoryTool(BetaAbstractMemoryTool):
    """Claude's memory tool on a branch of a memory; threads may share it.

    Answers and errors are those of the SDK's `BetaLocalFilesystemMemoryTool`.
    """

    def __init__(
        self,
        memory: day1.Branch | str | Path | None = None,
        *,
        name: str = "memories",
        branch: BranchOfCall = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """Use a memory, or connect to one.

        Args:
            memory: a memory or a branch of one, or what `day1.connect` takes; a memory that is
                connected here is closed by `close`.
            name: tells sets of files in one memory apart: the files are in the space `files:NAME`.
            branch: the branch, by its name or by a function that is called at each command; it is
                made when it is first used. Default, also if the function returns None: that of
                `memory`.
            cache_control: as in the SDK.
        """
        super().__init__(cache_control=cache_control)
        memory_branch, self._owned = connected(memory)
        self._files = Files(memory_branch, name, branch)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with the numbers of its lines, or list a directory.

        Args:
            command: the path, and perhaps a range of lines.

        Raises:
            ToolError: there is nothing at the path, or the memory refuses.
        """
        return self._files.view(command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file, and the directories above it.

        Args:
            command: the path and the text.

        Raises:
            ToolError: the path exists or does not fit, or the memory refuses.
        """
        return self._files.create(command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a part of a file that occurs once; no edit of another writer is lost.

        Args:
            command: the path, the part and the new one.

        Raises:
            ToolError: there is no such file, the part does not occur once, or the memory refuses.
        """
        return self._files.str_replace(command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines into a file; no edit of another writer is lost.

        Args:
            command: the path, the line after which, and the text.

        Raises:
            ToolError: there is no such file or line, or the memory refuses.
        """
        return self._files.insert(command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Remove a file, or a directory with all below it, in one commit; history keeps them.

        Args:
            command: the path.

        Raises:
            ToolError: there is nothing at the path, or the memory refuses.
        """
        return self._files.delete(command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file, or a directory with all below it, in one commit.

        Args:
            command: the old path and the new one.

        Raises:
            ToolError: there is nothing at the old path, the new one exists, or the memory refuses.
        """
        return self._files.rename(command)

    def clear_all_memory(self) -> str:
        """Remove all files and directories; history keeps them.

        Raises:
            ToolError: the memory refuses.
        """
        return self._files.clear()

    def blame(self, path: str) -> RowBlame:
        """Tell who wrote each line of a file, and when, across merges.

        Args:
            path: its path.

        Returns:
            As `day1.Branch.blame` with `lines`.

        Raises:
            NotFound: there is no such file.
            ToolError: the path does not fit.
        """
        return self._files.blame(path)

    @property
    def branch(self) -> day1.Branch:
        """The branch of the memory that the tool reads and writes now."""
        return self._files.entries.on

    def close(self) -> None:
        """Close the memory if the tool connected to it."""
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> Self:
        """Return the tool."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the tool."""
        self.close()


class Day1AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """Claude's memory tool on a branch of a memory for asyncio; event loops may share it.

    Answers and errors are those of the SDK's `BetaAsyncLocalFilesystemMemoryTool`.
    """

    def __init__(
        self,
        memory: day1.Branch | str | Path | None = None,
        *,
        name: str = "memories",
        branch: BranchOfCall = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """Use a memory, or connect to one.

        Args:
            memory: a memory or a branch of one, or what `day1.connect` takes; a memory that is
                connected here is closed by `close`.
            name: tells sets of files in one memory apart: the files are in the space `files:NAME`.
            branch: the branch, by its name or by a function that is called at each command; it is
                made when it is first used. Default, also if the function returns None: that of
                `memory`.
            cache_control: as in the SDK.
        """
        super().__init__(cache_control=cache_control)
        memory_branch, self._owned = connected(memory)
        self._files = Files(memory_branch, name, branch)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with the numbers of its lines, or list a directory.

        Args:
            command: the path, and perhaps a range of lines.

        Raises:
            ToolError: there is nothing at the path, or the memory refuses.
        """
        return await finished(self._files.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file, and the directories above it.

        Args:
            command: the path and the text.

        Raises:
            ToolError: the path exists or does not fit, or the memory refuses.
        """
        return await finished(self._files.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a part of a file that occurs once; no edit of another writer is lost.

        Args:
            command: the path, the part and the new one.

        Raises:
            ToolError: there is no such file, the part does not occur once, or the memory refuses.
        """
        return await finished(self._files.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines into a file; no edit of another writer is lost.

        Args:
            command: the path, the line after which, and the text.

        Raises:
            ToolError: there is no such file or line, or the memory refuses.
        """
        return await finished(self._files.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Remove a file, or a directory with all below it, in one commit; history keeps them.

        Args:
            command: the path.

        Raises:
            ToolError: there is nothing at the path, or the memory refuses.
        """
        return await finished(self._files.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file, or a directory with all below it, in one commit.

        Args:
            command: the old path and the new one.

        Raises:
            ToolError: there is nothing at the old path, the new one exists, or the memory refuses.
        """
        return await finished(self._files.rename, command)

    async def clear_all_memory(self) -> str:
        """Remove all files and directories; history keeps them.

        Raises:
            ToolError: the memory refuses.
        """
        return await finished(self._files.clear)

    async def blame(self, path: str) -> RowBlame:
        """Tell who wrote each line of a file, and when, across merges.

        Args:
            path: its path.

        Returns:
            As `day1.Branch.blame` with `lines`.

        Raises:
            NotFound: there is no such file.
            ToolError: the path does not fit.
        """
        return await finished(self._files.blame, path)

    @property
    def branch(self) -> day1.Branch:
        """The branch of the memory that the tool reads and writes now."""
        return self._files.entries.on

    def close(self) -> None:
        """Close the memory if the tool connected to it."""
        if self._owned is not None:
            self._owned.close()

    def __enter__(self) -> Self:
        """Return the tool."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the tool."""
        self.close()
