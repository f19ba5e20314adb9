"""Connecting the agents on this machine: the request, and the outcome for each file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from day1.model.values.callbacks import KillPoint

State = Literal["added", "changed", "same", "kept", "removed", "absent", "refused"]
"""The result for one file of a client; `kept`: a person wrote the entry, so it is unchanged."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The request of a person who runs `day1 setup`."""

    clients: Sequence[str]
    project: bool = False
    """True edits files of the present project, false those of this user."""
    tools: str | None = None
    """The server's `--tools`; None keeps the present value, else the client's default."""
    remove: bool = False
    hooks: bool = True
    """Whether clients run `day1 hook`; a removal removes hooks in any case."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for one file, or the planned one."""

    client: str
    path: Path
    what: str
    """The part of the file that day1 writes."""
    state: State
    why: str = ""
    """The reason of a refusal, or the entries that a person wrote."""
    content: str = ""
    """The content to add, as a person would add it by hand."""
    backup: Path | None = None
    """The path of a copy of the file, made before this change."""

    @property
    def differs(self) -> bool:
        """Whether the file changes, or would change."""
        return self.state not in {"same", "kept", "absent"}


class Setup(Protocol):
    """The setup of clients: it finds them on this machine and edits their files."""

    def titles(self) -> dict[str, str]:
        """Return the name that people know of every client, by its short name."""

    def found(self) -> list[str]:
        """List the clients that seem to be on this machine."""

    def run(
        self, asked: Asked, *, write: bool, point: KillPoint
    ) -> tuple[list[Outcome], list[str]]:
        """Carry out a request, or with `write` false only plan it; return outcomes and notes.

        A file that cannot be read or understood is refused and stays as it is; the others are done.
        """
