"""The toolset of entries: JSON by key, for programs; no list of tools has it."""

from day1.toolsets.day1.family import toolset
from day1.toolsets.day1.keyed.entries import OPERATIONS

KEYED = toolset("keyed", OPERATIONS, wires=("http", "call"))
"""Operations on entries, for programs and not for models."""
