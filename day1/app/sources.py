"""Make the sources of an import: fulfils the command line's `Sources`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from day1.ports.source import Machine, Source, ToolMemory


def import_source(kind: str, paths: Sequence[Path], root: Path) -> Source:
    """Open files to import: a git repository, a graph, or paths of text or Markdown."""
    if kind == "git":
        from day1.adapters.sources.git import GitSource

        return GitSource(paths[0])
    if kind == "graph":
        from day1.adapters.sources.graph import GraphSource

        return GraphSource(paths[0])
    if kind == "text":
        from day1.adapters.sources.text import TextSource

        return TextSource(paths, root)
    from day1.adapters.sources.markdown import MarkdownSource

    return MarkdownSource(paths, root)


def tool_memory(name: str, paths: Sequence[Path], machine: Machine) -> ToolMemory:
    """Find a tool's memory at the paths, or without paths where the tool keeps it."""
    from day1.adapters.sources.tools import catalogue

    return catalogue.tool_memory(name, paths, machine)


def found_memories(machine: Machine) -> Sequence[ToolMemory]:
    """Find the memory of each tool that has one on the machine."""
    from day1.adapters.sources.tools import catalogue

    return catalogue.found_memories(machine)
