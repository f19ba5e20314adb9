"""The tools whose memory can be imported, in the order in which they are looked for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from day1.adapters.sources.tools.basic_memory import BasicMemory
from day1.adapters.sources.tools.beads import Beads
from day1.adapters.sources.tools.claude_ai import ClaudeAi
from day1.adapters.sources.tools.claude_code import ClaudeCode
from day1.adapters.sources.tools.claude_mem import ClaudeMem
from day1.adapters.sources.tools.codex import Codex
from day1.adapters.sources.tools.dated_lines import DatedLines
from day1.adapters.sources.tools.engram import Engram
from day1.adapters.sources.tools.letta import Letta
from day1.adapters.sources.tools.mcp_memory_service import McpMemoryService
from day1.adapters.sources.tools.mem0 import Mem0
from day1.adapters.sources.tools.tool import ToolSource
from day1.errors import NotFound
from day1.ports.source import Machine

_ALL: Final[Sequence[type[ToolSource]]] = (
    ClaudeCode,
    Codex,
    BasicMemory,
    ClaudeMem,
    Mem0,
    McpMemoryService,
    Engram,
    Beads,
    Letta,
    ClaudeAi,
    DatedLines,
)
_BY_NAME: Final[Mapping[str, type[ToolSource]]] = {tool.name: tool for tool in _ALL}


def tool_memory(name: str, paths: Sequence[Path], machine: Machine) -> ToolSource:
    """Return the memory of a tool: at the given paths, else where the tool keeps it.

    Raises:
        NotFound: there is none.
    """
    tool_class = _BY_NAME[name]
    memory_paths = list(paths) or tool_class.found(machine)
    if not memory_paths:
        projects_phrase = (
            f" for {' and '.join(map(str, machine.projects))}" if machine.projects else ""
        )
        raise NotFound(
            f"No memory of {name} was found{projects_phrase}: name its file or folder, as in "
            f"`day1 import {name} PATH`.",
            source=name,
        )
    return tool_class(memory_paths, machine)


def found_memories(machine: Machine) -> list[ToolSource]:
    """Return the memory of each tool that has some on a machine."""
    tools_and_paths = ((tool_class, tool_class.found(machine)) for tool_class in _ALL)
    return [tool_class(paths, machine) for tool_class, paths in tools_and_paths if paths]
