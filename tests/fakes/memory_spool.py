"""A spool in this process's memory, for unit tests of ingestion."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class MemorySpool:
    """`ports.spool.Spool` in a dict of files."""

    files: dict[str, bytes] = field(default_factory=dict)
    lines_aside: list[bytes] = field(default_factory=list)
    is_free: bool = True

    @contextmanager
    def alone(self) -> Iterator[bool]:
        yield self.is_free

    def waiting(self) -> list[str]:
        return list(self.files)

    def read(self, name: str) -> list[bytes]:
        return self.files[name].split(b"\n")[:-1]

    def put_aside(self, line: bytes) -> None:
        self.lines_aside.append(line)

    def drop(self, name: str, size: int) -> None:
        self.files[name] = self.files[name][size:]
        if not self.files[name]:
            del self.files[name]

    def aside(self) -> int:
        return len(self.lines_aside)

    def gone(self) -> int:
        return 0
