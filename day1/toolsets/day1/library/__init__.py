"""The toolset of programs: what the Python library calls, and no list of tools has."""

from day1.toolsets.day1.family import toolset
from day1.toolsets.day1.library.applying import OPERATIONS

LIBRARY = toolset("library", OPERATIONS, wires=("http", "call"))
"""Operations for programs, not for models."""
