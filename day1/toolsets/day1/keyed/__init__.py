"""The toolset of entries and messages under keys, for programs; no list of tools has it."""

from day1.toolsets.day1.family import toolset
from day1.toolsets.day1.keyed import entries, messages

KEYED = toolset("keyed", (*entries.OPERATIONS, *messages.OPERATIONS), wires=("http", "call"))
"""Operations on entries and on conversations under keys, for programs and not for models."""
