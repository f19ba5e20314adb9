"""A plugin of pytest that puts `Day1Session` in the place of the SDK's `SQLiteSession`.

It runs in the environment of a public suite, and replaces a name, never a line of the suite. A path
of a database is a folder's name here: sessions of one path share a set of sessions of one memory.
"""

import itertools
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(os.environ["DAY1_PACKAGES"])  # what day1 itself needs, behind the suite's own

import agents
import agents.memory

import day1
from day1.integrations.openai_agents import Day1Session

_numbers = itertools.count(1)
_memory = day1.connect(tempfile.mkdtemp(), settings={"embedder": {"kind": "none"}})
_names: dict[str, str] = {}


class InDay1(Day1Session):
    """A session, opened as the suite opens its own."""

    def __init__(
        self, session_id: str, db_path: str | Path = ":memory:", session_settings: Any = None
    ) -> None:
        own = str(next(_numbers))
        name = own if str(db_path) == ":memory:" else _names.setdefault(str(db_path), own)
        super().__init__(session_id, _memory, name=name, session_settings=session_settings)


agents.SQLiteSession = InDay1
agents.memory.SQLiteSession = InDay1
