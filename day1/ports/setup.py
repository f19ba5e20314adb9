"""Connect the agents of this machine: what is asked, and what it does to each file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from day1.model.values.callbacks import KillPoint

State = Literal["added", "changed", "same", "kept", "removed", "absent", "refused"]
"""`kept`: a person wrote what starts day1, so it stays as it is."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asks of `day1 setup`."""

    clients: Sequence[str]
    project: bool = False
    """Files of the present project, else those of this user."""
    tools: str | None = None
    """What `--tools` of the server is to say; None: as it is, else the client's default."""
    remove: bool = False
    hooks: bool = True
    """Whether clients are to run `day1 hook`; to remove means hooks too."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes, or would become, of one file."""

    client: str
    path: Path
    what: str
    """What of the file is day1's."""
    state: State
    why: str = ""
    """Why it was refused, or which places a person wrote."""
    content: str = ""
    """What belongs there, as a person would add it."""
    backup: Path | None = None
    """The path of a copy of the file, made before this change."""

    @property
    def differs(self) -> bool:
        """Whether something is, or was, to be done."""
        return self.state not in {"same", "kept", "absent"}


class Setup(Protocol):
    """Knows the clients, finds them on this machine, and edits their files."""

    def titles(self) -> dict[str, str]:
        """Every client by its name, with the name that people know."""
        ...

    def found(self) -> list[str]:
        """The clients that seem to be on this machine."""
        ...

    def run(
        self, asked: Asked, *, write: bool, point: KillPoint
    ) -> tuple[list[Outcome], list[str]]:
        """Do what is asked, or with `write` false only say what it would do; and notes.

        A file that cannot be read or understood is refused and stays as it is; the others are done.
        """
        ...
