"""A plugin of pytest that puts day1's memory tools in the place of the SDK's tools on a folder.

It runs in the environment of a public suite, and replaces names, never a line of the suite. The
suite looks at files in the folder, and puts some there: so the files are taken from it before a
command, and brought to it afterwards.
"""

import itertools
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(os.environ["DAY1_PACKAGES"])  # what day1 itself needs, behind the suite's own

import anthropic.lib.tools._beta_builtin_memory_tool as builtin
import anyio

import day1
from day1.integrations.anthropic import Day1AsyncMemoryTool, Day1MemoryTool

_numbers = itertools.count(1)
_memory = day1.connect(tempfile.mkdtemp(), settings={"embedder": {"kind": "none"}})


class _Mirror:
    """A folder with the files of a set of files."""

    def __init__(self, base_path: str) -> None:
        self.root = Path(base_path) / "memories"
        self.name = f"suite-{next(_numbers)}"
        self.space = ("files", self.name)
        self.root.mkdir(parents=True, exist_ok=True)

    def take(self) -> None:
        """Put the files of the folder into the memory."""
        for path in self.root.rglob("*"):
            if path.is_file() and not path.is_symlink():
                text = path.read_bytes().decode()
                _memory.set(str(path.relative_to(self.root)), {"text": text}, space=self.space)

    def bring(self) -> None:
        """Make the files of the folder those of the memory."""
        for path in self.root.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        for entry in _memory.entries(under=self.space, limit=1_000):
            path = self.root / entry.key
            if entry.key.endswith("/"):
                path.mkdir(parents=True, exist_ok=True)
            else:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(entry.value["text"].encode())


class InDay1(Day1MemoryTool):
    """A tool, opened as the suite opens its own."""

    def __init__(self, base_path: str = "./memory") -> None:
        self._mirror = _Mirror(base_path)
        super().__init__(_memory, name=self._mirror.name)
        self.base_path, self.memory_root = Path(base_path), self._mirror.root


class AsyncInDay1(Day1AsyncMemoryTool):
    """An async tool, opened as the suite opens its own."""

    def __init__(self, base_path: str = "./memory") -> None:
        self._mirror = _Mirror(base_path)
        super().__init__(_memory, name=self._mirror.name)
        self.base_path = anyio.Path(base_path)
        self.memory_root = anyio.Path(self._mirror.root)


def _mirrored(name: str) -> None:
    """Mirror the files before and after a command, also after one that was refused."""
    plain, awaited = getattr(Day1MemoryTool, name), getattr(Day1AsyncMemoryTool, name)

    def run(self: InDay1, command: Any) -> Any:
        self._mirror.take()
        try:
            return plain(self, command)
        finally:
            self._mirror.bring()

    async def arun(self: AsyncInDay1, command: Any) -> Any:
        self._mirror.take()
        try:
            return await awaited(self, command)
        finally:
            self._mirror.bring()

    setattr(InDay1, name, run)
    setattr(AsyncInDay1, name, arun)


for _name in ("view", "create", "str_replace", "insert", "delete", "rename"):
    _mirrored(_name)

builtin.BetaLocalFilesystemMemoryTool = InDay1
builtin.BetaAsyncLocalFilesystemMemoryTool = AsyncInDay1
