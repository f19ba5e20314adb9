"""The toolset for programs: operations of the Python library, which no list of tools has."""

from day1.toolsets.day1.family import toolset
from day1.toolsets.day1.library import applying, moments

LIBRARY = toolset("library", (*applying.OPERATIONS, *moments.OPERATIONS), wires=("http", "call"))
"""Operations for programs, not for models."""
